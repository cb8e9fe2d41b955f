// From the options of `find` to FindSettings: device id, knobs, shapes, alignment, repro options. Pure
// apart from reading --shapes_file; it opens no device and prints nothing. Used by find_command.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/exit_codes.hpp"
#include "app/parser.hpp"
#include "model/device_info.hpp"
#include "model/run.hpp"

namespace gemmpeak::app {

// What --device and --cuda_device together ask for: an id or "auto".
Result<std::string> requested_device(const Options& options);

// The shapes asked for, before any device is known.
struct ShapeRequest {
  std::string search = "auto";
  std::vector<GemmShape> grid;
  std::string range_info;          // grid only
  std::vector<std::string> notes;  // e.g. that --shapes_file beat --m
};
Result<ShapeRequest> requested_shapes(const Options& options);

// Our column of defaults for this device, then --tune. `preset` is the column the repro line starts
// from. Explicit iteration counts are honoured: they lift the time bound of a loop.
struct KnobRequest {
  Knobs knobs;
  KnobPreset preset = KnobPreset::gpu;
  bool preset_given = false;
};
Result<KnobRequest> requested_knobs(const Options& options, const DeviceInfo& device);

// Multiples of M, N and K that a backend's library needs for a dtype (C5); all 1 where none is known.
std::vector<int> known_multiples(const std::string& backend, DType dtype);

// Why an automatic search cannot be laid out on this device, or nothing.
std::optional<std::string> auto_refusal(const DeviceInfo& device);

// The options common to all repro lines: what differs from what a bare `gemmpeak find` would do.
std::vector<std::string> repro_options(const Options& options, const FindSettings& settings,
                                       const KnobRequest& knobs);

// How a find ended; `device_dead`: the device failed during it.
ExitCode find_exit_code(const Run& run, bool device_dead);

}  // namespace gemmpeak::app
