// MSMF selection on hand-made series with known answers, and its properties on random ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "search/selection.hpp"

namespace gemmpeak::search {
namespace {

using Readings = std::optional<double>;

// Shapes are told apart by M alone.
Confirmed one(int m, double tflops, Readings power, Readings clock, double spread = 1) {
  return {{m, 2048, 4096}, tflops, power, clock, spread, {tflops, tflops, tflops}};
}

MsmfRules validated() {
  MsmfRules rules;
  rules.exclude = true;
  return rules;
}

Knobs no_lock() {
  Knobs knobs;
  knobs.msmf_lock_reps = 0;
  return knobs;
}

MsmfChoice pick(const std::vector<Confirmed>& set, const MsmfRules& rules = validated()) {
  return select_msmf(set, rules, no_lock(), {});
}

std::int64_t winner(const MsmfChoice& choice) {
  return choice.headline ? choice.headline->shape.m : 0;
}

bool warns(const MsmfChoice& choice, const std::string& part) {
  return std::any_of(choice.warnings.begin(), choice.warnings.end(),
                     [&](const std::string& w) { return w.find(part) != std::string::npos; });
}

// 700 W and 1400 MHz anchor the clock in all of these.
const Confirmed kAnchor = one(1, 700, 700, 1400);

TEST(Msmf, TheFastestSteadySaturatedShapeWins) {
  EXPECT_EQ(winner(pick({kAnchor, one(2, 710, 690, 1420), one(3, 705, 695, 1410)})), 2);
  EXPECT_EQ(pick({kAnchor}, {}).saturated_clock_mhz, 1400);
}

TEST(Msmf, SuspectUnder90PercentOfTheHighestPowerIsExcludedAndListed) {
  const MsmfChoice choice = pick({kAnchor, one(2, 800, 629.9, 1400), one(3, 650, 600, 1400)});
  EXPECT_EQ(winner(choice), 1);
  ASSERT_EQ(choice.ignored.size(), 1u);
  EXPECT_EQ(choice.ignored[0].first,
            "unsaturated clock-boost, not sustainable (counts toward MAMF)");
  EXPECT_EQ(choice.ignored[0].second, (std::vector<GemmShape>{{2, 2048, 4096}}));  // 3 is slower
  EXPECT_EQ(winner(pick({kAnchor, one(2, 800, 630, 1400)})), 2);
}

TEST(Msmf, StillBoostingIsAHighClockWithPowerToSpare) {
  const MsmfChoice choice = pick({kAnchor, one(2, 800, 678, 1457)});
  EXPECT_EQ(winner(choice), 1);
  ASSERT_EQ(choice.ignored.size(), 1u);
  EXPECT_EQ(choice.ignored[0].first,
            "still boosting above the 1400MHz saturated clock (trends toward MAMF)");
  EXPECT_EQ(winner(pick({kAnchor, one(2, 800, 678, 1456)})), 2);  // 1.04 x 1400 is allowed
  EXPECT_EQ(winner(pick({kAnchor, one(2, 800, 679, 1900)})), 2);  // 0.97 x 700 W is saturated
}

TEST(Msmf, JitterOver3PercentIsExcludedAndListed) {
  const MsmfChoice choice = pick({kAnchor, one(2, 800, 700, 1400, 3.01)});
  EXPECT_EQ(winner(choice), 1);
  ASSERT_EQ(choice.ignored.size(), 1u);
  EXPECT_EQ(choice.ignored[0].first, "spread > 3%, too jittery to reproduce");
  EXPECT_EQ(winner(pick({kAnchor, one(2, 800, 700, 1400, 3)})), 2);
}

TEST(Msmf, IgnoredGroupsComeInOrderAndHoldFasterShapesOnly) {
  const MsmfChoice choice =
      pick({kAnchor, one(2, 900, 500, 1400), one(3, 800, 660, 1700), one(4, 790, 700, 1400, 5),
            one(5, 600, 500, 1900), one(6, 690, 660, 1700), one(7, 650, 700, 1400, 9)});
  EXPECT_EQ(winner(choice), 1);
  ASSERT_EQ(choice.ignored.size(), 3u);
  EXPECT_EQ(choice.ignored[0].second, (std::vector<GemmShape>{{3, 2048, 4096}}));
  EXPECT_EQ(choice.ignored[1].second, (std::vector<GemmShape>{{4, 2048, 4096}}));
  EXPECT_EQ(choice.ignored[2].second, (std::vector<GemmShape>{{2, 2048, 4096}}));
}

TEST(Msmf, FirstFallbackIsSteadyThoughBoosting) {
  // The anchor jitters; 2 is steady but boosts, 3 does neither and is faster.
  EXPECT_EQ(
      winner(pick({one(1, 700, 700, 1400, 9), one(2, 690, 660, 1700), one(3, 720, 700, 1450, 9)})),
      2);
}

TEST(Msmf, SecondFallbackIsNotBoostingThoughJittery) {
  EXPECT_EQ(winner(pick({one(1, 700, 700, 1400, 9), one(2, 720, 660, 1700, 9)})), 1);
}

TEST(Msmf, WhereEveryShapeIsSuspectNoneIsExcludedAsSuch) {
  // With the ratio over 1 even the highest power is under it.
  Knobs knobs = no_lock();
  knobs.suspect_power_ratio = 1.1;
  const std::vector<Confirmed> set{kAnchor, one(2, 710, 600, 1380)};
  EXPECT_EQ(winner(select_msmf(set, validated(), knobs, {})), 2);
}

TEST(Msmf, LastFallbackIsAllOfThem) {
  // Every shape boosts and jitters, the one at the power limit that sets the clock included.
  Knobs knobs = no_lock();
  knobs.msmf_clock_ratio = 0.9;       // even the anchor's own clock is over the limit
  knobs.msmf_sat_power_ratio = 1.01;  // and none is saturated: 700 W is not 1.01 x 700
  MsmfRules rules = validated();
  rules.power_limit_w = 690;
  const std::vector<Confirmed> set{one(1, 700, 700, 1400, 9), one(2, 720, 690, 1500, 9)};
  EXPECT_EQ(winner(select_msmf(set, rules, knobs, {})), 2);
}

TEST(Msmf, WithoutValidatedTelemetryOnlyJitterExcludes) {
  const std::vector<Confirmed> set{kAnchor, one(2, 800, 300, 1900), one(3, 900, 700, 1400, 5)};
  EXPECT_EQ(winner(pick(set, {})), 2);
  EXPECT_TRUE(pick(set, {}).warnings.empty());
}

TEST(Msmf, WithTelemetryOffSelectionStillWorks) {
  const std::vector<Confirmed> set{one(1, 700, {}, {}), one(2, 710, {}, {}),
                                   one(3, 900, {}, {}, 7)};
  EXPECT_EQ(winner(pick(set, {})), 2);
  const MsmfChoice checked = pick(set, validated());
  EXPECT_EQ(winner(checked), 2);
  EXPECT_TRUE(warns(checked, "no saturated-clock anchor"));
  EXPECT_FALSE(checked.saturated_clock_mhz);
}

TEST(Msmf, ASaturatedShapeWithoutAClockIsNoAnchor) {
  const MsmfChoice choice = pick({one(1, 700, 700, {}), one(2, 710, 660, 1900)});
  EXPECT_EQ(winner(choice), 2);
  EXPECT_TRUE(warns(choice, "no saturated-clock anchor"));
}

TEST(Msmf, ThePowerLimitOrTheCapBitAnchorASetThatWouldHaveNoAnchor) {
  const std::vector<Confirmed> set{one(1, 700, 700, {}), one(2, 650, 660, 1400),
                                   one(3, 710, 650, 1900)};
  MsmfRules rules = validated();
  rules.power_capped.insert(set[1].shape);
  const MsmfChoice choice = pick(set, rules);
  EXPECT_EQ(choice.saturated_clock_mhz, 1400);
  EXPECT_EQ(winner(choice), 1);  // 3 boosts
  EXPECT_TRUE(choice.warnings.empty());
}

TEST(Msmf, AShapeAtThePowerLimitAnchorsWhereTheHighestPowerHasNoClock) {
  const std::vector<Confirmed> set{one(1, 700, 700, {}), one(2, 650, 660, 1400),
                                   one(3, 710, 650, 1900)};
  MsmfRules rules = validated();
  rules.power_limit_w = 680;
  const MsmfChoice choice = pick(set, rules);
  EXPECT_EQ(choice.saturated_clock_mhz, 1400);
  EXPECT_EQ(winner(choice), 1);  // 3 boosts
  EXPECT_TRUE(choice.warnings.empty());
}

TEST(Msmf, AnEmptySetGivesNoHeadline) {
  EXPECT_FALSE(pick({}).headline);
  EXPECT_FALSE(pick({}, {}).headline);
}

TEST(Msmf, OfEqualRatesTheFirstWins) {
  EXPECT_EQ(winner(pick({one(4, 700, 700, 1400), one(2, 700, 700, 1400), one(9, 700, 700, 1400)})),
            4);
}

TEST(MsmfAlone, AShapeAtThePowerLimitOrCappedAnchorsItself) {
  MsmfRules at_limit = validated();
  at_limit.power_limit_w = 700;
  const MsmfChoice limited = pick({one(1, 500, 679, 1400)}, at_limit);
  EXPECT_TRUE(limited.warnings.empty());
  EXPECT_EQ(limited.saturated_clock_mhz, 1400);
  MsmfRules capped = validated();
  capped.power_capped.insert(kAnchor.shape);
  EXPECT_TRUE(pick({one(1, 500, 300, 1400)}, capped).warnings.empty());
}

TEST(MsmfAlone, AShapeUnderTheLimitIsKeptWithAWarningThatNothingShowsSaturation) {
  MsmfRules rules = validated();
  rules.power_limit_w = 700;
  const MsmfChoice choice = pick({one(1, 500, 678, 1400)}, rules);
  EXPECT_EQ(winner(choice), 1);
  EXPECT_FALSE(choice.saturated_clock_mhz);
  EXPECT_TRUE(
      warns(choice, "drew 678 W, under 97 % of the 700 W limit, and no power cap was seen"));
  EXPECT_TRUE(warns(pick({kAnchor}), "the device's power limit is not known"));
}

TEST(MsmfAlone, TheCheckLeavesSetsWithAnAnchorAlone) {
  const std::vector<Confirmed> set{kAnchor, one(2, 710, 600, 1400)};  // 2 is SUSPECT: one is left
  MsmfRules rules = validated();
  const MsmfChoice without = pick(set, rules);
  rules.power_limit_w = 2000;
  const MsmfChoice with = pick(set, rules);
  EXPECT_EQ(winner(with), winner(without));
  EXPECT_EQ(with.saturated_clock_mhz, without.saturated_clock_mhz);
  EXPECT_TRUE(with.warnings.empty());
}

// --- lock-in ----------------------------------------------------------------------------------

struct Lab {
  std::map<std::int64_t, Confirmed> second;  // by M: what the re-measurement gives
  std::vector<std::pair<std::int64_t, int>> asked;

