#include "app/session.hpp"

#include <fmt/format.h>

#include <cctype>

#include "backends/sim/sim_backend.hpp"

namespace gemmpeak::app {
namespace {

// Loadable backends, in the order devices are preferred.
struct ModuleRow {
  const char* name;
  const char* fix;
};
constexpr ModuleRow kModules[] = {
    {"cuda", "install the CUDA toolkit (12.8 or newer, with nvcc and cuBLASLt) and build again"},
    {"cpu", "install libdnnl-dev or libopenblas-openmp-dev and build again"},
};

std::string backend_of(const std::string& id) { return id.substr(0, id.find(':')); }

// First line without the full stop, so that a sentence can go on after it.
std::string first_line(std::string text) {
  text = text.substr(0, text.find('\n'));
  while (!text.empty() && text.back() == '.') text.pop_back();
  return text;
}

std::optional<std::string> gpu_problem(const Registry& registry) {
  for (const BackendSlot& slot : registry.problems())
    if (slot.name == "cuda")
      return slot.problem + (slot.fix.empty() ? "" : " (" + slot.fix + ")");
  return std::nullopt;
}

bool refuses(const Outcome& outcome) {
  switch (outcome.state) {
    case OutcomeState::unsupported:
    case OutcomeState::out_of_memory:
    case OutcomeState::compile_failed:
    case OutcomeState::wrong_result:
    case OutcomeState::error:
      return true;
    default:
      return false;  // too short to be timed well, or interrupted: says nothing about the dtype
  }
}

// A type that the device computes by way of another one is not its default.
bool is_native(const Capability& capability) {
  return capability.supported && capability.reason.find("emulat") == std::string::npos;
}

}  // namespace

std::unique_ptr<Registry> open_registry(const Host& host, const Options& options,
                                        const std::string& only) {
  BackendSettings settings;
  settings.threads = static_cast<int>(options.integer("threads").value_or(0));
  settings.environment = host.environment;
  auto registry = std::make_unique<Registry>();
  for (const ModuleRow& module : kModules)
    if (only.empty() || only == module.name)
      registry->load(module.name, module_folders(host), settings, module.fix);
  if (only.empty() || only == "sim") registry->add("sim", make_sim_backend(settings));
  return registry;
}

Result<std::unique_ptr<Device>> open_device(const Host& host, const Options& options,
                                            const std::string& id,
                                            std::unique_ptr<Registry>& registry) {
  const std::string option =
      options.given("cuda_device") ? "--cuda_device " + *options.text("cuda_device") : "--device " + id;
  if (id != "auto") {
    // A vendor's libraries take their time to load: only those of the device asked for.
    registry = open_registry(host, options, backend_of(id));
    if (auto device = registry->open(id)) return device;
  }
  registry = open_registry(host, options);
  if (options.given("cuda_device"))
    if (const auto problem = gpu_problem(*registry))
      return error_text(fmt::format("{}: there is no GPU to use: {}; without a GPU leave it out or pass "
                                    "--device cpu",
                                    option, *problem));
  auto device = registry->open(id);
  if (!device) return error_text(option + ": " + device.error().message());
  return device;
}

std::string hint_sentence(const std::string& hint) {
  if (hint.empty()) return {};
  std::string out = first_line(hint);
  out[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(out[0])));
  return fmt::format(" {}.", out);
}

std::string dtype_refusal(DType dtype, const std::string& reason, const std::string& hint) {
  return fmt::format("--dtype {} doesn't run on this device: {}.{}", dtype_name(dtype), first_line(reason),
                     hint_sentence(hint));
}

Result<DTypeChoice> choose_dtype(const Options& options, const Device& device) {
  DTypeChoice out;
  if (const auto name = options.text("dtype")) {
    out.dtype = *parse_dtype(*name);  // the option's choices are the table's names
  } else if (const Capability native = device.capability(DType::bfloat16); !is_native(native)) {
    out.dtype = DType::float32;
    out.note = fmt::format("note: measuring float32, because bfloat16 is not native here: {}",
                           first_line(native.reason));
  }
  const Capability capability = device.capability(out.dtype);
  if (!capability.supported)
    return error_text(dtype_refusal(out.dtype, capability.reason, capability.hint));
  return out;
}

