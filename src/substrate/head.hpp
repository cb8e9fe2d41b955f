// The mean head: logits = weights mean_tokens(x) + bias, and its calibration. Used by the executors
// (as float32) and by tests. Calibration decides how loudly a fault speaks; it refuses to reach its
// targets by the bias alone.
#pragma once

#include <array>
#include <vector>

#include "substrate/weights.hpp"

namespace gemmpeak::substrate {

struct Head {
  std::vector<double> weights;  // logits x d
  std::vector<double> bias;     // logits
};

std::vector<double> head_logits(const Head& head, const std::vector<double>& mean);

// What the reference search program expects of its substrate, and its gate.
inline constexpr std::array<double, 2> kTargetLogits{0.095916, 0.033000};
inline constexpr double kLogitsGate = 5e-3;

// What calibration found for one logit.
struct HeadCalibration {
  double scale = 0.0;  // of the seeded direction
  double bias = 0.0;
};

// Each logit j projects the mean on a seeded direction h_j, scaled so that the projections of the
// single tokens' x have standard deviation kTokenDeviation, and shifted so that the mean's logit is
// its target (kTargetLogits, 0 beyond). `stream` is the fp64 reference's.
//
// kTokenDeviation decides the sensitivity, everything else is linear in it. At 0.5 TF32 operands
// rounded to nearest move a logit by 3.2e-4, a missing GEMM in any site of any layer by 0.054 at
// least, ten times the gate, and most single 64x64 tiles by more than the gate (the tests print
// it).
inline constexpr double kTokenDeviation = 0.5;
std::vector<HeadCalibration> calibrate(const TransformerSpec& spec, std::uint64_t seed,
                                       const std::vector<double>& stream);

Head make_head(const TransformerSpec& spec, std::uint64_t seed,
               const std::vector<HeadCalibration>& calibration);

// The head of the built-in model (default TransformerSpec, kBuiltInSeed) from its recorded
// calibration, so that a program needs no reference forward to start. A test recomputes it.
Head built_in_head();

}  // namespace gemmpeak::substrate
