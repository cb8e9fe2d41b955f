// The reference's MSMF selection and lock-in, exactly: winner, its values, warnings, what was
// passed over, what was re-measured and every line of the log. Meant differences and reasons:
//  (a) where no saturated-clock anchor exists the reference crashes while wording a message; ours
//      warns in its words (validated telemetry only) and selects.
//  (d) a shape confirmed alone has the highest power by definition. Ours wants evidence: the power
//      limit or the power-cap bit. At the limit the cases equal the reference's; without evidence
//      there is a warning more.
#include <fmt/format.h>

#include "golden.hpp"
#include "stats/stats.hpp"

namespace gemmpeak::search {
namespace {

struct Case {
  std::vector<Confirmed> confirmed;
  MsmfRules rules;
  Knobs knobs;
  std::map<GemmShape, Json> lock;
};

Case read_case(const Json& in) {
  Case out;
  for (const Json& r : in["results"]) {
    Confirmed one;
    one.shape = golden::shape(r["shape"]);
    one.tflops = r["tflops"];
    one.power_w = golden::reading(r["power"]);
    one.clock_mhz = golden::reading(r["clock"]);
    one.spread_percent = r["spread"];
    out.confirmed.push_back(one);
  }
  out.rules.exclude = !in["telemetry"].is_null() && in["telemetry"]["validated"].get<bool>();
  out.rules.confirm_reps = in["reps"];
  out.knobs = golden::knobs(in["tune"]);
  for (const Json& row : in["lock"]) out.lock[golden::shape(row.at(0))] = row;
  return out;
}

MsmfChoice select(const Case& one, std::vector<std::pair<GemmShape, int>>* remeasured) {
  return select_msmf(one.confirmed, one.rules, one.knobs, [&](GemmShape shape, int reps) {
    remeasured->emplace_back(shape, reps);
    const Json& row = one.lock.at(shape);
    Confirmed out;
    out.shape = shape;
    out.runs = row.at(1).get<std::vector<double>>();
    out.tflops = stats::trimmed_median(out.runs);
    out.spread_percent = stats::spread_percent(out.runs);
    out.power_w = stats::median_or_none(row.at(2).get<std::vector<double>>());
    out.clock_mhz = stats::median_or_none(row.at(3).get<std::vector<double>>());
    return out;
  });
}

std::string opt(std::optional<double> value) {
  return value ? fmt::format("{:5.0f}", *value) : fmt::format("{:>5}", "-");
}

// The reference's log, written from our record.
std::vector<std::string> log_of(const MsmfChoice& choice, const Knobs& knobs) {
  std::vector<std::string> log;
  for (const auto& [why, shapes] : choice.ignored) {
    std::vector<std::string> names;
    for (const GemmShape& shape : shapes) names.push_back(shape.str());
    log.push_back(fmt::format("  ignored ({}): {}", why, fmt::join(names, ", ")));
  }
  if (choice.locks.empty()) return log;
  log.emplace_back();
  log.push_back(
      fmt::format("MSMF lock-in: re-measuring the leader x{}, next candidate if it fails ...",
                  knobs.msmf_lock_reps));
  for (const MsmfChoice::Lock& lock : choice.locks) {
    const Confirmed& r = lock.result;
    std::vector<std::string> runs;
    for (const double run : r.runs) runs.push_back(fmt::format("{:.1f}", run));
    const std::string end = !lock.accepted ? "  rejected (" + lock.reason + ")"
                            : lock.reason.empty()
                                ? "  locked in"
                                : "  locked in (best available; " + lock.reason + ")";
    log.push_back(fmt::format("  {:<18} {:6.1f} {} {} {:5.1f}%  {}{}", r.shape.str(), r.tflops,
                              opt(r.power_w), opt(r.clock_mhz), r.spread_percent,
                              fmt::join(runs, " "), end));
  }
  return log;
}

std::vector<std::string> printed(const std::vector<std::string>& warnings) {
  std::vector<std::string> out;
  for (const std::string& warning : warnings) out.push_back("WARNING: " + warning);
  return out;
}

std::vector<std::string> recorded_warnings(const Json& out) {
  std::vector<std::string> lines = golden::lines(out["console"]);
  if (out.contains("warning") && !out["warning"].is_null()) lines.push_back(out["warning"]);
  return lines;
}

void compare_selected(const Json& out, const MsmfChoice& choice, const Case& one) {
  ASSERT_TRUE(choice.headline);
  EXPECT_EQ(choice.headline->shape, golden::shape(out["shape"]));
  EXPECT_EQ(choice.headline->tflops, out["tflops"].get<double>());
  EXPECT_EQ(choice.headline->power_w, golden::reading(out["power"]));
  EXPECT_EQ(choice.headline->clock_mhz, golden::reading(out["clock"]));
  EXPECT_EQ(choice.headline->spread_percent, out["spread"].get<double>());
  EXPECT_EQ(log_of(choice, one.knobs), golden::lines(out["log"]));
}

TEST(GoldenMsmf, SelectionAndLockInEqualTheReferencesWhereThatDoesNotCrash) {
  const Json all = golden::cases("select_and_lock_msmf");
  int crashes = 0, alone = 0, equal = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Json& out = all[i]["out"];
    SCOPED_TRACE(golden::label(all[i], i));
    Case one = read_case(all[i]["in"]);
    const bool single = one.confirmed.size() == 1;
    if (single) one.rules.power_limit_w = one.confirmed[0].power_w;  // (d)
    std::vector<std::pair<GemmShape, int>> remeasured;
    const MsmfChoice choice = select(one, &remeasured);
    if (out.contains("crash")) {  // (a)
      ++crashes;
      EXPECT_EQ(choice.headline.has_value(), !one.confirmed.empty());
      EXPECT_FALSE(choice.saturated_clock_mhz && !single);
      if (single) continue;
      std::vector<std::string> first = printed(choice.warnings);
      first.resize(out["console"].size());  // lock-in, which the crash forestalls, may add one
      EXPECT_EQ(first, golden::lines(out["console"]));
      continue;
    }
    alone += single;
    ++equal;
    compare_selected(out, choice, one);
    EXPECT_EQ(printed(choice.warnings), recorded_warnings(out));
    std::vector<std::pair<GemmShape, int>> recorded;
    for (const Json& row : out["remeasured"])
      recorded.emplace_back(golden::shape(row["shape"]), row["reps"].get<int>());
    EXPECT_EQ(remeasured, recorded);
  }
  EXPECT_GT(crashes, 0);
  EXPECT_GT(alone, 0);
  EXPECT_GT(equal, 80);
}

TEST(GoldenMsmf, AShapeConfirmedAloneWithoutEvidenceOnlyGainsAWarning) {
  const Json all = golden::cases("select_and_lock_msmf");
  int alone = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Case one = read_case(all[i]["in"]);
    if (one.confirmed.size() != 1 || all[i]["out"].contains("crash") || !one.rules.exclude)
      continue;
    SCOPED_TRACE(golden::label(all[i], i));
    ++alone;
    std::vector<std::pair<GemmShape, int>> remeasured;
    const MsmfChoice choice = select(one, &remeasured);
    EXPECT_FALSE(choice.saturated_clock_mhz);
    ASSERT_FALSE(choice.warnings.empty());
    EXPECT_NE(choice.warnings[0].find("nothing shows that it was saturated"), std::string::npos);
    ASSERT_TRUE(choice.headline);
    EXPECT_EQ(choice.headline->tflops, all[i]["out"]["tflops"].get<double>());
  }
  EXPECT_GT(alone, 0);
}

}  // namespace
}  // namespace gemmpeak::search
