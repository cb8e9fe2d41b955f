#include "substrate/head.hpp"

#include <cmath>

namespace gemmpeak::substrate {
namespace {

// calibrate() of the default TransformerSpec with kBuiltInSeed.
constexpr std::array<HeadCalibration, 2> kBuiltInCalibration{
    {{0.0090979019330758095, 0.06817206435832972}, {0.010086538698038102, -0.004573568275102407}}};

double projection(const double* x, const double* direction, std::size_t d) {
  double sum = 0.0;
  for (std::size_t i = 0; i < d; ++i) sum += x[i] * direction[i];
  return sum;
}

}  // namespace

std::vector<double> head_logits(const Head& head, const std::vector<double>& mean) {
  std::vector<double> out = head.bias;
  for (std::size_t j = 0; j < out.size(); ++j) {
    out[j] += projection(mean.data(), head.weights.data() + j * mean.size(), mean.size());
  }
  return out;
}

std::vector<HeadCalibration> calibrate(const TransformerSpec& spec, std::uint64_t seed,
                                       const std::vector<double>& stream) {
  const auto d = static_cast<std::size_t>(spec.d);
  const std::vector<double> directions = seeded_head_directions(spec, seed);
  std::vector<HeadCalibration> out;
  for (std::size_t j = 0; j < static_cast<std::size_t>(spec.logits); ++j) {
    double sum = 0.0;
    double squares = 0.0;
    for (std::size_t t = 0; t < static_cast<std::size_t>(spec.tokens); ++t) {
      const double p = projection(stream.data() + t * d, directions.data() + j * d, d);
      sum += p;
      squares += p * p;
    }
    const double mean = sum / spec.tokens;
    const double variance = squares / spec.tokens - mean * mean;
    // One token has no deviation; its own size serves.
    const double deviation = variance > 0.0 ? std::sqrt(variance) : std::fabs(mean);
    const double target = j < kTargetLogits.size() ? kTargetLogits[j] : 0.0;
    HeadCalibration found;
    found.scale = kTokenDeviation / deviation;
    found.bias = target - found.scale * mean;
    out.push_back(found);
  }
  return out;
}

Head make_head(const TransformerSpec& spec, std::uint64_t seed,
               const std::vector<HeadCalibration>& calibration) {
  Head head;
  head.weights = seeded_head_directions(spec, seed);
  for (std::size_t i = 0; i < head.weights.size(); ++i) {
    head.weights[i] *= calibration[i / static_cast<std::size_t>(spec.d)].scale;
  }
  for (const HeadCalibration& logit : calibration) head.bias.push_back(logit.bias);
  return head;
}

Head built_in_head() {
  return make_head(TransformerSpec{}, kBuiltInSeed,
                   {kBuiltInCalibration.begin(), kBuiltInCalibration.end()});
}

}  // namespace gemmpeak::substrate
