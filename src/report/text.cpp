// Header and closing report of a find, as text.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "report/report.hpp"

namespace gemmpeak::report {
namespace {

const std::string& rule() {
  static const std::string line(80, '-');
  return line;
}

// A sibling idle for under a tenth of the window is start and finish skew between copies of the
// program, not idleness (the reference's figure).
constexpr double kIdleShare = 0.1;

struct RegimeLabel {
  Regime regime;
  const char* name;
  const char* label;  // padded, so that the rates stand below each other
};
constexpr RegimeLabel kLabels[] = {
    {Regime::mamf, "MAMF", "MAMF (max achievable,  boost burst): "},
    {Regime::msmf, "MSMF", "MSMF (max sustainable, saturated):   "},
    {Regime::back_to_back, "Back-to-back", "Back-to-back (held, no gaps):        "},
};

const RegimeLabel& label_of(Regime regime) {
  for (const RegimeLabel& row : kLabels)
    if (row.regime == regime) return row;
  return kLabels[0];
}

const Headline* headline_of(const Run& run, Regime regime) {
  for (const Headline& headline : run.headlines)
    if (headline.regime == regime && headline.trust != Trust::untrusted) return &headline;
  return nullptr;
}

bool any_headline(const Run& run) {
  return std::any_of(run.headlines.begin(), run.headlines.end(),
                     [](const Headline& h) { return h.trust != Trust::untrusted; });
}

void bullet(std::string& out, const std::string& name, const std::string& value) {
  if (!value.empty()) out += fmt::format("- {}: {}\n", name, value);
}

void bullets(std::string& out, const std::map<std::string, std::string>& values) {
  for (const auto& [name, value] : values) bullet(out, name, value);
}

std::string device_lines(const DeviceInfo& device) {
  std::string out = fmt::format("- {} ({}{}{})\n", device.name, device.id,
                                device.architecture.empty() ? "" : ", ", device.architecture);
  std::string geometry = device.units > 0 ? fmt::format("{} units", device.units) : "units unknown";
  if (device.tile) geometry += fmt::format(", tile {}x{}", device.tile->m, device.tile->n);
  geometry += device.geometry_validated ? ", validated" : ", not validated";
  bullet(out, "geometry", geometry);
  if (device.memory_bytes > 0) bullet(out, "memory", bytes_text(device.memory_bytes));
  if (device.llc_bytes > 0) bullet(out, "last-level cache", bytes_text(device.llc_bytes));
  if (device.rated_clock_mhz)
    bullet(out, "rated clock", fmt::format("{:.0f} MHz", *device.rated_clock_mhz));
  bullet(out, "uuid", device.uuid);
  bullet(out, "PCI", device.pci_bus_id);
  bullet(out, "serial", device.serial);
  bullets(out, device.attributes);
  return out;
}

std::string telemetry_lines(const Run& run) {
  if (!run.settings.telemetry) return "- off\n";
  std::string out;
  bullets(out, run.telemetry);
  for (const auto& [sensor, why] : run.telemetry_missing)
    bullet(out, sensor, "cannot be read: " + why);
  bullet(out, "validated", run.telemetry_validated ? "yes" : "no");
  return out;
}

std::string settings_lines(const FindSettings& s) {
  std::string out = fmt::format("- benchmark version: {}\n", kProtocolVersion);
  bullet(out, "search mode", s.search);
  bullet(out, "range", s.range_info);
  bullet(out, "iterations",
         fmt::format("{} timed, {} warm-up", s.num_iterations, s.num_warmup_iterations));
  bullet(out, "layout", std::string(layout_name(s.layout)));
  bullet(out, "data", std::string(data_kind_name(s.data)));
  if (s.fast_accumulation) bullet(out, "accumulation", "fast (FP8 without promotion)");
  std::string knobs;
  for (const KnobRow& row : knob_table())
    knobs += fmt::format("{}{}={}", knobs.empty() ? "" : " ", row.name,
                         knob_text(knob_value(s.knobs, row)));
  bullet(out, "knobs", knobs);
  if (!s.notes.empty()) out += s.notes + "\n";
  return out;
}

// Mean, median and max over the scouts, each at its best shape (S5a).
std::string scouting_text(const Run& run) {
  struct Best {
    const char* label;
    double (LoopSample::*rate)() const;
  };
  constexpr Best kBest[] = {{"mean:   ", &LoopSample::mean_tflops},
                            {"median: ", &LoopSample::median_tflops},
                            {"max:    ", &LoopSample::max_tflops}};
  std::string out;
  for (const Best& row : kBest) {
    const LoopSample* best = nullptr;
    for (const LoopSample& sample : run.scouts)
      if (sample.outcome.ok() && (best == nullptr || (sample.*row.rate)() > (best->*row.rate)()))
        best = &sample;
    out += row.label + (best == nullptr
                            ? std::string("n/a")
                            : fmt::format("{} TFLOPS @ {} (MxNxK)", rate_text((best->*row.rate)()),
                                          best->shape.str()));
    out += "\n";
  }
  return out;
}

std::string sibling_note(const Run& run) {
  std::string list;
  int count = 0;
  for (const auto& [index, share] : run.idle_siblings) {
    if (share < kIdleShare) continue;
    ++count;
    list += fmt::format("{}GPU{} {:.0f} %", list.empty() ? "" : ", ", index, 100 * share);
  }
  if (count == 0 || headline_of(run, Regime::msmf) == nullptr) return {};
  return fmt::format(
      "note: {} same-board sibling GPU(s) sat idle during the MSMF measurement, so MSMF reads "
      "high\n"
      "      (share of the time each was idle: {}). With all siblings idle it is an upper bound "
      "for\n"
      "      one GPU; a full node has less power and cooling for each.\n",
      count, list);
}

// The facts behind one headline, in one line.
std::string evidence_line(const Headline& h) {
  std::vector<std::string> parts{std::string(trust_name(h.trust))};
  if (!h.algorithm.empty()) parts.push_back("algorithm " + h.algorithm);
  if (h.efficiency) {
    // The clock that find divided by: the device's own where it was read.
    const auto clock = h.device_clock_mhz ? h.device_clock_mhz : h.clock_mhz;
    parts.push_back(
        fmt::format("efficiency {:.1f} %{}", 100 * *h.efficiency,
                    clock ? fmt::format(" of the peak at {}{:.0f} MHz",
                                        h.device_clock_mhz ? "the device's own " : "", *clock)
                          : ""));
  }
  if (h.duty) parts.push_back(fmt::format("duty {:.0f} %", 100 * *h.duty));
  if (h.joules_per_tflop) parts.push_back(fmt::format("{:.3f} J/TFLOP", *h.joules_per_tflop));
  if (h.device_clock_mhz && !h.efficiency)
    parts.push_back(fmt::format("device's own clock {:.0f} MHz", *h.device_clock_mhz));
  if (h.temperature_c) parts.push_back(fmt::format("{:.0f} °C", *h.temperature_c));
  if (h.spread_percent) parts.push_back(fmt::format("spread {:.1f} %", *h.spread_percent));
  if (h.reasons) {
    const auto names = throttle_names(*h.reasons);
    parts.push_back("throttle reasons: " + (names.empty()
                                                ? std::string("none")
                                                : fmt::format("{}", fmt::join(names, ", "))));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string details_text(const Run& run) {
  std::string out;
  for (const RegimeLabel& row : kLabels) {
    const Headline* headline = headline_of(run, row.regime);
    if (headline == nullptr) continue;
    out += fmt::format("\n{}: {}\n", row.name, evidence_line(*headline));
    for (const std::string& note : headline->notes) out += "  " + note + "\n";
    if (!headline->repro.empty()) out += "  repro: " + headline->repro + "\n";
  }
  return out;
}

std::string cross_check_text(const Run& run) {
  if (run.cross_checks.empty()) return {};
  const auto cell = [](const std::optional<double>& x) {
    return x ? rate_text(*x) : std::string("-");
  };
  std::string out =
      fmt::format("\nSame shape in both regimes:\n  {:<22} {:>13} {:>17}  MSMF/MAMF\n", "MxNxK",
                  "MAMF (TFLOPS)", "MSMF (TFLOPS)");
  for (const auto& row : run.cross_checks) {
    std::string ratio = "-";
    if (row.mamf_tflops && row.msmf_tflops && *row.mamf_tflops > 0)
      ratio = fmt::format("{:.0f} %", 100 * *row.msmf_tflops / *row.mamf_tflops);
    out += fmt::format("  {:<22} {:>13} {:>17}  {}  ({})\n", row.shape.str(), cell(row.mamf_tflops),
                       cell(row.msmf_tflops), ratio, row.roles);
  }
  return out;
}

// Means over the scouts only: confirm repeats would weigh the winners (PARITY F7).
std::string means_text(const Run& run) {
  double sum = 0, logs = 0;
  int count = 0;
  for (const LoopSample& sample : run.scouts) {
    if (!sample.outcome.ok() || sample.mean_tflops() <= 0) continue;
    sum += sample.mean_tflops();
    logs += std::log(sample.mean_tflops());
    ++count;
  }
  return fmt::format(
      "\nAcross {} scouted shapes in range: {} in this run:\narithmetic mean: {} TFLOPS\n"
      "geometric mean:  {} TFLOPS\n",
      count, run.settings.range_info, rate_text(count > 0 ? sum / count : 0),
      rate_text(count > 0 ? std::exp(logs / count) : 0));
}

// Shapes that gave no number, counted by what became of them, each with one example.
std::string left_out_text(const Run& run) {
  struct Group {
    int count = 0;
    const Fate* example = nullptr;
  };
  std::map<std::string, Group> groups;
  for (const Fate& fate : run.fates) {
    if (fate.fate == "scouted" || fate.fate == "confirmed" || fate.fate == "headline") continue;
    Group& group = groups[fate.fate];
    ++group.count;
    if (group.example == nullptr) group.example = &fate;
  }
  if (groups.empty()) return {};
  std::string out = "\nShapes without a number:\n";
  for (const auto& [name, group] : groups)
    out += fmt::format("  {} {} (for example {}: {})\n", group.count, name,
                       group.example->shape.str(), group.example->reason);
  return out;
}

std::string elapsed_text(double seconds) {
  const auto whole = static_cast<long long>(seconds);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace

std::string header_text(const Run& run) {
  std::string out =
      fmt::format("\nBenchmark started on {}\n\n** Command line:\n{}\n\n** Dtype: {}\n",
                  run.started, run.command_line, dtype_name(run.settings.dtype));
  out += fmt::format("\n** Platform/Device info:\n- {}\n", run.platform) + device_lines(run.device);
  out += "\n** Critical software versions:\n";
  bullet(out, "gemmpeak", run.program_version);
  bullets(out, run.device.versions);
  out += "\n** Telemetry:\n" + telemetry_lines(run);
  out += "\n** Critical environment variables:\n";
  if (run.environment.empty()) out += "- none is set\n";
  for (const auto& [name, value] : run.environment) out += fmt::format("- {}={}\n", name, value);
  out += "\n** Additional notes:\n" + settings_lines(run.settings);
  return out + "\n" + rule() + "\n";
}

std::string headline_line(const Headline& h) {
  std::string out = fmt::format("{}{} TFLOPS @ {} (MxNxK)", label_of(h.regime).label,
                                headline_rate_text(h.tflops), h.shape.str());
  if (h.power_w) out += fmt::format("  {:.0f}W", *h.power_w);
  if (const auto clock = h.clock_mhz ? h.clock_mhz : h.device_clock_mhz)
    out += fmt::format("{}{:.0f}MHz", h.power_w ? " " : "  ", *clock);
  if (h.duty && h.regime == Regime::msmf) out += fmt::format("  duty {:.0f} %", 100 * *h.duty);
  if (h.trust != Trust::validated) out += fmt::format("  ({})", trust_name(h.trust));
  return out;
}

std::string outcome_text(const Run& run) {
  if (!any_headline(run)) return scouting_text(run);
  std::string out;
  for (const RegimeLabel& row : kLabels) {
    const Headline* headline = headline_of(run, row.regime);
    if (headline != nullptr)
      out += headline_line(*headline) + "\n";
    else if (row.regime != Regime::back_to_back || run.settings.knobs.b2b_s > 0)
      out += std::string(row.label) + "n/a\n";
  }
  return out;
}

std::string final_text(const Run& run) {
  std::string out = "\n" + rule() + "\n\n** Results:\n\n";
  if (run.interrupted)
    out += fmt::format("Interrupted{}: the best so far.\n",
                       run.interrupted_by.empty() ? "" : " by " + run.interrupted_by);
  out += fmt::format("Tried {} shapes => the best outcomes were:\n", run.shapes_tried);
  out += outcome_text(run) + sibling_note(run) + details_text(run) + cross_check_text(run);
  out += means_text(run) + left_out_text(run);
  if (!run.warnings.empty()) out += "\n";
  for (const std::string& warning : run.warnings) out += "WARNING: " + warning + "\n";
  if (run.busy_share)
    out += fmt::format("\nDevice busy while scouting: {:.0f} %", 100 * *run.busy_share);
  out += "\nLegend: TFLOPS = 10**12 FLOPS; W and MHz are means while the shape ran\n";
  out += "Elapsed time: " + elapsed_text(run.elapsed_s) + "\n";
  return out;
}

}  // namespace gemmpeak::report
