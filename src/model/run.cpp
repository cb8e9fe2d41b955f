#include "model/run.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "model/json_fields.hpp"

namespace gemmpeak {
namespace {

std::string_view kind_name(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::gpu:
      return "gpu";
    case DeviceKind::cpu:
      return "cpu";
    case DeviceKind::sim:
      return "sim";
  }
  return "?";
}

template <class Record>
Json records(const std::vector<Record>& values) {
  Json out = Json::array();
  for (const Record& value : values) out.push_back(to_json(value));
  return out;
}

Json fate_json(const Fate& fate) {
  Json out = {{"shape", fields::shape(fate.shape)}, {"phase", fate.phase}, {"fate", fate.fate}};
  if (!fate.reason.empty()) out["reason"] = fate.reason;
  return out;
}

Json cross_check_json(const Run::CrossCheck& check) {
  Json out = {{"shape", fields::shape(check.shape)}, {"roles", check.roles}};
  fields::put_optional(out, "mamf_tflops", check.mamf_tflops);
  fields::put_optional(out, "msmf_tflops", check.msmf_tflops);
  return out;
}

Json phase_json(const PhaseTime& phase) {
  return {{"name", phase.name},
          {"begin_s", fields::number(phase.begin_s)},
          {"end_s", fields::number(phase.end_s)}};
}

template <class Value, class Function>
Json each(const std::vector<Value>& values, Function function) {
  Json out = Json::array();
  for (const Value& value : values) out.push_back(function(value));
  return out;
}

Json samples_json(const Run& run) {
  return {{"scouts", records(run.scouts)},     {"screens", records(run.screens)},
          {"confirms", records(run.confirms)}, {"locks", records(run.locks)},
          {"bursts", records(run.bursts)},     {"held_screens", records(run.held_screens)},
          {"held", records(run.held)}};
}

// A grid of any size in a few characters: FNV-1a (Fowler, Noll, Vo; 64 bits) over its dimensions in
// order. Enough to tell two grids a person made apart; it protects against mistakes, not malice.
std::string grid_digest(const std::vector<GemmShape>& grid) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto mix = [&hash](std::int64_t value) {
    for (int shift = 0; shift < 64; shift += 8) {
      hash ^= (static_cast<std::uint64_t>(value) >> shift) & 0xff;
      hash *= 0x100000001b3;
    }
  };
  for (const GemmShape& shape : grid) {
    mix(shape.m);
    mix(shape.n);
    mix(shape.k);
  }
  return fmt::format("{} shapes {:016x}", grid.size(), hash);
}

// What decides which numbers come out, common to the document and the fingerprint.
Json measured_settings(const FindSettings& settings) {
  return {{"device", settings.device},
          {"dtype", std::string(dtype_name(settings.dtype))},
          {"layout", std::string(layout_name(settings.layout))},
          {"data", std::string(data_kind_name(settings.data))},
          {"fast_accumulation", settings.fast_accumulation},
          {"search", settings.search},
          {"num_iterations", settings.num_iterations},
          {"num_warmup_iterations", settings.num_warmup_iterations},
          {"telemetry", settings.telemetry},
          {"knobs", knobs_json(settings.knobs)}};
}

Json head_json(const Run& run) {
  Json out = {{"schema", kRunSchema},
              {"protocol_version", kProtocolVersion},
              {"program_version", run.program_version},
              {"command_line", run.command_line},
              {"started", run.started},
              {"elapsed_s", fields::number(run.elapsed_s)},
              {"interrupted", run.interrupted}};
  if (run.interrupted) out["interrupted_by"] = run.interrupted_by;
  out["platform"] = run.platform;
  out["environment"] = fields::map(run.environment);
  out["settings"] = to_json(run.settings);
  out["device"] = to_json(run.device);
  out["telemetry"] = {{"validated", run.telemetry_validated},
                      {"facts", fields::map(run.telemetry)},
                      {"missing", fields::map(run.telemetry_missing)}};
  return out;
}

}  // namespace

std::string_view regime_name(Regime regime) {
  switch (regime) {
    case Regime::mamf:
      return "mamf";
    case Regime::msmf:
      return "msmf";
    case Regime::back_to_back:
      return "back_to_back";
  }
  return "?";
}

