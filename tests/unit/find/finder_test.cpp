// The finder on simulated devices: whole runs in virtual time, faults on demand.
#include "find/finder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>

#include "backends/sim/sim_backend.hpp"

namespace gemmpeak {
namespace {

// Fails shapes by a rule and stops a run after a number of scouted shapes.
struct Probe : FindObserver {
  std::atomic<int>* stop = nullptr;
  int stop_after_scouts = -1;
  int scouts = 0;
  int headlines = 0;
  void scout(int, const LoopSample&, double) override {
    if (++scouts == stop_after_scouts) stop->store(2);
  }
  void headline(const Headline&) override { ++headlines; }
};

// testing::Test has a member Run, which hides ours in a test body.
using Record = Run;

struct Case {
  SimSpec spec = *sim_spec("h200");
  Knobs knobs = knobs_for(KnobPreset::gpu);
  std::vector<GemmShape> grid;  // empty: auto
  bool telemetry = true;
  DType dtype = DType::bfloat16;
  Journal* journal = nullptr;
  int stop_after_scouts = -1;
  int iterations = 30;
  int warmup_iterations = 10;
  Probe probe;

  // A search small enough for a unit test: few waves, no refinement.
  Case() {
    knobs.max_size = 8192;
    knobs.refine_grid = false;
    knobs.msmf_lock_reps = 7;
    knobs.b2b_s = 1.0;
  }