  MsmfChoice choose(const std::vector<Confirmed>& set, const Knobs& knobs = Knobs{},
                    const MsmfRules& rules = validated()) {
    return select_msmf(set, rules, knobs, [this](GemmShape shape, int reps) {
      asked.emplace_back(shape.m, reps);
      return second.at(shape.m);
    });
  }
};

TEST(MsmfLockIn, TheReMeasuredValuesReplaceTheResult) {
  Lab lab{{{2, one(2, 705, 695, 1405, 0.5)}}, {}};
  const MsmfChoice choice = lab.choose({kAnchor, one(2, 710, 690, 1420)});
  EXPECT_EQ(lab.asked, (std::vector<std::pair<std::int64_t, int>>{{2, 9}}));
  EXPECT_EQ(choice.headline->tflops, 705);
  EXPECT_EQ(choice.headline->power_w, 695);
  EXPECT_EQ(choice.headline->clock_mhz, 1405);
  EXPECT_EQ(choice.headline->spread_percent, 0.5);
  ASSERT_EQ(choice.locks.size(), 1u);
  EXPECT_TRUE(choice.locks[0].accepted);
  EXPECT_TRUE(choice.warnings.empty());
}

TEST(MsmfLockIn, AJitteryOrBoostingLeaderIsRejectedAndTheNextAccepted) {
  Lab lab{{{2, one(2, 710, 660, 1700, 4)}, {3, one(3, 700, 700, 1400)}}, {}};
  const MsmfChoice choice = lab.choose({kAnchor, one(3, 705, 700, 1400), one(2, 710, 690, 1420)});
  EXPECT_EQ(winner(choice), 3);
  ASSERT_EQ(choice.locks.size(), 2u);
  EXPECT_FALSE(choice.locks[0].accepted);
  EXPECT_EQ(choice.locks[0].reason, "spread 4.0% > 3%; clock 1700MHz > 1400*1.04 saturated floor");
  EXPECT_TRUE(choice.locks[1].accepted);
  EXPECT_TRUE(choice.warnings.empty());
}

TEST(MsmfLockIn, WhereAllAreRejectedTheLastTriedIsKeptWithAWarning) {
  Lab lab;
  std::vector<Confirmed> set{kAnchor};
  for (int m = 2; m <= 7; ++m) {
    set.push_back(one(m, 720 - m, 695, 1410));
    lab.second[m] = one(m, 600 + m, 695, 1410, 8);
  }
  const MsmfChoice choice = lab.choose(set);
  EXPECT_EQ(lab.asked, (std::vector<std::pair<std::int64_t, int>>{{2, 9}, {3, 9}, {4, 9}, {5, 9}}));
  EXPECT_EQ(winner(choice), 5);
  EXPECT_EQ(choice.headline->tflops, 605);
  EXPECT_TRUE(choice.locks.back().accepted);
  EXPECT_EQ(choice.locks.back().reason, "still jittery");
  EXPECT_TRUE(warns(choice, "best-available fallback (still jittery)"));
}

TEST(MsmfLockIn, TriesAreAtLeastOne) {
  Knobs knobs;
  knobs.msmf_lock_tries = 0;
  Lab lab{{{2, one(2, 710, 690, 1420, 5)}}, {}};
  EXPECT_EQ(winner(lab.choose({kAnchor, one(2, 710, 690, 1420)}, knobs)), 2);
  EXPECT_EQ(lab.asked.size(), 1u);
}

TEST(MsmfLockIn, IsLeftOutWhereItWouldNotRepeatMoreThanTheConfirm) {
  Knobs knobs;
  knobs.msmf_lock_reps = 5;
  Lab lab;
  EXPECT_EQ(lab.choose({kAnchor}, knobs).headline->tflops, 700);
  EXPECT_TRUE(lab.asked.empty());
}

TEST(MsmfLockIn, ReadingsThatWereLostStandAsConfirmed) {
  Lab lab{{{2, one(2, 705, {}, {})}}, {}};
  const MsmfChoice choice = lab.choose({kAnchor, one(2, 710, 690, 1420)});
  EXPECT_EQ(choice.headline->power_w, 690);
  EXPECT_EQ(choice.headline->clock_mhz, 1420);
}

TEST(MsmfLockIn, EqualLeadersAreTriedInTheOrderConfirmed) {
  Lab lab{{{3, one(3, 700, 700, 1400, 9)}, {2, one(2, 700, 700, 1400)}}, {}};
  const MsmfChoice choice = lab.choose({one(3, 710, 700, 1400), one(2, 710, 700, 1400)});
  EXPECT_EQ(lab.asked, (std::vector<std::pair<std::int64_t, int>>{{3, 9}, {2, 9}}));
  EXPECT_EQ(winner(choice), 2);
}

TEST(MsmfLockIn, WhereNothingCanBeReMeasuredTheLeadersFirstRepeatsStandWithAWarning) {
  Lab lab;
  lab.second[1] = lab.second[2] = Confirmed{};
  const MsmfChoice choice = lab.choose({kAnchor, one(2, 710, 690, 1420)});
  EXPECT_EQ(winner(choice), 2);
  EXPECT_EQ(choice.headline->tflops, 710);
  EXPECT_TRUE(warns(choice, "could not be re-measured"));
}

TEST(MsmfLockIn, AnUnmeasurableLastTryDoesNotDisplaceARejectedOneThatWasMeasured) {
  Lab lab{{{2, one(2, 708, 690, 1420, 6)}, {1, Confirmed{}}}, {}};
  const MsmfChoice choice = lab.choose({kAnchor, one(2, 710, 690, 1420)});
  EXPECT_EQ(winner(choice), 2);
  EXPECT_EQ(choice.headline->tflops, 708);
  EXPECT_TRUE(warns(choice, "still jittery"));
}

// --- properties -------------------------------------------------------------------------------

// The rules of F4 written out again, naively.
struct Naive {
  double highest = 0;
  Readings anchor;
  explicit Naive(const std::vector<Confirmed>& set) {
    for (const Confirmed& r : set) highest = std::max(highest, r.power_w.value_or(0));
    for (const Confirmed& r : set)
      if (r.power_w && r.clock_mhz && *r.power_w >= 0.97 * highest)
        anchor = std::min(anchor.value_or(1e9), *r.clock_mhz);
  }
  bool excluded(const Confirmed& r) const {
    const bool suspect = r.power_w && *r.power_w < 0.9 * highest;
    const bool boosting = anchor && r.clock_mhz && *r.clock_mhz > *anchor * 1.04 &&
                          !(r.power_w && *r.power_w >= 0.97 * highest);
    return suspect || boosting || r.spread_percent > 3;
  }
};

std::vector<Confirmed> random_set(std::mt19937& random) {
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  const auto maybe = [&](double low, double high) -> Readings {
    return random() % 10 == 0 ? std::nullopt : Readings(between(low, high));
  };
  std::vector<Confirmed> set;
  const int count = 2 + static_cast<int>(random() % 9);
  for (int m = 1; m <= count; ++m) {
    set.push_back(one(m, between(600, 800), maybe(560, 700), maybe(1350, 1900), between(0, 5)));
  }
  return set;
}

TEST(MsmfProperty, AnExcludedShapeIsNeverTheHeadlineWhileAnotherIsNotExcluded) {
  std::mt19937 random(20240117);
  int with_choice = 0, without = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    const std::vector<Confirmed> set = random_set(random);
    const Naive naive(set);
    const MsmfChoice choice = pick(set);
    ASSERT_TRUE(choice.headline);
    std::optional<double> best;
    for (const Confirmed& r : set)
      if (!naive.excluded(r)) best = std::max(best.value_or(0), r.tflops);
    best ? ++with_choice : ++without;
    if (!best) continue;
    EXPECT_FALSE(naive.excluded(*choice.headline)) << trial;
    EXPECT_EQ(choice.headline->tflops, *best) << trial;
  }
  EXPECT_GT(with_choice, 1000);
  EXPECT_GT(without, 1000);
}

TEST(MsmfProperty, LockInNeverLeavesTheEligibleShapesNorTriesMoreThanItMay) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 5000; ++trial) {
    const std::vector<Confirmed> set = random_set(random);
    const Naive naive(set);
    const bool any =
        std::any_of(set.begin(), set.end(), [&](const Confirmed& r) { return !naive.excluded(r); });
    int asked = 0;
    const MsmfChoice choice = select_msmf(set, validated(), Knobs{}, [&](GemmShape shape, int) {
      ++asked;
      const Confirmed& before = set[static_cast<std::size_t>(shape.m - 1)];
      EXPECT_FALSE(any && naive.excluded(before)) << trial;
      Confirmed out = before;
      out.spread_percent = std::uniform_real_distribution<double>(0, 6)(random);
      return out;
    });
    EXPECT_LE(asked, 4);
    ASSERT_TRUE(choice.headline);
    EXPECT_EQ(choice.locks.size(), static_cast<std::size_t>(asked));
    EXPECT_EQ(choice.locks.back().result.shape, choice.headline->shape);
  }
}

}  // namespace
}  // namespace gemmpeak::search