std::optional<std::string> trial_problem(Bench& bench) {
  constexpr GemmShape kTrial{128, 128, 128};
  const Outcome prepared = bench.prepare(kTrial);
  if (refuses(prepared)) return prepared.reason;
  const LoopSample sample = bench.saturated(kTrial, {0, 1, {}});
  if (refuses(sample.outcome)) return sample.outcome.reason;
  if (bench.interrupted()) return std::nullopt;
  const VerifyRecord record = bench.verify(kTrial);
  if (refuses(record.outcome)) return record.outcome.reason;
  return std::nullopt;
}

Result<std::unique_ptr<Telemetry>> sensors_of(const Host& host, const DeviceInfo& device) {
  TelemetryRequest request;
  request.device = device;
  request.cpus = host.cpus;
  return open_telemetry(request);
}

Result<std::unique_ptr<Telemetry>> sensors_of(const Host& host, Device& device) {
  if (auto own = device.own_telemetry()) return own;
  if (device.info().kind == DeviceKind::sim) return std::unique_ptr<Telemetry>();
  return sensors_of(host, device.info());
}

Result<TelemetryChoice> choose_telemetry(const Host& host, bool on, Device& device) {
  TelemetryChoice out;
  if (!on) {
    out.lines.emplace_back(
        "*** telemetry: off - MAMF is not boost-validated and SUSPECT filtering is off");
    return out;
  }
  auto opened = sensors_of(host, device);
  std::string problem;
  bool required = device.info().kind == DeviceKind::gpu;
  if (!opened) {
    problem = opened.error().message();
  } else if (*opened) {
    required = (*opened)->info().required;
    problem = (*opened)->problem().value_or("");
    out.telemetry = std::move(*opened);
  } else {
    problem = "this device has no sensors";
  }
  if (!problem.empty() && required)
    return error_text(fmt::format(
        "telemetry is required to validate MAMF and MSMF but cannot be read: {}.\nOr pass --telemetry "
        "off to run anyway with unvalidated headlines.",
        first_line(problem)));
  if (!problem.empty()) {
    out.lines.push_back(fmt::format("telemetry: none ({}) - headlines are marked unvalidated",
                                    first_line(problem)));
    // What can be read is still worth recording; where nothing can, nothing is asked.
    if (out.telemetry) {
      const Reading now = out.telemetry->read(false);
      if (!now.power_w && !now.clock_mhz) out.telemetry.reset();
    }
    return out;
  }
  const TelemetryInfo& info = out.telemetry->info();
  out.lines.push_back(fmt::format("telemetry: {} (power/clock sampling on{})", info.backend,
                                  info.validated ? "" : "; reported only, excludes no shape"));
  if (info.rated_clock_mhz)
    out.lines.push_back(fmt::format("  rated max SM clock {:.0f} MHz", *info.rated_clock_mhz));
  return out;
}

void record_telemetry(Telemetry* telemetry, Run& run) {
  if (telemetry == nullptr) return;
  const TelemetryInfo& info = telemetry->info();
  const auto put = [&](const char* name, const std::string& value) {
    if (!value.empty()) run.telemetry[name] = value;
  };
  const auto number = [](const std::optional<double>& value, const char* unit) {
    return value ? fmt::format("{:.0f} {}", *value, unit) : std::string();
  };
  run.telemetry = info.facts;
  put("backend", info.backend);
  put("power", info.power_source);
  put("clock", info.clock_source);
  put("rated clock", number(info.rated_clock_mhz, "MHz"));
  put("power limit", number(info.power_limit_w, "W"));
  put("default power limit", number(info.default_power_limit_w, "W"));
  if (info.power_refresh_s > 0)
    put("power refresh", fmt::format("{:.1f} ms", info.power_refresh_s * 1e3));
  const Reading now = telemetry->read(false);
  if (now.temperature_c) put("temperature at start", fmt::format("{:.0f} C", *now.temperature_c));
  if (now.reasons) {
    const auto names = throttle_names(*now.reasons);
    put("throttle reasons at start",
        names.empty() ? std::string("none") : fmt::format("{}", fmt::join(names, ", ")));
  }
  run.telemetry_missing = info.missing;
  run.telemetry_validated = info.validated && !telemetry->problem();
  if (info.rated_clock_mhz) run.device.rated_clock_mhz = info.rated_clock_mhz;
}

}  // namespace gemmpeak::app