  Run operator()() {
    auto device = make_sim_device(spec);
    auto telemetry_owner = telemetry ? device->own_telemetry() : nullptr;
    std::atomic<int> stop{0};
    probe.stop = &stop;
    probe.stop_after_scouts = stop_after_scouts;
    BenchSettings settings;
    settings.dtype = dtype;
    settings.output = dtype_info(dtype).output;
    Bench bench(*device, telemetry_owner.get(), settings, &stop);
    Run run;
    run.device = device->info();
    run.telemetry_validated = telemetry_owner != nullptr && telemetry_owner->info().validated;
    run.settings.device = device->info().id;
    run.settings.dtype = dtype;
    run.settings.knobs = knobs;
    run.settings.search = grid.empty() ? "auto" : "grid";
    run.settings.grid = grid;
    run.settings.num_iterations = iterations;
    run.settings.num_warmup_iterations = warmup_iterations;
    run.settings.repro_options = {"--device", "sim:h200"};
    return Finder({&bench, journal, &probe}, std::move(run)).run();
  }
};

const Headline* headline(const Run& run, Regime regime) {
  for (const Headline& h : run.headlines)
    if (h.regime == regime) return &h;
  return nullptr;
}

const Fate* fate(const Run& run, GemmShape shape) {
  for (const Fate& f : run.fates)
    if (f.shape == shape) return &f;
  return nullptr;
}

std::vector<GemmShape> small_grid() {
  return {{4096, 4096, 4096},
          {8192, 8192, 2048},
          {2816, 1536, 8192},
          {2816, 3072, 4096},
          {8192, 8192, 8192}};
}

std::string temporary(const std::string& name) {
  const auto path = std::filesystem::path(testing::TempDir()) / name;
  std::filesystem::remove(path);
  return path.string();
}

TEST(Finder, AutoGivesAllThreeHeadlinesValidatedWithClockDutyAndRepro) {
  Case c;
  const Record run = c();
  for (Regime regime : {Regime::mamf, Regime::msmf, Regime::back_to_back}) {
    const Headline* h = headline(run, regime);
    ASSERT_NE(h, nullptr) << regime_name(regime);
    EXPECT_EQ(h->trust, Trust::validated) << regime_name(regime);
    EXPECT_TRUE(h->clock_mhz.has_value());
    EXPECT_TRUE(h->duty.has_value());
    EXPECT_TRUE(h->efficiency.has_value());
    EXPECT_LT(*h->efficiency, 1.0);
    EXPECT_NE(h->repro.find("gemmpeak find --device sim:h200 --m " + std::to_string(h->shape.m)),
              std::string::npos);
    EXPECT_FALSE(h->runs.empty());
  }
  EXPECT_EQ(c.probe.headlines, 3);
  EXPECT_GT(headline(run, Regime::mamf)->tflops, headline(run, Regime::msmf)->tflops);
  EXPECT_EQ(run.shapes_tried, static_cast<int>(run.scouts.size()));
  EXPECT_FALSE(run.cross_checks.empty());
}

TEST(Finder, MamfIsTheFastestShapeOfTheLandscapeWithinTheNoise) {
  Case c;
  const Record run = c();
  double best = 0;
  for (const LoopSample& sample : run.scouts) {
    const double s =
        sim_product_s(c.spec, reference_problem(c.dtype, sample.shape), 0, c.spec.boost_mhz);
    best = std::max(best, sample.shape.flop() / s / 1e12);
  }
  ASSERT_NE(headline(run, Regime::mamf), nullptr);
  EXPECT_NEAR(headline(run, Regime::mamf)->tflops / best, 1.0, 0.015);
}

TEST(Finder, TheRaceFindsTheHeadlinesOfTheFullConfirmWithFewerRepeats) {
  Case fast, full;
  // The clock settles within the reference's loops, not within this file's short ones.
  for (Case* c : {&fast, &full}) {
    c->iterations = 100;
    c->warmup_iterations = 50;
    c->knobs.msmf_pass_gap_s = 0;  // the race is the CPU's default, and there passes follow at once
  }
  fast.knobs.confirm_first_reps = 2;
  full.knobs.confirm_first_reps = 0;
  full.knobs.mamf_first_reps = 0;
  const Record a = fast(), b = full();
  ASSERT_NE(headline(a, Regime::msmf), nullptr);
  ASSERT_NE(headline(b, Regime::msmf), nullptr);
  // More repeats may disqualify a shape by its spread, so the full confirm can only come out lower.
  EXPECT_GE(headline(a, Regime::msmf)->tflops / headline(b, Regime::msmf)->tflops, 0.99);
  EXPECT_NEAR(headline(a, Regime::mamf)->tflops / headline(b, Regime::mamf)->tflops, 1.0, 0.01);
  EXPECT_LT(a.confirms.size(), b.confirms.size());
}

TEST(Finder, TelemetryOffRunsAllTheWayAndSaysUnvalidated) {
  Case c;
  c.telemetry = false;
  const Record run = c();
  ASSERT_NE(headline(run, Regime::msmf), nullptr);
  EXPECT_EQ(headline(run, Regime::msmf)->trust, Trust::unvalidated);
  ASSERT_NE(headline(run, Regime::mamf), nullptr);
  // The device's own clock still certifies the boost.
  EXPECT_EQ(headline(run, Regime::mamf)->trust, Trust::validated);
  EXPECT_FALSE(headline(run, Regime::msmf)->power_w.has_value());
}

TEST(Finder, WithoutAnyClockNothingIsCalledBoostValidated) {
  Case c;
  c.telemetry = false;
  c.spec.stamps = false;
  c.grid = small_grid();
  const Record run = c();
  ASSERT_NE(headline(run, Regime::mamf), nullptr);
  EXPECT_EQ(headline(run, Regime::mamf)->trust, Trust::unvalidated);
  EXPECT_TRUE(std::any_of(run.warnings.begin(), run.warnings.end(), [](const std::string& w) {
    return w.find("not boost-clock validated") != std::string::npos;
  }));
}

TEST(Finder, AWrongResultIsExcludedReportedAndNeverAHeadline) {
  Case c;
  c.grid = small_grid();
  const Record before = c();
  const GemmShape winner = headline(before, Regime::mamf)->shape;
  SimFault wrong;
  wrong.kind = SimFaultKind::wrong;
  wrong.applies = [winner](const GemmShape& s) { return s == winner; };
  wrong.count = 128 * 256;
  Case faulty;
  faulty.grid = small_grid();
  faulty.spec.faults.push_back(wrong);
  const Record run = faulty();
  for (const Headline& h : run.headlines) EXPECT_NE(h.shape, winner);
  ASSERT_NE(fate(run, winner), nullptr);
  EXPECT_EQ(fate(run, winner)->fate, "wrong_result");
  EXPECT_FALSE(run.warnings.empty());
}

TEST(Finder, RefusedFailingAndOversizedShapesAreDataPoints) {
  Case c;
  c.grid = small_grid();
  const GemmShape refused{4096, 4096, 4096}, failing{8192, 8192, 2048}, no_memory{2816, 3072, 4096};
  const GemmShape huge{2000000, 2000000, 4096};
  c.grid.push_back(huge);
  const auto only = [](GemmShape shape) {
    return [shape](const GemmShape& s) { return s == shape; };
  };
  c.spec.faults.push_back({SimFaultKind::refused, only(refused), -1, 1, 1});
  c.spec.faults.push_back({SimFaultKind::failing, only(failing), -1, 1, 1});
  c.spec.faults.push_back({SimFaultKind::out_of_memory, only(no_memory), -1, 1, 1});
  const Record run = c();
  EXPECT_EQ(fate(run, refused)->fate, "unsupported");
  EXPECT_EQ(fate(run, failing)->fate, "error");
  EXPECT_EQ(fate(run, no_memory)->fate, "out_of_memory");
  EXPECT_EQ(fate(run, huge)->fate, "skipped");
  for (const Fate& f : run.fates)
    if (f.fate != "scouted") {
      EXPECT_FALSE(f.reason.empty()) << f.shape.str() << " " << f.fate;
    }
  EXPECT_NE(headline(run, Regime::mamf), nullptr);
}

TEST(Finder, ImpossibleRatesNeverBecomeAHeadline) {
  Case c;
  c.grid = small_grid();
  const GemmShape liar{8192, 8192, 8192};
  SimFault fast;
  fast.kind = SimFaultKind::too_fast;
  fast.applies = [liar](const GemmShape& s) { return s == liar; };
  c.spec.faults.push_back(fast);
  const Record run = c();
  for (const Headline& h : run.headlines) EXPECT_NE(h.shape, liar);
  EXPECT_EQ(fate(run, liar)->fate, "untrusted");
}

TEST(Finder, TimersThatDisagreeWithTheHostLeaveNoHeadline) {
  Case c;
  c.grid = small_grid();
  c.spec.mark_scale = 0.9;
  const Record run = c();
  EXPECT_TRUE(run.headlines.empty());
}

TEST(Finder, ACrashKeepsWhatWasMeasuredBefore) {
  Case c;
  c.grid = small_grid();
  SimFault crash;
  crash.kind = SimFaultKind::crash;
  crash.applies = [](const GemmShape& s) { return s == GemmShape{8192, 8192, 8192}; };
  c.spec.faults.push_back(crash);
  const Record run = c();
  EXPECT_GE(run.scouts.size(), 4u);
  EXPECT_TRUE(std::any_of(run.warnings.begin(), run.warnings.end(), [](const std::string& w) {
    return w.find("device failed") != std::string::npos;
  }));
}

TEST(Finder, TelemetryThatDiesHalfWayMarksTheRecordAndGoesOn) {
  Case c;
  c.grid = small_grid();
  c.spec.telemetry_fails_at_s = 4.0;
  const Record run = c();
  EXPECT_NE(headline(run, Regime::mamf), nullptr);
  EXPECT_NE(headline(run, Regime::msmf), nullptr);
}

TEST(Finder, ScoutOnlyStopsAfterScoutingInAutoToo) {
  Case c;
  c.knobs.scout_only = true;
  const Record run = c();
  EXPECT_GT(run.scouts.size(), 20u);
  EXPECT_TRUE(run.confirms.empty());
  EXPECT_TRUE(run.bursts.empty());
  EXPECT_TRUE(run.headlines.empty());
}

TEST(Finder, AnInterruptionReturnsTheScoutsSoFar) {
  Case c;
  c.stop_after_scouts = 10;
  const Record run = c();
  EXPECT_TRUE(run.interrupted);
  EXPECT_EQ(run.scouts.size(), 10u);
}

TEST(Finder, AResumedRunMeasuresOnlyWhatTheFirstDidNot) {
  const std::string path = temporary("resume.jsonl");
  const JournalHeader header{"settings", "device", "command", "now"};
  Case first;
  first.grid = small_grid();
  first.stop_after_scouts = 3;
  auto created = Journal::create(path, header);
  ASSERT_TRUE(created.ok()) << created.error().message();
  first.journal = created->get();
  const Record a = first();
  EXPECT_TRUE(a.interrupted);
  created->reset();

  auto resumed = Journal::resume(path, header);
  ASSERT_TRUE(resumed.ok()) << resumed.error().message();
  EXPECT_EQ((*resumed)->recorded(), 3);
  Case second;
  second.grid = small_grid();
  second.journal = resumed->get();
  const Record b = second();
  ASSERT_EQ(b.scouts.size(), small_grid().size());
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(b.scouts[i].seconds, a.scouts[i].seconds);
  EXPECT_EQ(b.headlines.size(), 3u);

  // A third run on the finished journal measures nothing anew.
  resumed->reset();
  auto again = Journal::resume(path, header);
  ASSERT_TRUE(again.ok());
  Case third;
  third.grid = small_grid();
  third.journal = again->get();
  const Record d = third();
  ASSERT_EQ(d.headlines.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_DOUBLE_EQ(d.headlines[i].tflops, b.headlines[i].tflops);
}

TEST(Finder, AOneShapeGridIsItsOwnAnchorOnlyWhenItReachedThePowerLimit) {
  Case hot;
  hot.grid = {{8192, 8192, 8192}};
  const Record a = hot();
  ASSERT_NE(headline(a, Regime::msmf), nullptr);
  Case cool;
  cool.grid = {{1024, 1024, 1024}};
  const Record b = cool();
  ASSERT_NE(headline(b, Regime::msmf), nullptr);
  EXPECT_GT(b.warnings.size(), a.warnings.size());
}

TEST(Finder, IdleSiblingsDuringMsmfAreReported) {
  Case c;
  c.grid = small_grid();
  c.spec.siblings = {{3, 2}};
  const Record run = c();
  EXPECT_EQ(run.idle_siblings.count(3), 1u);
}

TEST(Finder, TheDeviceIsBusyNineTenthsOfTheScouting) {
  Case c;
  const Record run = c();
  ASSERT_TRUE(run.busy_share.has_value());
  EXPECT_GE(*run.busy_share, 0.9);
}

}  // namespace
}  // namespace gemmpeak
