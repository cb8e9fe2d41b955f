#include "substrate/own_gemm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/float_math.hpp"
#include "substrate/counter_rng.hpp"
#include "substrate/element_gate.hpp"

namespace gemmpeak::substrate {
namespace {

std::vector<float> normals(std::uint64_t stream, std::int64_t count) {
  std::vector<float> out(static_cast<std::size_t>(count));
  const std::uint64_t key = stream_key(11, stream);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = counter_normal(key, i);
  return out;
}

// One site's data; the output starts as NaN.
struct Problem {
  Problem(std::int64_t od, std::int64_t id, std::int64_t tokens, Epilogue epilogue)
      : weights(normals(1, od * id)),
        bias(normals(2, od)),
        in(normals(3, tokens * id)),
        residual(normals(4, tokens * od)),
        out(static_cast<std::size_t>(tokens * od), std::numeric_limits<float>::quiet_NaN()),
        desc{od, id, tokens, weights.data(), bias.data(), epilogue} {}

  const float* residual_or_null() const {
    return desc.epilogue == Epilogue::bias_residual ? residual.data() : nullptr;
  }
  GateVerdict check() const {
    return check_site(desc, in.data(), residual_or_null(), out.data(), kFloat32Rule);
  }

  std::vector<float> weights, bias, in, residual, out;
  SiteGemmDesc desc;
};

constexpr Epilogue kEpilogues[] = {Epilogue::bias, Epilogue::bias_residual, Epilogue::bias_gelu};

TEST(OwnGemm, EveryTileSplitAndEpilogueIsRightElementByElement) {
  double worst = 0.0;
  for (Epilogue epilogue : kEpilogues) {
    for (const TileConfig& tile : tile_configs()) {
      for (int split : tile_splits()) {
        Problem p(256, 512, 128, epilogue);
        auto gemm = make_own_gemm(p.desc, tile, split);
        const auto refusal = tile_refusal(tile, split, 256, 512, 128);
        ASSERT_EQ(gemm.ok(), !refusal) << tile.str() << " split " << split;
        if (!gemm) continue;
        (*gemm)->run(p.in.data(), p.residual_or_null(), p.out.data());
        const GateVerdict verdict = p.check();
        EXPECT_TRUE(verdict.passed()) << tile.str() << " split " << split << ": " << verdict.str();
        worst = std::fmax(worst, verdict.worst_ratio);
      }
    }
  }
  std::printf("worst error: %.3f of its bound\n", worst);
  EXPECT_LT(worst, 0.5);
}

TEST(OwnGemm, RepeatsItselfBitForBit) {
  Problem p(128, 256, 64, Epilogue::bias_gelu);
  auto gemm = make_own_gemm(p.desc, tile_configs()[0], 4);
  ASSERT_TRUE(gemm.ok());
  (*gemm)->run(p.in.data(), nullptr, p.out.data());
  const std::vector<float> first = p.out;
  for (int i = 0; i < 5; ++i) {
    (*gemm)->run(p.in.data(), nullptr, p.out.data());
    ASSERT_EQ(p.out, first);
  }
}

TEST(OwnGemm, ShapesThatTheTileDoesNotDivideAreRefusedWithTheReason) {
  Problem p(96, 64, 32, Epilogue::bias);
  const auto gemm = make_own_gemm(p.desc, tile_configs()[0], 1);
  ASSERT_FALSE(gemm.ok());
  EXPECT_THAT(gemm.error().message(), ::testing::HasSubstr("96 outputs are no multiple of bn 64"));
}

TEST(RowGemm, IsRightAtAwkwardSizes) {
  for (Epilogue epilogue : kEpilogues) {
    Problem p(77, 53, 3, epilogue);
    make_row_gemm(p.desc)->run(p.in.data(), p.residual_or_null(), p.out.data());
    EXPECT_TRUE(p.check().passed()) << p.check().str();
  }
}

TEST(ElementGate, AnyOneZeroedTileTripsItAtEverySite) {
  const TransformerSpec spec;
  constexpr std::int64_t kTile = 64;
  for (Site site : kSites) {
    const SiteShape shape = site_shape(spec, site);
    Problem p(shape.od, shape.id, shape.tokens, shape.epilogue);
    make_row_gemm(p.desc)->run(p.in.data(), p.residual_or_null(), p.out.data());
    ASSERT_TRUE(p.check().passed()) << p.check().str();
    const std::vector<float> right = p.out;
    // The first, the last and one tile between stand for all: each element is judged alone.
    for (const auto& [row, column] : {std::pair<std::int64_t, std::int64_t>{0, 0},
                                      {shape.tokens - kTile, shape.od - kTile},
                                      {0, shape.od / 2}}) {
      p.out = right;
      for (std::int64_t r = row; r < row + kTile; ++r) {
        std::fill_n(p.out.data() + r * shape.od + column, kTile, 0.0f);
      }
      const GateVerdict verdict = p.check();
      // GELU of a negative z of this size is zero, so half of w1's zeros are right.
      const std::int64_t wrong =
          shape.epilogue == Epilogue::bias_gelu ? kTile * kTile / 2 : kTile * kTile;
      EXPECT_GT(verdict.failures, wrong * 9 / 10) << site_name(site);
      EXPECT_LE(verdict.failures, kTile * kTile) << site_name(site);
      EXPECT_EQ(verdict.first_row, row);
      EXPECT_GE(verdict.first_column, column);
    }
  }
}

TEST(ElementGate, NotFiniteFailsAndOneWrongElementIsFound) {
  Problem p(64, 64, 32, Epilogue::bias_residual);
  make_row_gemm(p.desc)->run(p.in.data(), p.residual_or_null(), p.out.data());
  for (float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                    p.out[70] + 0.01f}) {
    const float right = p.out[70];
    p.out[70] = bad;
    EXPECT_EQ(p.check().failures, 1);
    EXPECT_EQ(p.check().first_row, 1);
    EXPECT_EQ(p.check().first_column, 6);
    p.out[70] = right;
  }
}

TEST(ElementGate, ASwappedPairOfOutputsIsFound) {
  Problem p(64, 64, 32, Epilogue::bias);
  make_row_gemm(p.desc)->run(p.in.data(), nullptr, p.out.data());
  std::swap(p.out[0], p.out[1]);
  EXPECT_EQ(p.check().failures, 2);
}

TEST(FloatMath, ExpAndGeluAreCloseToDouble) {
  double worst_exp = 0.0;
  double worst_gelu = 0.0;
  for (float x = -20.0f; x < 20.0f; x += 0.00137f) {
    const double wide = static_cast<double>(x);
    const double e = std::exp(wide);
    worst_exp = std::fmax(worst_exp, std::fabs(static_cast<double>(fast_exp(x)) - e) / e);
    const double u = std::sqrt(2.0 / M_PI) * (wide + 0.044715 * wide * wide * wide);
    const double g = 0.5 * wide * (1.0 + std::tanh(u));
    worst_gelu = std::fmax(worst_gelu, std::fabs(static_cast<double>(gelu_tanh(x)) - g));
  }
  EXPECT_LT(worst_exp, 2e-7);
  EXPECT_LT(worst_gelu, 2e-6);
  EXPECT_TRUE(std::isnan(fast_exp(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_TRUE(std::isnan(gelu_tanh(std::numeric_limits<float>::quiet_NaN())));
}

}  // namespace
}  // namespace gemmpeak::substrate
