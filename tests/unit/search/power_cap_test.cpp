// F4 where the sensor is instantaneous: the power-cap bit outranks the watts.
#include <gtest/gtest.h>

#include "search/selection.hpp"

namespace gemmpeak::search {
namespace {

Confirmed confirmed(GemmShape shape, double tflops, double power_w, double clock_mhz) {
  return {shape, tflops, power_w, clock_mhz, 1.0, {tflops}};
}

struct Set {
  GemmShape fat{8192, 8192, 8192}, fast{1536, 2816, 20480};
  // As read on an H200 with a cap of 700 W: both shapes were held at it.
  std::vector<Confirmed> shapes{confirmed(fat, 690, 720, 1440), confirmed(fast, 740, 642, 1600)};
  MsmfRules rules;
  Knobs knobs;
  Set() {
    rules.exclude = true;
    knobs.msmf_lock_reps = 0;
  }
};

TEST(PowerCap, AShapeHeldAtTheCapIsNeitherSuspectNorBoostingWhateverItsWatts) {
  Set set;
  set.rules.power_capped = {set.fat, set.fast};
  const auto choice = select_msmf(set.shapes, set.rules, set.knobs, {});
  ASSERT_TRUE(choice.headline.has_value());
  EXPECT_EQ(choice.headline->shape, set.fast);
}

TEST(PowerCap, TheSameShapeWithoutTheBitIsSuspect) {
  Set set;
  set.rules.power_capped = {set.fat};
  const auto choice = select_msmf(set.shapes, set.rules, set.knobs, {});
  ASSERT_TRUE(choice.headline.has_value());
  EXPECT_EQ(choice.headline->shape, set.fat);
}

}  // namespace
}  // namespace gemmpeak::search
