// The plain values: dtypes, problems, outcomes, throttle bits, devices, shapes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json.hpp"
#include "filled_records.hpp"
#include "model/device_info.hpp"
#include "model/dtype.hpp"
#include "model/outcome.hpp"
#include "model/problem.hpp"
#include "model/reading.hpp"

namespace gemmpeak {
namespace {

using testing::ElementsAre;

TEST(DType, EachHasOneRowWithANameOfItsOwn) {
  std::set<std::string_view> names;
  for (const DTypeInfo& row : dtype_table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(parse_dtype(row.name), row.dtype);
    EXPECT_EQ(dtype_name(row.dtype), row.name);
    EXPECT_EQ(&dtype_info(row.dtype), &row);
    EXPECT_FALSE(row.about.empty());
  }
  EXPECT_EQ(names.size(), 13u);
}

TEST(DType, OnlyExactNamesAreParsed) {
  for (const char* name : {"", "bf16", "BFLOAT16", "bfloat16 ", "float"})
    EXPECT_EQ(parse_dtype(name), std::nullopt) << name;
}

TEST(DType, TheReferencesChoicesAreMarkedAndCanBeInputs) {
  std::vector<std::string_view> names;
  for (const DTypeInfo& row : dtype_table()) {
    if (row.reference) names.push_back(row.name);
    EXPECT_TRUE(row.input || !row.reference);
  }
  EXPECT_THAT(names,
              testing::UnorderedElementsAre("bfloat16", "float16", "float32", "float8_e4m3fn",
                                            "float8_e4m3fnuz", "mxfp8", "mxfp4", "nvfp4"));
}

TEST(DType, SizesAreTheReferences) {
  std::ifstream file(std::string(GEMMPEAK_TEST_DATA) + "/golden/reference/dtype_element_size.json");
  const Json document = Json::parse(file, nullptr, false);
  ASSERT_TRUE(document.contains("cases"));
  for (const Json& item : document["cases"]) {
    const auto dtype = parse_dtype(item["in"]["dtype"].get<std::string>());
    ASSERT_TRUE(dtype) << item;
    EXPECT_EQ(dtype_info(*dtype).bits / 8.0, item["out"].get<double>()) << item;
  }
}

TEST(DType, BytesRoundUpAndAlignmentFills128Bytes) {
  EXPECT_EQ(dtype_bytes(DType::nvfp4, 3), 2);
  EXPECT_EQ(dtype_bytes(DType::bfloat16, std::int64_t{1} << 32), std::int64_t{1} << 33);
  EXPECT_EQ(dtype_alignment_elements(DType::bfloat16), 64);
  EXPECT_EQ(dtype_alignment_elements(DType::float8_e4m3fn), 128);
  EXPECT_EQ(dtype_alignment_elements(DType::mxfp4), 256);
  EXPECT_EQ(dtype_alignment_elements(DType::float32), 32);
  EXPECT_EQ(dtype_alignment_elements(DType::float64), 16);
}

TEST(DType, RoundoffAndLargestValueAgreeWithTheFormats) {
  EXPECT_EQ(dtype_info(DType::float16).max_finite, (2 - std::ldexp(1, -10)) * 32768);
  EXPECT_EQ(dtype_info(DType::float8_e4m3fn).max_finite, 448);
  EXPECT_EQ(dtype_info(DType::float32).unit_roundoff, std::ldexp(1, -24));
  EXPECT_EQ(dtype_info(DType::int8).unit_roundoff, 0);
  // The block-scaled formats write bfloat16.
  EXPECT_EQ(dtype_info(DType::nvfp4).unit_roundoff, dtype_info(DType::bfloat16).unit_roundoff);
}

TEST(DType, OnlyTheFp4FormatsLimitK) {
  for (const DTypeInfo& row : dtype_table())
    EXPECT_EQ(row.k_multiple, row.bits == 4 ? 32 : 1) << row.name;
}

TEST(Problem, TheReferencesIsTnWithTheTablesOutput) {
  const GemmProblem problem = reference_problem(DType::int8, {1, 2, 3});
  EXPECT_EQ(problem.layout, Layout::tn);
  EXPECT_EQ(problem.output, DType::int32);
  EXPECT_FALSE(problem.fast_accumulation);
  EXPECT_EQ(problem.shape, (GemmShape{1, 2, 3}));
}

TEST(Problem, NamesOfLayoutsAndDataComeBack) {
  for (const Layout layout : {Layout::tn, Layout::nt, Layout::nn, Layout::tt})
    EXPECT_EQ(parse_layout(layout_name(layout)), layout);
  for (const DataKind kind :
       {DataKind::normal, DataKind::uniform, DataKind::zeros, DataKind::ones, DataKind::ints})
    EXPECT_EQ(parse_data_kind(data_kind_name(kind)), kind);
  EXPECT_EQ(parse_layout("TN"), std::nullopt);
  EXPECT_EQ(parse_data_kind("gaussian"), std::nullopt);
}

TEST(Outcome, NamesComeBackAndAreAllDifferent) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(OutcomeState::error); ++i) {
    const auto state = static_cast<OutcomeState>(i);
    EXPECT_EQ(parse_outcome(outcome_name(state)), state);
    names.insert(outcome_name(state));
  }
  EXPECT_EQ(names.size(), 10u);
  EXPECT_EQ(parse_outcome("fine"), std::nullopt);
}

TEST(ThrottleNames, NameEverySetBitAndKeepUnknownOnes) {
  EXPECT_TRUE(throttle_names(0).empty());
  EXPECT_THAT(throttle_names(0x24), ElementsAre("power cap", "software thermal"));
  EXPECT_THAT(throttle_names(0x1 | 0x200), ElementsAre("idle", "bit 0x200"));
  EXPECT_THAT(throttle_names(std::uint64_t{1} << 63), ElementsAre("bit 0x8000000000000000"));
}

TEST(DeviceInfo, PeakIsUnitsTimesFlopPerClockTimesClock) {
  const DeviceInfo device = filled_device();  // 132 units, 4096 flop per clock
  EXPECT_DOUBLE_EQ(peak_flop_per_s(device, DType::bfloat16, 1830).value(), 132 * 4096 * 1830e6);
  EXPECT_EQ(peak_flop_per_s(device, DType::float64, 1830), std::nullopt);
  DeviceInfo unknown = device;
  unknown.units = 0;
  EXPECT_EQ(peak_flop_per_s(unknown, DType::bfloat16, 1830), std::nullopt);
}

TEST(DeviceInfo, IdentityTellsDevicesAndVersionsApartButNotTheirIndex) {
  const DeviceInfo device = filled_device();
  DeviceInfo other = device;
  other.id = "sim:other";
  EXPECT_EQ(other.identity(), device.identity());
  other.uuid = "GPU-5678";
  EXPECT_NE(other.identity(), device.identity());
  other = device;
  other.versions["driver"] = "571.0";
  EXPECT_NE(other.identity(), device.identity());
}

TEST(GemmShape, FlopDoesNotOverflowAndOrderIsByMThenNThenK) {
  const GemmShape huge{1 << 21, 1 << 21, 1 << 21};
  EXPECT_EQ(huge.flop(), std::ldexp(1, 64));
  EXPECT_LT((GemmShape{1, 9, 9}), (GemmShape{2, 1, 1}));
  EXPECT_EQ((GemmShape{1, 2, 3}).str(), "1x2x3");
}

}  // namespace
}  // namespace gemmpeak
