// Records with every field set to a value of its own, for tests of round trips and of documents.
#pragma once

#include "model/run.hpp"

namespace gemmpeak {

inline WindowFacts filled_window() {
  WindowFacts window;
  window.begin_s = 12.25;
  window.host_s = 0.1 + 0.2;  // not 0.3: the last bit must survive
  window.span_s = 1.0 / 3;
  window.duty = 0.51;
  window.device_clock_mhz = 1786.4999999999998;
  window.device_clock_precise = true;
  window.sensors = {41, 693.6, 1770.0, 1786.25, 1980.0, 61.5, 2801.125, 4.04, 0x24};
  return window;
}

inline LoopSample filled_loop() {
  LoopSample sample;
  sample.shape = {2816, 1536, 6144};
  sample.algorithm = "heuristic 3";
  sample.outcome = {OutcomeState::noisy, "spread 4.1 %"};
  sample.seconds = {7.25e-5, 7.3000000000000013e-5, 1e-300, 5e-324};
  sample.window = filled_window();
  return sample;
}

inline BurstSample filled_burst() {
  BurstSample sample;
  sample.shape = {12288, 18432, 1024};
  sample.algorithm = "default";
  sample.outcome = {OutcomeState::ok, ""};
  sample.iterations = {{6.1e-4, 1980.0, 512.5, 1979.8}, {6.2e-4, {}, {}, {}}};
  sample.window = filled_window();
  sample.power_resolved = true;
  return sample;
}

inline HeldSample filled_held() {
  HeldSample sample;
  sample.shape = {4096, 4096, 8192};
  sample.algorithm = "heuristic 0";
  sample.operand_sets = 3;
  sample.set_bytes = 5000000000;  // more than 32 bits
  sample.warm_s = 1.5;
  sample.steady = true;
  sample.chunk_seconds = {0.1, 0.2};
  sample.chunk_products = 50;
  sample.window = filled_window();
  return sample;
}

inline VerifyRecord filled_verify() {
  VerifyRecord record;
  record.shape = {512, 512, 512};
  record.algorithm = "heuristic 1";
  record.outcome = {OutcomeState::wrong_result, "3 of 8192 elements beyond the bound"};
  record.checked = 8192;
  record.bad = 3;
  record.unwritten = 1;
  record.worst_ratio = 17.5;
  record.bound = "2^-8 |c| + 1e-3";
  return record;
}

inline DeviceInfo filled_device() {
  DeviceInfo device;
  device.id = "sim:h200";
  device.backend = "sim";
  device.kind = DeviceKind::sim;
  device.name = "Simulated H200";
  device.architecture = "sm_90";
  device.uuid = "GPU-1234";
  device.pci_bus_id = "0000:3b:00.0";
  device.serial = "165";
  device.units = 132;
  device.tile = TileHint{128, 256};
  device.geometry_validated = true;
  device.memory_bytes = 150000000000;
  device.llc_bytes = 62914560;
  device.rated_clock_mhz = 1980;
  device.flop_per_clock_per_unit = {{DType::bfloat16, 4096}};
  device.versions = {{"driver", "570.1"}};
  device.attributes = {{"ecc", "on"}};
  device.environment = {"NVIDIA_TF32_OVERRIDE"};
  return device;
}

inline Headline filled_headline() {
  Headline headline;
  headline.regime = Regime::msmf;
  headline.shape = {2816, 1536, 6144};
  headline.algorithm = "heuristic 3";
  headline.tflops = 733.4;
  headline.trust = Trust::validated;
  headline.power_w = 693;
  headline.clock_mhz = 1786;
  headline.device_clock_mhz = 1787.5;
  headline.temperature_c = 61;
  headline.duty = 0.51;
  headline.efficiency = 0.76;
  headline.joules_per_tflop = 0.95;
  headline.reasons = 0x4;
  headline.spread_percent = 0.4;
  headline.runs = {733.1, 733.4, 733.9};
  headline.notes = {"Flush and copy are in the joules."};
  headline.repro = "gemmpeak find --m 2816 --n 1536 --k 6144";
  return headline;
}

inline Run filled_run() {
  Run run;
  run.started = "2025-01-02T03:04:05+00:00";
  run.command_line = "gemmpeak find";
  run.program_version = "0.1.0";
  run.platform = "Linux";
  run.environment = {{"CUDA_VISIBLE_DEVICES", "0"}};
  run.settings.device = "sim:h200";
  run.settings.search = "grid";
  run.settings.grid = {{1024, 1024, 1024}};
  run.settings.range_info = "one shape";
  run.settings.notes = "a note";
  run.settings.repro_options = {"--device sim:h200"};
  run.settings.knobs = knobs_for(KnobPreset::gpu);
  run.device = filled_device();
  run.telemetry = {{"backend", "sim"}};
  run.telemetry_missing = {{"energy", "no counter"}};
  run.telemetry_validated = true;
  run.shapes_tried = 1;
  run.scouts = {filled_loop()};
  run.screens = {filled_burst()};
  run.confirms = {filled_loop()};
  run.locks = {filled_loop()};
  run.bursts = {filled_burst()};
  run.held_screens = {filled_held()};
  run.held = {filled_held()};
  run.verified = {filled_verify()};
  run.fates = {{{1024, 1024, 1024}, "confirm", "confirmed", "slower than the leader"}};
  run.headlines = {filled_headline()};
  run.cross_checks = {{{1024, 1024, 1024}, 845.0, 743.0, "MAMF*"}};
  run.idle_siblings = {{3, 0.25}};
  run.phases = {{"scout", 1.0, 2.0}};
  run.warnings = {"No shape anchors the saturated clock."};
  run.remarks = {"note: geometry not validated"};
  run.highest_clock_mhz = 1980;
  run.busy_share = 0.93;
  run.interrupted = true;
  run.interrupted_by = "SIGINT";
  run.elapsed_s = 61.5;
  return run;
}

}  // namespace gemmpeak
