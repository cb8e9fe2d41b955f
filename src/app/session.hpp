// Opening what a run works on: registry, device, element type, telemetry; each refusal in the words
// of the option it comes from. Used by find and devices; nothing is measured here beyond the tiny
// trial of a dtype.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/host.hpp"
#include "app/parser.hpp"
#include "backend/registry.hpp"
#include "measure/bench.hpp"
#include "model/run.hpp"

namespace gemmpeak::app {

// Every backend, accelerators first (PARITY D0). `only`: just the one of this name, where the device
// is known to be its.
std::unique_ptr<Registry> open_registry(const Host& host, const Options& options,
                                        const std::string& only = {});

// The device of `id` ("auto" chooses). The registry is replaced by a complete one where a message
// needs to list all devices.
Result<std::unique_ptr<Device>> open_device(const Host& host, const Options& options,
                                            const std::string& id,
                                            std::unique_ptr<Registry>& registry);

struct DTypeChoice {
  DType dtype = DType::bfloat16;
  std::string note;  // where the default was replaced
};
// --dtype, or the device's default; refused by known limits.
Result<DTypeChoice> choose_dtype(const Options& options, const Device& device);

// Runs a 128x128x128 product and checks its result: why the dtype does not work, or nothing.
std::optional<std::string> trial_problem(Bench& bench);
// A hint as a sentence of its own, with a blank before it; nothing for no hint.
std::string hint_sentence(const std::string& hint);
// "--dtype X doesn't run on this device: REASON. HINT"
std::string dtype_refusal(DType dtype, const std::string& reason, const std::string& hint);

struct TelemetryChoice {
  std::unique_ptr<Telemetry> telemetry;  // null: none
  std::vector<std::string> lines;        // start lines (T4)
};
// T2: an error where sensors are required and cannot be read.
Result<TelemetryChoice> choose_telemetry(const Host& host, bool on, Device& device);
// The sensors of a device: its own, or the telemetry room's for a device that is only listed.
Result<std::unique_ptr<Telemetry>> sensors_of(const Host& host, Device& device);
Result<std::unique_ptr<Telemetry>> sensors_of(const Host& host, const DeviceInfo& device);
// Facts of the telemetry into the run's record.
void record_telemetry(Telemetry* telemetry, Run& run);

}  // namespace gemmpeak::app
