#include <gtest/gtest.h>

#include "search/candidates.hpp"

namespace gemmpeak::search {
namespace {

using Values = std::vector<std::int64_t>;

std::string refusal(const Result<Values>& result) {
  return result.ok() ? "" : result.error().message();
}

Result<Values> range(Values numbers) { return dimension_range("--k_range", numbers); }
Result<Values> values(Values numbers) { return dimension_values("--n", numbers); }

TEST(DimensionRange, StopIsExclusive) {
  EXPECT_EQ(*range({256, 1024, 256}), (Values{256, 512, 768}));
  EXPECT_EQ(*range({256, 1025, 256}), (Values{256, 512, 768, 1024}));
}

TEST(DimensionRange, StartZeroMeansStartAtTheStep) {
  EXPECT_EQ(*range({0, 1024, 256}), (Values{256, 512, 768}));
  EXPECT_EQ(*range({0, 1024}), (Values{256, 512, 768}));
}

TEST(DimensionRange, StepIs256WhereItIsLeftOut) {
  EXPECT_EQ(*range({100, 700}), (Values{100, 356, 612}));
}

TEST(DimensionRange, ANegativeStepCountsDown) {
  EXPECT_EQ(*range({1024, 0, -256}), (Values{1024, 768, 512, 256}));
  EXPECT_EQ(*range({1000, 300, -256}), (Values{1000, 744, 488}));
}

TEST(DimensionRange, RefusalsNameTheOptionTheNumbersAndTheReason) {
  EXPECT_EQ(refusal(range({128, 1024, 0})), "--k_range 128 1024 0: STEP cannot be 0");
  EXPECT_EQ(refusal(range({-512, 512, 256})), "--k_range -512 512 256: START -512 is negative");
  EXPECT_EQ(refusal(range({512, -512, -256})), "--k_range 512 -512 -256: STOP -512 is negative");
  EXPECT_EQ(refusal(range({1024, 256, 256})), "--k_range 1024 256 256: the range is empty");
  EXPECT_EQ(refusal(range({256, 256})), "--k_range 256 256: the range is empty");
  EXPECT_EQ(refusal(range({256, 1024, -256})), "--k_range 256 1024 -256: the range is empty");
  EXPECT_EQ(refusal(range({2147483648, 3000000000, 1})),
            "--k_range 2147483648 3000000000 1: START 2147483648 is over 2147483647");
  EXPECT_EQ(refusal(range({1, 5000000000, 4000000})),
            "--k_range 1 5000000000 4000000: STOP 5000000000 is over 2147483647");
  EXPECT_EQ(refusal(range({1, 10, 3000000000})),
            "--k_range 1 10 3000000000: STEP 3000000000 is over 2147483647");
  EXPECT_EQ(refusal(range({128})), "--k_range: needs START STOP [STEP], got 1 value");
  EXPECT_EQ(refusal(range({0, 1, 2, 3})), "--k_range: needs START STOP [STEP], got 4 values");
}

TEST(DimensionRange, TheLargestDimensionCanBeReached) {
  EXPECT_EQ(*range({2147483647, 2147483648, 1}), (Values{2147483647}));
}

TEST(DimensionRange, ARangeNobodyCanMeasureIsRefusedBeforeItIsBuilt) {
  EXPECT_NE(refusal(range({1, 2147483647, 1})).find("2147483646 values"), std::string::npos);
}

TEST(DimensionValues, DuplicatesAreKeptOnceInTheOrderGiven) {
  EXPECT_EQ(*values({512, 128, 512, 256, 128}), (Values{512, 128, 256}));
}

TEST(DimensionValues, RefusalsNameTheOptionAndTheValue) {
  EXPECT_EQ(refusal(values({128, 0})), "--n 0: a dimension cannot be 0");
  EXPECT_EQ(refusal(values({-128})), "--n -128: -128 is negative");
  EXPECT_EQ(refusal(values({2147483648})), "--n 2147483648: 2147483648 is over 2147483647");
  EXPECT_EQ(refusal(values({})), "--n: needs at least one value");
  EXPECT_TRUE(values({2147483647}).ok());
}

TEST(GridProduct, MIsOutermostAndKInnermostAndEachShapeComesOnce) {
  const Values m{1, 2}, n{3}, k{4, 5, 4};
  EXPECT_EQ(grid_product(m, n, k),
            (std::vector<GemmShape>{{1, 3, 4}, {1, 3, 5}, {2, 3, 4}, {2, 3, 5}}));
}

TEST(GridProduct, AGridNobodyCanMeasureIsRefusedBeforeItIsBuilt) {
  EXPECT_FALSE(grid_too_large(100, 100, 1000));
  const auto why = grid_too_large(1000000, 1000000, 1000000);
  ASSERT_TRUE(why);
  EXPECT_NE(why->find("1e+18 shapes"), std::string::npos) << *why;
}

std::string file_error(const std::string& text) {
  const auto shapes = parse_shapes("my.txt", text);
  return shapes.ok() ? "" : shapes.error().message();
}

TEST(ShapesFile, BlanksCommasAndXSeparateAndHashesComment) {
  const auto shapes = parse_shapes("f", "1,2,3 # first\n# none\n\n 4x5X6 \r\n7 8\t9\n10, 11 x 12");
  ASSERT_TRUE(shapes.ok()) << shapes.error().message();
  EXPECT_EQ(*shapes, (std::vector<GemmShape>{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {10, 11, 12}}));
}

TEST(ShapesFile, AShapeGivenTwiceIsMeasuredOnce) {
  EXPECT_EQ(parse_shapes("f", "1,2,3\n3,2,1\n1x2x3\n")->size(), 2u);
}

TEST(ShapesFile, ErrorsNameTheFileTheLineAndTheText) {
  EXPECT_EQ(file_error("1,2,3\n\n4,5\n"), "my.txt:3: expected M,N,K, got '4,5'");
  EXPECT_EQ(file_error("a,b,c"), "my.txt:1: expected M,N,K, got 'a,b,c'");
  EXPECT_EQ(file_error("1,2,3.5"), "my.txt:1: expected M,N,K, got '1,2,3.5'");
  EXPECT_EQ(file_error("1,2,"), "my.txt:1: expected M,N,K, got '1,2,'");
  EXPECT_EQ(file_error("1\t2"), "my.txt:1: expected M,N,K, got '1\\t2'");
  EXPECT_EQ(file_error("0,2,3"), "my.txt:1: a dimension cannot be 0, got '0,2,3'");
  EXPECT_EQ(file_error("1,-2,3"), "my.txt:1: -2 is negative, got '1,-2,3'");
  EXPECT_EQ(file_error("1,2,2147483648"),
            "my.txt:1: 2147483648 is over 2147483647, got '1,2,2147483648'");
  EXPECT_EQ(file_error("99999999999999999999,2,3"),
            "my.txt:1: 99999999999999999999 is not within 1..2147483647, got "
            "'99999999999999999999,2,3'");
}

TEST(ShapesFile, NoShapesAtAllIsAnError) {
  EXPECT_EQ(file_error("# nothing\n"),
            "no shapes to search in exact shapes from my.txt (0 shapes)");
}

TEST(Alignment, TheSentenceListsEveryBadValueByDimension) {
  const std::vector<GemmShape> shapes{
      {128, 128, 33}, {128, 128, 64}, {128, 128, 35}, {128, 128, 33}};
  EXPECT_EQ(alignment_violations(DType::mxfp4, shapes, {}),
            "--dtype mxfp4 needs K to be a multiple of 32, got K=33,35");
  const std::vector<GemmShape> many{{100, 7, 33}, {50, 16, 64}};
  const std::vector<int> multiples{1, 8, 16};
  EXPECT_EQ(
      alignment_violations(DType::float8_e4m3fn, many, multiples),
      "--dtype float8_e4m3fn needs N to be a multiple of 8, got N=7; K to be a multiple of 16, "
      "got K=33");
}

TEST(Alignment, TheFormatsOwnRuleAndTheLibrarysBothHold) {
  const std::vector<GemmShape> shapes{{16, 16, 32}};
  EXPECT_FALSE(alignment_violations(DType::nvfp4, shapes, std::vector<int>{1, 1, 16}));
  EXPECT_TRUE(alignment_violations(DType::nvfp4, shapes, std::vector<int>{1, 1, 64}));
  EXPECT_FALSE(alignment_violations(DType::bfloat16, std::vector<GemmShape>{{1, 3, 7}}, {}));
  EXPECT_FALSE(alignment_violations(DType::bfloat16, std::vector<GemmShape>{{1, 3, 7}},
                                    std::vector<int>{0, 0, 0}));
}

}  // namespace
}  // namespace gemmpeak::search
