// `gemmpeak devices`: what there is to measure on, what it can run, and what is missing with its fix.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/command.hpp"
#include "app/exit_codes.hpp"
#include "app/session.hpp"
#include "report/report.hpp"

namespace gemmpeak::app {
namespace {

struct DTypeAnswer {
  DType dtype;
  Capability capability;
};

struct DeviceReport {
  DeviceInfo info;
  std::string problem;  // why it could not be opened
  std::vector<DTypeAnswer> dtypes;
  std::string telemetry;  // backend, or empty
  std::string telemetry_problem;
};

// The tiny trial instead of the known limits alone.
void probe(Device& device, DTypeAnswer& answer) {
  if (!answer.capability.supported) return;
  BenchSettings settings;
  settings.dtype = answer.dtype;
  settings.output = dtype_info(answer.dtype).output;
  settings.flush_bytes = 1 << 20;  // nothing is timed for its speed here
  Bench bench(device, nullptr, settings, nullptr);
  if (const auto problem = trial_problem(bench)) {
    answer.capability.supported = false;
    answer.capability.reason = "the trial failed: " + *problem;
  }
}

void look_at_telemetry(Result<std::unique_ptr<Telemetry>> opened, DeviceReport& out) {
  if (!opened) {
    out.telemetry_problem = opened.error().message();
  } else if (!*opened) {
    out.telemetry_problem = "this device has no sensors";
  } else {
    out.telemetry = (*opened)->info().backend;
    out.telemetry_problem = (*opened)->problem().value_or("");
  }
}

DeviceReport look_at(const Host& host, const Registry& registry, const DeviceInfo& info,
                     bool probing) {
  DeviceReport out;
  out.info = info;
  Backend* backend = nullptr;
  for (const BackendSlot& slot : registry.slots())
    if (slot.name == info.backend) backend = slot.backend.get();
  // A device that answers from its table is not opened: that may take longer than all the rest.
  const bool listed = !probing && backend != nullptr && info.kind == DeviceKind::gpu &&
                      backend->capability(info, DType::bfloat16).has_value();
  std::unique_ptr<Device> device;
  if (!listed) {
    auto opened = registry.open(info.id);
    if (!opened) {
      out.problem = opened.error().message();
      return out;
    }
    device = std::move(opened).value();
    out.info = device->info();
  }
  for (const DTypeInfo& row : dtype_table()) {
    if (!row.input) continue;
    DTypeAnswer answer{row.dtype, listed ? *backend->capability(info, row.dtype)
                                         : device->capability(row.dtype)};
    if (probing) probe(*device, answer);
    out.dtypes.push_back(std::move(answer));
  }
  look_at_telemetry(listed ? sensors_of(host, info) : sensors_of(host, *device), out);
  return out;
}

std::string block(const DeviceReport& report) {
  const DeviceInfo& d = report.info;
  std::string out = fmt::format("{}  {}{}\n", d.id, d.name,
                                d.architecture.empty() ? "" : " (" + d.architecture + ")");
  const auto line = [&out](const char* name, const std::string& value) {
    if (!value.empty()) out += fmt::format("  {:<11} {}\n", name, value);
  };
  line("problem", report.problem);
  line("geometry",
       fmt::format("{}{}{}", d.units > 0 ? fmt::format("{} units", d.units) : "units unknown",
                   d.tile ? fmt::format(", tile {}x{}", d.tile->m, d.tile->n) : ", no tile hint",
                   d.geometry_validated ? ", checked against exhaustive grids" : ", not validated"));
  std::string memory = d.memory_bytes > 0 ? report::bytes_text(d.memory_bytes) : "unknown";
  if (d.llc_bytes > 0) memory += ", last-level cache " + report::bytes_text(d.llc_bytes);
  line("memory", memory);
  if (d.rated_clock_mhz) line("rated clock", fmt::format("{:.0f} MHz", *d.rated_clock_mhz));
  line("uuid", d.uuid);
  line("PCI", d.pci_bus_id);
  line("telemetry", report.telemetry_problem.empty()
                        ? report.telemetry
                        : fmt::format("cannot be read: {}", report.telemetry_problem));
  std::string runs;
  for (const DTypeAnswer& answer : report.dtypes)
    if (answer.capability.supported)
      runs += fmt::format("{}{}{}", runs.empty() ? "" : ", ", dtype_name(answer.dtype),
                          answer.capability.reason.empty() ? "" : " (" + answer.capability.reason + ")");
  line("runs", runs.empty() && report.problem.empty() ? "nothing" : runs);
  for (const DTypeAnswer& answer : report.dtypes)
    if (!answer.capability.supported)
      line("no", fmt::format("{}: {}.{}", dtype_name(answer.dtype), answer.capability.reason,
                             hint_sentence(answer.capability.hint)));
  for (const auto& [name, version] : d.versions) line("version", name + " " + version);
  for (const auto& [name, value] : d.attributes) line("", name + ": " + value);
  return out + "\n";
}

Json json_of(const DeviceReport& report) {
  Json out = to_json(report.info);
  if (!report.problem.empty()) out["problem"] = report.problem;
  Json dtypes = Json::array();
  for (const DTypeAnswer& answer : report.dtypes) {
    Json row = {{"name", std::string(dtype_name(answer.dtype))},
                {"supported", answer.capability.supported}};
    if (!answer.capability.reason.empty()) row["reason"] = answer.capability.reason;
    if (!answer.capability.hint.empty()) row["hint"] = answer.capability.hint;
    dtypes.push_back(std::move(row));
  }
  out["dtypes"] = std::move(dtypes);
  out["telemetry"] = {{"readable", report.telemetry_problem.empty()}, {"backend", report.telemetry}};
  if (!report.telemetry_problem.empty()) out["telemetry"]["reason"] = report.telemetry_problem;
  return out;
}

}  // namespace

int run_devices(const Host& host, const Options& options) {
  const std::unique_ptr<Registry> registry = open_registry(host, options);
  const bool json = options.flag("json");
  Json document = {{"schema", "gemmpeak.devices/1"}, {"devices", Json::array()}, {"missing", Json::array()}};
  std::string text;
  for (const DeviceInfo& info : registry->devices()) {
    const DeviceReport report = look_at(host, *registry, info, options.flag("probe"));
    if (json)
      document["devices"].push_back(json_of(report));
    else
      text += block(report);
  }
  for (const BackendSlot& slot : registry->problems()) {
    if (json)
      document["missing"].push_back({{"backend", slot.name}, {"reason", slot.problem}, {"fix", slot.fix}});
    else
      text += fmt::format("backend {}: not there\n  {:<11} {}\n{}\n", slot.name, "reason", slot.problem,
                          slot.fix.empty() ? "" : fmt::format("  {:<11} {}\n", "fix", slot.fix));
  }
  if (json) text = document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    return kExitOutput;
  return kExitOk;
}

}  // namespace gemmpeak::app
