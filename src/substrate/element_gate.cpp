#include "substrate/element_gate.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <vector>

#include "substrate/cpu_forward.hpp"
#include "substrate/product_fp64.hpp"

namespace gemmpeak::substrate {
namespace {

// tanh GELU's slope is at most 1.13 (at z = 1.42), and its own evaluation in float32 adds a few
// roundings of its value.
constexpr double kGeluSlope = 1.13;
constexpr double kFloatRoundoff = 0x1p-24;
constexpr double kEvaluationRoundings = 16.0;

double gelu_tanh_fp64(double z) {
  const double inner = std::sqrt(2.0 / 3.14159265358979323846) * (z + 0.044715 * z * z * z);
  return 0.5 * z * (1.0 + std::tanh(inner));
}

struct Expected {
  double value = 0.0;
  double bound = 0.0;
};

Expected expected_element(Epilogue epilogue, double product, double size, double bias,
                          double residual, const GateRule& rule) {
  const double z = product + bias;
  const double error = rule.factor * (rule.unit_roundoff * size + kFloatRoundoff * std::fabs(bias));
  switch (epilogue) {
    case Epilogue::bias:
      return {z, error};
    case Epilogue::bias_residual:
      return {z + residual, error + rule.factor * kFloatRoundoff * std::fabs(residual)};
    case Epilogue::bias_gelu: {
      const double value = gelu_tanh_fp64(z);
      return {value, kGeluSlope * error + kEvaluationRoundings * kFloatRoundoff * std::fabs(z)};
    }
  }
  GEMMPEAK_CHECK(false, "an epilogue beyond the list");
}

}  // namespace

std::string GateVerdict::str() const {
  if (passed()) return fmt::format("passed, worst error {:.3f} of its bound", worst_ratio);
  return fmt::format("{} elements wrong, the first at row {} column {}, worst error {:.3g} bounds",
                     failures, first_row, first_column, worst_ratio);
}

GateVerdict check_site(const SiteGemmDesc& desc, const float* in, const float* residual,
                       const float* out, const GateRule& rule) {
  const std::vector<double> wide(in, in + desc.tokens * desc.id);
  const auto count = static_cast<std::size_t>(desc.tokens * desc.od);
  std::vector<double> product(count);
  std::vector<double> size(count);
  product_fp64(wide.data(), desc.weights, desc.tokens, desc.id, desc.od, ProductKind::plain,
               product.data());
  product_fp64(wide.data(), desc.weights, desc.tokens, desc.id, desc.od, ProductKind::absolute,
               size.data());
  GateVerdict verdict;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t column = i % static_cast<std::size_t>(desc.od);
    const Expected expected =
        expected_element(desc.epilogue, product[i], size[i], static_cast<double>(desc.bias[column]),
                         residual ? static_cast<double>(residual[i]) : 0.0, rule);
    const double error = std::fabs(static_cast<double>(out[i]) - expected.value);
    if (!(error <= expected.bound)) {
      if (verdict.failures++ == 0) {
        verdict.first_row = static_cast<std::int64_t>(i) / desc.od;
        verdict.first_column = static_cast<std::int64_t>(column);
      }
    }
    double ratio = expected.bound > 0.0 ? error / expected.bound : (error > 0.0 ? 1e300 : 0.0);
    if (!std::isfinite(ratio)) ratio = std::numeric_limits<double>::infinity();
    verdict.worst_ratio = std::fmax(verdict.worst_ratio, ratio);
  }
  return verdict;
}

GateVerdict check_node(const CpuForward& forward, std::size_t node, const GateRule& rule) {
  const ForwardNode& at = forward.graph().nodes[node];
  GEMMPEAK_CHECK(at.op == ForwardOp::site, "only a site's node has an element gate");
  const float* residual = at.residual == Slot::none ? nullptr : forward.slot(at.residual).data();
  return check_site(forward.desc(node), forward.slot(at.in).data(), residual,
                    forward.slot(at.out).data(), rule);
}

}  // namespace gemmpeak::substrate
