#include "stats/stats.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

namespace gemmpeak::stats {
namespace {

using Values = std::vector<double>;

TEST(Stats, EmptySpansGiveTheirStatedValues) {
  const Values none;
  EXPECT_EQ(mean(none), 0);
  EXPECT_EQ(median(none), 0);
  EXPECT_EQ(quantile(none, 0.5), 0);
  EXPECT_EQ(minimum(none), 0);
  EXPECT_EQ(maximum(none), 0);
  EXPECT_EQ(geometric_mean(none), 0);
  EXPECT_EQ(standard_deviation(none), 0);
  EXPECT_EQ(coefficient_of_variation(none), 1);  // its mean is 0
  EXPECT_EQ(trimmed_median(none), 0);
  EXPECT_EQ(spread_percent(none), 0);
  EXPECT_EQ(median_or_none(none), std::nullopt);
  EXPECT_EQ(median_absolute_deviation(none), 0);
}

TEST(Stats, MeansAndDeviationsOfKnownSeries) {
  const Values xs = {2, 4, 4, 4, 5, 5, 7, 9};
  EXPECT_DOUBLE_EQ(mean(xs), 5);
  EXPECT_DOUBLE_EQ(standard_deviation(xs), 2);  // dividing by n, not n - 1
  EXPECT_DOUBLE_EQ(coefficient_of_variation(xs), 0.4);
  EXPECT_DOUBLE_EQ(geometric_mean(Values{1, 10, 100}), 10);
  EXPECT_EQ(minimum(xs), 2);
  EXPECT_EQ(maximum(xs), 9);
  EXPECT_EQ(coefficient_of_variation(Values{-1, 1}), 1);
}

TEST(Stats, DeviationOfLargeNearlyEqualValuesDoesNotCancel) {
  EXPECT_NEAR(standard_deviation(Values{1e9 + 1, 1e9 + 2, 1e9 + 3}), std::sqrt(2.0 / 3), 1e-6);
}

TEST(Stats, GeometricMeanOfManyLargeValuesDoesNotOverflow) {
  EXPECT_NEAR(geometric_mean(Values(1000, 1e200)) / 1e200, 1, 1e-9);
  EXPECT_EQ(geometric_mean(Values{3, 0}), 0);
}

TEST(Stats, MedianIsTheMiddleOrTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(median(Values{3, 1, 2}), 2);
  EXPECT_EQ(median(Values{4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median_or_none(Values{7}), 7);
}

TEST(Stats, QuantileInterpolatesLinearly) {
  const Values xs = {4, 1, 3, 2};
  EXPECT_EQ(quantile(xs, 0), 1);
  EXPECT_EQ(quantile(xs, 1), 4);
  EXPECT_DOUBLE_EQ(quantile(xs, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile(xs, 0.25), 1.75);  // type 7
  EXPECT_EQ(quantile(Values{5}, 0.3), 5);
}

TEST(Stats, MedianAbsoluteDeviationIgnoresOneOutlier) {
  EXPECT_EQ(median_absolute_deviation(Values{1, 2, 3, 4, 1000}), 1);
}

TEST(Stats, PlateauNeedsTwoWindows) {
  const Values flat(7, 100.0);
  EXPECT_FALSE(plateaued(flat, 4, 0.02, 0.01));
  EXPECT_TRUE(plateaued(Values(8, 100.0), 4, 0.02, 0.01));
  EXPECT_FALSE(plateaued(flat, 0, 0.02, 0.01));
}

TEST(Stats, PlateauRefusesDriftAndScatter) {
  // 2 % up from one window to the next, each flat.
  EXPECT_FALSE(plateaued(Values{100, 100, 100, 100, 102, 102, 102, 102}, 4, 0.02, 0.01));
  // Same means, but the last window scatters by 3 %.
  EXPECT_FALSE(plateaued(Values{100, 100, 100, 100, 103, 97, 103, 97}, 4, 0.02, 0.01));
  EXPECT_TRUE(
      plateaued(Values{1, 50, 100, 100, 100, 100, 100.5, 99.5, 100.5, 99.5}, 4, 0.02, 0.01));
  EXPECT_FALSE(plateaued(Values(8, 0.0), 4, 0.02, 0.01));
}

TEST(Stats, PlateauBoundsAreExclusive) {
  // Exactly 1/16 of drift in values that binary fractions hold exactly.
  const Values drifting = {16, 16, 17, 17};
  EXPECT_FALSE(plateaued(drifting, 2, 0.5, 0.0625));
  EXPECT_TRUE(plateaued(drifting, 2, 0.5, 0.0626));
}

nlohmann::json golden(const std::string& name) {
  std::ifstream file(std::string(GEMMPEAK_TEST_DATA) + "/golden/reference/" + name + ".json");
  return nlohmann::json::parse(file, nullptr, false);
}

void matches_reference(const std::string& name, double (*function)(std::span<const double>)) {
  const auto document = golden(name);
  ASSERT_TRUE(document.contains("cases")) << name;
  int compared = 0;
  for (const auto& item : document["cases"]) {
    const auto xs = item["in"]["xs"].get<Values>();
    const auto& out = item["out"];
    SCOPED_TRACE(item.dump());
    if (out.is_number()) {
      // numpy adds in another order: equal to the last digits.
      EXPECT_NEAR(function(xs), out.get<double>(), 1e-12 * std::abs(out.get<double>()));
    } else if (out == "inf") {
      EXPECT_EQ(function(xs), std::numeric_limits<double>::infinity());
    } else {
      // Better than the reference: no value, or only zeros, is 0 and not NaN.
      EXPECT_EQ(out, "nan");
      EXPECT_EQ(function(xs), 0);
    }
    ++compared;
  }
  EXPECT_GT(compared, 10);
}

TEST(Stats, TrimmedMedianIsTheReferences) { matches_reference("trimmed_median", trimmed_median); }
TEST(Stats, SpreadIsTheReferences) { matches_reference("spread_pct", spread_percent); }

}  // namespace
}  // namespace gemmpeak::stats
