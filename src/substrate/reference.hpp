// The fp64 reference forward: the judge of every logit. Double precision from the first operation
// to the last, straight from the definition, shared with no executor. Used by calibration,
// rewrites' gates and tests. It refuses approximations: exact tanh, exact exp, two-pass moments.
#pragma once

#include <vector>

#include "base/check.hpp"
#include "substrate/weights.hpp"

namespace gemmpeak::substrate {

// The residual stream after the last layer, tokens x d.
template <class Real>  // float or double
std::vector<double> reference_stream(const ModelWeights<Real>& model);

// The mean over tokens of a stream, d values.
std::vector<double> token_mean(const TransformerSpec& spec, const std::vector<double>& stream);

}  // namespace gemmpeak::substrate
