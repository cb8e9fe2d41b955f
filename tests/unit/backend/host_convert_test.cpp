#include "backend/host_convert.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>

namespace gemmpeak {
namespace {

constexpr std::array<const FloatFormat*, 6> kFormats{&kBfloat16, &kFloat16,  &kE4m3fn,
                                                     &kE5m2,     &kE4m3fnuz, &kE2m1};

TEST(HostConvert, EveryPatternOfEveryFormatSurvivesDecodeAndEncode) {
  for (const FloatFormat* format : kFormats)
    for (std::uint32_t bits = 0; bits < (1u << format->bits()); ++bits) {
      const double value = decode_float(bits, *format);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(decode_float(encode_float(value, *format), *format)));
        continue;
      }
      // 8-bit conversions saturate, so their infinities come back as the largest finite value.
      if (std::isinf(value) && format->bits() == 8) continue;
      ASSERT_EQ(encode_float(value, *format), bits) << format->bits() << " bits, " << value;
    }
}

TEST(HostConvert, TheLandmarksOfEachFormatAreThoseOfItsSpecification) {
  EXPECT_EQ(decode_float(0x3F80, kBfloat16), 1.0);
  EXPECT_EQ(decode_float(0x7BFF, kFloat16), 65504.0);
  EXPECT_EQ(decode_float(0x0001, kFloat16), 0x1p-24);
  EXPECT_EQ(decode_float(0x7E, kE4m3fn), 448.0);
  EXPECT_TRUE(std::isnan(decode_float(0x7F, kE4m3fn)));
  EXPECT_EQ(decode_float(0x38, kE4m3fn), 1.0);
  EXPECT_EQ(decode_float(0x01, kE4m3fn), 0x1p-9);
  EXPECT_EQ(decode_float(0x7B, kE5m2), 57344.0);
  EXPECT_TRUE(std::isinf(decode_float(0x7C, kE5m2)));
  EXPECT_EQ(decode_float(0x7F, kE4m3fnuz), 240.0);
  EXPECT_TRUE(std::isnan(decode_float(0x80, kE4m3fnuz)));
  EXPECT_EQ(decode_float(0x40, kE4m3fnuz), 1.0);
  const double e2m1[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (std::uint32_t bits = 0; bits < 8; ++bits) EXPECT_EQ(decode_float(bits, kE2m1), e2m1[bits]);
}

TEST(HostConvert, TiesRoundToEvenAndLargeValuesSaturateIn8BitsAndOverflowIn16) {
  EXPECT_EQ(decode_float(encode_float(1.0 + 0x1p-8, kBfloat16), kBfloat16), 1.0);
  EXPECT_EQ(decode_float(encode_float(1.0 + 3 * 0x1p-8, kBfloat16), kBfloat16), 1.0 + 0x1p-6);
  EXPECT_EQ(decode_float(encode_float(17, kE4m3fn), kE4m3fn), 16.0);
  EXPECT_EQ(decode_float(encode_float(19, kE4m3fn), kE4m3fn), 20.0);
  EXPECT_EQ(decode_float(encode_float(0x1p-10, kE4m3fn), kE4m3fn), 0.0);
  EXPECT_EQ(decode_float(encode_float(1e9, kE4m3fn), kE4m3fn), 448.0);
  EXPECT_EQ(decode_float(encode_float(-1e9, kE4m3fnuz), kE4m3fnuz), -240.0);
  EXPECT_EQ(decode_float(encode_float(2.5, kE2m1), kE2m1), 2.0);
  EXPECT_TRUE(std::isinf(decode_float(encode_float(65520.0, kFloat16), kFloat16)));
  EXPECT_EQ(decode_float(encode_float(65519.0, kFloat16), kFloat16), 65504.0);
  EXPECT_TRUE(std::isinf(
      decode_float(encode_float(std::numeric_limits<double>::infinity(), kBfloat16), kBfloat16)));
}

TEST(HostConvert, Bfloat16AgreesWithTheUpperHalfOfAFloat) {
  for (const float x : {1.0F, -3.14159F, 1e-30F, 65000.0F, 0.1F, -1e30F}) {
    std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
    bits += 0x7FFF + ((bits >> 16) & 1);
    EXPECT_EQ(encode_float(x, kBfloat16), bits >> 16) << x;
  }
}

TEST(HostConvert, ElementsAreStoredAndLoadedInPlaceForEveryDtypeOfTheTable) {
  for (const DTypeInfo& row : dtype_table()) {
    std::array<std::uint8_t, 64> bytes{};
    for (int i = 0; i < 5; ++i) store_element(row.dtype, bytes.data(), i, i - 2);
    for (int i = 0; i < 5; ++i)
      EXPECT_EQ(load_element(row.dtype, bytes.data(), i), i - 2) << row.name << " " << i;
    for (std::size_t i = static_cast<std::size_t>(dtype_bytes(row.dtype, 5)); i < bytes.size(); ++i)
      EXPECT_EQ(bytes[i], 0) << row.name << " wrote past its elements";
  }
}

TEST(HostConvert, IntegersSaturateAndTakeNanAsZero) {
  std::array<std::int8_t, 3> bytes{};
  store_element(DType::int8, bytes.data(), 0, 1000);
  store_element(DType::int8, bytes.data(), 1, -1000);
  store_element(DType::int8, bytes.data(), 2, std::nan(""));
  EXPECT_EQ(bytes, (std::array<std::int8_t, 3>{127, -128, 0}));
}

TEST(HostConvert, SmallestNormalsAreTheTypesOwn) {
  for (const DTypeInfo& row : dtype_table()) {
    const double smallest = smallest_normal(row.dtype);
    const FloatFormat* format = small_format(row.dtype);
    if (format == nullptr) continue;
    const std::uint32_t bits = encode_float(smallest, *format);
    EXPECT_EQ(bits, 1u << format->mantissa_bits) << row.name;
  }
}

}  // namespace
}  // namespace gemmpeak
