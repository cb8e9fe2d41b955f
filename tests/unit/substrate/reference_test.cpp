#include "substrate/reference.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>

#include "substrate/counter_rng.hpp"
#include "substrate/head.hpp"
#include "substrate/product_fp64.hpp"
#include "substrate/rewrites.hpp"

namespace gemmpeak::substrate {
namespace {

TransformerSpec small_spec() {
  TransformerSpec spec;
  spec.layers = 3;
  spec.d = 48;
  spec.heads = 3;
  spec.feed_forward = 80;
  spec.tokens = 21;
  return spec;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = a.size() == b.size() ? 0.0 : INFINITY;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    const double difference = std::fabs(a[i] - b[i]);
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

// The built-in model's fp64 stream, made once for all tests.
const std::vector<double>& built_in_stream() {
  static const std::vector<double> stream =
      reference_stream(seeded_weights(TransformerSpec{}, kBuiltInSeed));
  return stream;
}

TEST(CounterRng, IsAboutStandardNormal) {
  const std::uint64_t key = stream_key(7, 3);
  const int count = 200000;
  double sum = 0.0;
  double squares = 0.0;
  double fourths = 0.0;
  for (int i = 0; i < count; ++i) {
    const double x = static_cast<double>(counter_normal(key, static_cast<std::uint64_t>(i)));
    sum += x;
    squares += x * x;
    fourths += x * x * x * x;
  }
  EXPECT_NEAR(sum / count, 0.0, 0.01);
  EXPECT_NEAR(squares / count, 1.0, 0.01);
  EXPECT_NEAR(fourths / count, 2.7, 0.05);  // Irwin-Hall of four: 3 - 6 / (5 * 4)
}

TEST(Weights, DependOnTheSeedAndNothingElse) {
  const auto a = seeded_weights(small_spec(), 5);
  const auto b = seeded_weights(small_spec(), 5);
  const auto c = seeded_weights(small_spec(), 6);
  EXPECT_EQ(a.layers[2].weights[3], b.layers[2].weights[3]);
  EXPECT_NE(a.layers[2].weights[3], c.layers[2].weights[3]);
  EXPECT_NE(a.layers[1].weights[3], a.layers[2].weights[3]);
  EXPECT_EQ(a.input, b.input);
}

TEST(Weights, AreTheRecordedBits) {
  const auto model = seeded_weights(small_spec(), kBuiltInSeed);
  std::uint64_t hash = 0;
  for (float w : model.layers[0].weights[0]) {
    std::uint32_t bits;
    static_assert(sizeof bits == sizeof w);
    std::memcpy(&bits, &w, sizeof bits);
    hash = mix64(hash ^ bits);
  }
  EXPECT_EQ(hash, 17136623918467823757u);
}

TEST(ProductFp64, EqualsThePlainTripleLoopAtAwkwardSizes) {
  const std::int64_t tokens = 13;
  const std::int64_t id = 37;
  const std::int64_t od = 11;
  std::vector<double> in(static_cast<std::size_t>(tokens * id));
  std::vector<float> w(static_cast<std::size_t>(od * id));
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<double>(counter_normal(1, i));
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = counter_normal(2, i);
  std::vector<double> plain(static_cast<std::size_t>(tokens * od), NAN);
  std::vector<double> absolute(plain);
  product_fp64(in.data(), w.data(), tokens, id, od, ProductKind::plain, plain.data());
  product_fp64(in.data(), w.data(), tokens, id, od, ProductKind::absolute, absolute.data());
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t o = 0; o < od; ++o) {
      double sum = 0.0;
      double size = 0.0;
      for (std::int64_t k = 0; k < id; ++k) {
        const double p = in[static_cast<std::size_t>(t * id + k)] *
                         static_cast<double>(w[static_cast<std::size_t>(o * id + k)]);
        sum += p;
        size += std::fabs(p);
      }
      EXPECT_NEAR(plain[static_cast<std::size_t>(t * od + o)], sum, 1e-13 * size);
      EXPECT_NEAR(absolute[static_cast<std::size_t>(t * od + o)], size, 1e-13 * size);
    }
  }
}

TEST(Rewrites, FoldingInDoubleKeepsTheStreamToRounding) {
  const auto original = to_double(seeded_weights(small_spec(), 9));
  const auto expected = reference_stream(original);
  auto norms = original;
  fold_norms(norms);
  EXPECT_LT(largest_difference(reference_stream(norms), expected), 1e-12);
  auto scale = original;
  fold_attention_scale(scale);
  EXPECT_LT(largest_difference(reference_stream(scale), expected), 1e-12);
  fold_norms(scale);
  EXPECT_LT(largest_difference(reference_stream(scale), expected), 1e-12);
}

TEST(Rewrites, FoldingMattersAndTwiceIsOnce) {
  const auto original = to_double(seeded_weights(small_spec(), 9));
  auto folded = original;
  fold_norms(folded);
  fold_attention_scale(folded);
  auto forgotten = folded;
  forgotten.attention_scale_folded = false;  // scale applied twice
  EXPECT_GT(largest_difference(reference_stream(forgotten), reference_stream(original)), 1e-2);
  auto twice = folded;
  fold_norms(twice);
  fold_attention_scale(twice);
  EXPECT_EQ(twice.layers[0].weights[0], folded.layers[0].weights[0]);
}

TEST(Rewrites, FoldingTheBuiltInModelInFloatMovesNoLogitByTenToTheMinusFive) {
  auto model = seeded_weights(TransformerSpec{}, kBuiltInSeed);
  fold_norms(model);
  fold_attention_scale(model);
  const auto logits = head_logits(built_in_head(), token_mean(model.spec, reference_stream(model)));
  for (std::size_t j = 0; j < 2; ++j) EXPECT_NEAR(logits[j], kTargetLogits[j], 1e-5);
}

TEST(Head, TheRecordedCalibrationIsWhatTheReferenceGives) {
  const TransformerSpec spec;
  const auto found = calibrate(spec, kBuiltInSeed, built_in_stream());
  const Head head = make_head(spec, kBuiltInSeed, found);
  const Head recorded = built_in_head();
  for (std::size_t j = 0; j < 2; ++j) {
    std::printf("logit %zu: scale %.17g bias %.17g\n", j, found[j].scale, found[j].bias);
    EXPECT_NEAR(recorded.bias[j], head.bias[j], 1e-9);
  }
  for (std::size_t i = 0; i < head.weights.size(); ++i) {
    ASSERT_NEAR(recorded.weights[i], head.weights[i], 1e-12);
    ASSERT_NE(recorded.weights[i], 0.0);
  }
}

TEST(Head, TheReferenceGivesTheTargetLogitsToSixDecimals) {
  const auto logits =
      head_logits(built_in_head(), token_mean(TransformerSpec{}, built_in_stream()));
  char text[64];
  std::snprintf(text, sizeof text, "%.6f %.6f", logits[0], logits[1]);
  EXPECT_STREQ(text, "0.095916 0.033000");
}

TEST(Head, TheTargetsAreNotReachedByTheBiasAlone) {
  const Head head = built_in_head();
  for (std::size_t j = 0; j < 2; ++j) EXPECT_GT(std::fabs(head.bias[j] - kTargetLogits[j]), 1e-2);
}

}  // namespace
}  // namespace gemmpeak::substrate
