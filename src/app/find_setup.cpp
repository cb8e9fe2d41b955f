#include "app/find_setup.hpp"

#include <fmt/format.h>

#include "app/host.hpp"
#include "base/files.hpp"
#include "search/candidates.hpp"

namespace gemmpeak::app {
namespace {

// Multiples a library is known to need; what it refuses beyond them is a data point of the run. The
// simulated devices follow the NVIDIA ones they simulate.
struct AlignmentRule {
  const char* backend;
  DType dtype;
  int m, n, k;
};
constexpr AlignmentRule kAlignmentRules[] = {
    // cuBLAS documentation, cublasLtMatmul(): IMMA kernels in multiples of 4; FP8 and block-scaled
    // operands on 16 bytes.
    {"cuda", DType::int8, 1, 4, 4},           {"cuda", DType::float8_e4m3fn, 1, 16, 16},
    {"cuda", DType::float8_e5m2, 1, 16, 16},  {"cuda", DType::mxfp8, 1, 16, 32},
    {"cuda", DType::nvfp4, 1, 16, 32},        {"sim", DType::int8, 1, 4, 4},
    {"sim", DType::float8_e4m3fn, 1, 16, 16}, {"sim", DType::float8_e5m2, 1, 16, 16},
    {"sim", DType::mxfp8, 1, 16, 32},         {"sim", DType::nvfp4, 1, 16, 32},
};

constexpr const char* kDims[] = {"m", "n", "k"};

Result<ShapeRequest> shapes_from_file(const Options& options) {
  ShapeRequest out;
  out.search = "grid";
  const std::string path = *options.text("shapes_file");
  constexpr std::size_t kMostBytes = 64 << 20;  // ten times what the largest grid would take
  const auto text = read_file(path, kMostBytes);
  if (!text) return error_text("--shapes_file: " + text.error().message());
  auto shapes = search::parse_shapes(path, *text);
  if (!shapes) return shapes.error();
  out.grid = std::move(shapes).value();
  out.range_info = fmt::format("exact shapes from {} ({} shapes)", path, out.grid.size());
  std::string ignored;
  for (const char* dim : kDims)
    for (const std::string& name : {std::string(dim), dim + std::string("_range")})
      if (options.given(name)) ignored += fmt::format("{}--{}", ignored.empty() ? "" : ", ", name);
  if (!ignored.empty())
    out.notes.push_back(fmt::format("note: --shapes_file gives the shapes, {} is not used", ignored));
  return out;
}

}  // namespace

Result<std::string> requested_device(const Options& options) {
  const std::string device = options.text_or("device", "auto");
  const auto index = options.integer("cuda_device");
  if (!index) return device;
  const std::string cuda = fmt::format("cuda:{}", *index);
  if (device == "auto" || device == cuda || (device == "cuda" && *index == 0)) return cuda;
  return error_text(fmt::format("--device {} and --cuda_device {} name different devices", device, *index));
}

Result<ShapeRequest> requested_shapes(const Options& options) {
  if (options.given("shapes_file")) return shapes_from_file(options);
  std::vector<std::string> missing;
  std::vector<std::vector<std::int64_t>> dims;
  ShapeRequest out;
  for (const char* dim : kDims) {
    const std::string range = dim + std::string("_range");
    const bool has_values = options.given(dim), has_range = options.given(range);
    if (!has_values && !has_range) {
      missing.emplace_back(dim);
      continue;
    }
    auto values = has_values ? search::dimension_values("--" + std::string(dim), options.integers(dim))
                             : search::dimension_range("--" + range, options.integers(range));
    if (!values) return values.error();
    dims.push_back(std::move(values).value());
    out.range_info +=
        fmt::format("{}{}={}", out.range_info.empty() ? "" : " | ", dim,
                    has_values ? fmt::format("{}", fmt::join(options.integers(dim), ","))
                               : fmt::format("range({})", fmt::join(options.integers(range), ", ")));
  }
  if (dims.empty() && options.text_or("search", "auto") == "auto") return ShapeRequest{};
  if (!missing.empty())
    return error_text(fmt::format(
        "--search grid requires shapes for: {} (use --m/--n/--k, --m_range/--n_range/--k_range, or "
        "--shapes_file)",
        fmt::join(missing, ", ")));
  if (auto why = search::grid_too_large(dims[0].size(), dims[1].size(), dims[2].size()))
    return error_text(*why);
  out.search = "grid";
  out.grid = search::grid_product(dims[0], dims[1], dims[2]);
  return out;
}

Result<KnobRequest> requested_knobs(const Options& options, const DeviceInfo& device) {
  const std::vector<std::string> pairs = options.texts("tune");
  KnobRequest out;
  const KnobPreset own = device.kind == DeviceKind::cpu ? KnobPreset::cpu : KnobPreset::gpu;
  const auto preset = preset_of(pairs, own);
  if (!preset) return preset.error();
  out.preset = *preset;
  bool loop_bound_given = false;
  for (const std::string& pair : pairs) {
    out.preset_given |= pair.rfind("preset=", 0) == 0;
    loop_bound_given |= pair.rfind("loop_max_s=", 0) == 0;
  }
  const auto knobs = apply_overrides(knobs_for(out.preset), pairs);
  if (!knobs) return knobs.error();
  out.knobs = *knobs;
  const bool counts_given = options.given("num_iterations") || options.given("num_warmup_iterations");
  if (counts_given && !loop_bound_given) out.knobs.loop_max_s = 0;
  return out;
}

std::vector<int> known_multiples(const std::string& backend, DType dtype) {
  for (const AlignmentRule& rule : kAlignmentRules)
    if (backend == rule.backend && dtype == rule.dtype) return {rule.m, rule.n, rule.k};
  return {1, 1, 1};
}

std::optional<std::string> auto_refusal(const DeviceInfo& device) {
  if (device.units > 0 && device.tile) return std::nullopt;
  return fmt::format(
      "--search auto derives its shapes from a device's units and tile, and {} of {} is not known; "
      "give shapes with --m/--n/--k (or --m_range/--n_range/--k_range) or --shapes_file",
      device.units > 0 ? "the tile" : "the number of units", device.name);
}

std::vector<std::string> repro_options(const Options& options, const FindSettings& settings,
                                       const KnobRequest& knobs) {
  std::vector<std::string> out{"--device " + settings.device,
                               fmt::format("--dtype {}", dtype_name(settings.dtype))};
  for (const char* name : {"layout", "data", "threads", "num_iterations", "num_warmup_iterations"})
    if (const auto value = options.text(name)) out.push_back(fmt::format("--{} {}", name, *value));
  if (settings.fast_accumulation) out.emplace_back("--fast_accum");
  if (!settings.telemetry) out.emplace_back("--telemetry off");
  if (knobs.preset_given) {
    const char* name = knobs.preset == KnobPreset::v3    ? "v3"
                       : knobs.preset == KnobPreset::cpu ? "cpu"
                                                         : "gpu";
    out.push_back(fmt::format("--tune preset={}", name));
  }
  Knobs base = knobs_for(knobs.preset);
  // Explicit counts lift the bound in the repeated run as well.
  if (options.given("num_iterations") || options.given("num_warmup_iterations")) base.loop_max_s = 0;
  for (const std::string& tune : knob_differences(settings.knobs, base)) out.push_back(tune);
  return out;
}

ExitCode find_exit_code(const Run& run, bool device_dead) {
  if (device_dead) return kExitDevice;
  if (run.interrupted) return kExitNoResult;
  bool scouted = false, headline = false;
  for (const LoopSample& sample : run.scouts) scouted |= sample.outcome.ok();
  for (const Headline& h : run.headlines) headline |= h.trust != Trust::untrusted;
  if (!scouted && !headline) return kExitNoResult;
  return headline || run.settings.knobs.scout_only ? kExitOk : kExitNoHeadline;
}

}  // namespace gemmpeak::app