std::string_view trust_name(Trust trust) {
  switch (trust) {
    case Trust::validated:
      return "validated";
    case Trust::unvalidated:
      return "unvalidated";
    case Trust::untrusted:
      return "untrusted";
  }
  return "?";
}

Json to_json(const FindSettings& settings) {
  Json out = measured_settings(settings);
  if (settings.search == "grid") out["grid"] = each(settings.grid, fields::shape);
  out["range_info"] = settings.range_info;
  out["notes"] = settings.notes;
  out["repro_options"] = fields::texts(settings.repro_options);
  return out;
}

std::string settings_fingerprint(const FindSettings& settings) {
  // Canonical text instead of a bare hash, so that a refusal can name what differs.
  Json out = measured_settings(settings);
  if (settings.search == "grid") out["grid"] = grid_digest(settings.grid);
  out["protocol_version"] = kProtocolVersion;
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json to_json(const Headline& headline) {
  Json out = {{"regime", std::string(regime_name(headline.regime))},
              {"shape", fields::shape(headline.shape)},
              {"algorithm", headline.algorithm},
              {"tflops", fields::number(headline.tflops)},
              {"trust", std::string(trust_name(headline.trust))}};
  fields::put_optional(out, "power_w", headline.power_w);
  fields::put_optional(out, "clock_mhz", headline.clock_mhz);
  fields::put_optional(out, "device_clock_mhz", headline.device_clock_mhz);
  fields::put_optional(out, "temperature_c", headline.temperature_c);
  fields::put_optional(out, "duty", headline.duty);
  fields::put_optional(out, "efficiency", headline.efficiency);
  fields::put_optional(out, "joules_per_tflop", headline.joules_per_tflop);
  fields::put_optional(out, "reasons", headline.reasons);
  if (headline.reasons) out["reason_names"] = fields::texts(throttle_names(*headline.reasons));
  fields::put_optional(out, "spread_percent", headline.spread_percent);
  out["runs"] = fields::numbers(headline.runs);
  out["notes"] = fields::texts(headline.notes);
  out["repro"] = headline.repro;
  return out;
}

Json to_json(const DeviceInfo& device) {
  Json out = {{"id", device.id},
              {"backend", device.backend},
              {"kind", std::string(kind_name(device.kind))},
              {"name", device.name},
              {"architecture", device.architecture}};
  if (!device.uuid.empty()) out["uuid"] = device.uuid;
  if (!device.pci_bus_id.empty()) out["pci_bus_id"] = device.pci_bus_id;
  if (!device.serial.empty()) out["serial"] = device.serial;
  out["units"] = device.units;
  if (device.tile) out["tile"] = {{"m", device.tile->m}, {"n", device.tile->n}};
  out["geometry_validated"] = device.geometry_validated;
  out["memory_bytes"] = device.memory_bytes;
  out["llc_bytes"] = device.llc_bytes;
  fields::put_optional(out, "rated_clock_mhz", device.rated_clock_mhz);
  Json peaks = Json::object();
  for (const auto& [dtype, flop] : device.flop_per_clock_per_unit)
    peaks[std::string(dtype_name(dtype))] = fields::number(flop);
  out["flop_per_clock_per_unit"] = std::move(peaks);
  out["versions"] = fields::map(device.versions);
  out["attributes"] = fields::map(device.attributes);
  out["environment"] = fields::texts(device.environment);
  return out;
}

Json to_json(const Run& run) {
  Json out = head_json(run);
  out["headlines"] = records(run.headlines);
  out["cross_checks"] = each(run.cross_checks, cross_check_json);
  out["warnings"] = fields::texts(run.warnings);
  out["remarks"] = fields::texts(run.remarks);
  out["shapes_tried"] = run.shapes_tried;
  fields::put_optional(out, "highest_clock_mhz", run.highest_clock_mhz);
  fields::put_optional(out, "busy_share", run.busy_share);
  Json siblings = Json::object();
  for (const auto& [index, share] : run.idle_siblings)
    siblings[std::to_string(index)] = fields::number(share);
  out["idle_siblings"] = std::move(siblings);
  out["phases"] = each(run.phases, phase_json);
  out["fates"] = each(run.fates, fate_json);
  out["verified"] = records(run.verified);
  out["samples"] = samples_json(run);
  return out;
}

}  // namespace gemmpeak
