#include "substrate/reference.hpp"

#include <algorithm>
#include <cmath>

#include "substrate/product_fp64.hpp"

namespace gemmpeak::substrate {
namespace {

using Values = std::vector<double>;

template <class Real>
Values normalized(const TransformerSpec& spec, const Values& x, const std::vector<Real>& scale,
                  const std::vector<Real>& shift, bool affine) {
  const auto d = static_cast<std::size_t>(spec.d);
  Values out(x.size());
  for (std::size_t t = 0; t < x.size() / d; ++t) {
    const double* row = x.data() + t * d;
    double mean = 0.0;
    for (std::size_t i = 0; i < d; ++i) mean += row[i];
    mean /= spec.d;
    double variance = 0.0;
    for (std::size_t i = 0; i < d; ++i) variance += (row[i] - mean) * (row[i] - mean);
    const double inverse = 1.0 / std::sqrt(variance / spec.d + spec.norm_eps);
    for (std::size_t i = 0; i < d; ++i) {
      const double n = (row[i] - mean) * inverse;
      out[t * d + i] =
          affine ? n * static_cast<double>(scale[i]) + static_cast<double>(shift[i]) : n;
    }
  }
  return out;
}

template <class Real>
Values linear(const TransformerSpec& spec, const LayerWeights<Real>& layer, Site site,
              const Values& in) {
  const SiteShape shape = site_shape(spec, site);
  const auto od = static_cast<std::size_t>(shape.od);
  Values out(static_cast<std::size_t>(shape.tokens) * od);
  product_fp64(in.data(), layer.weights[index_of(site)].data(), shape.tokens, shape.id, shape.od,
               ProductKind::plain, out.data());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] += static_cast<double>(layer.bias[index_of(site)][i % od]);
  }
  return out;
}

// Softmax of one query's scores in place.
void softmax(Values& scores) {
  const double top = *std::max_element(scores.begin(), scores.end());
  double sum = 0.0;
  for (double& s : scores) sum += s = std::exp(s - top);
  for (double& s : scores) s /= sum;
}

Values attention(const TransformerSpec& spec, const Values& qkv, double scale) {
  const auto tokens = static_cast<std::size_t>(spec.tokens);
  const auto d = static_cast<std::size_t>(spec.d);
  const auto width = static_cast<std::size_t>(spec.head_dim());
  Values out(tokens * d, 0.0);
  Values scores(tokens);
  for (std::size_t first = 0; first < d; first += width) {
    for (std::size_t t = 0; t < tokens; ++t) {
      const double* q = qkv.data() + t * 3 * d + first;
      for (std::size_t j = 0; j < tokens; ++j) {
        const double* k = qkv.data() + j * 3 * d + d + first;
        double sum = 0.0;
        for (std::size_t c = 0; c < width; ++c) sum += q[c] * k[c];
        scores[j] = sum * scale;
      }
      softmax(scores);
      for (std::size_t j = 0; j < tokens; ++j) {
        const double* v = qkv.data() + j * 3 * d + 2 * d + first;
        for (std::size_t c = 0; c < width; ++c) out[t * d + first + c] += scores[j] * v[c];
      }
    }
  }
  return out;
}

double gelu_tanh(double z) {
  const double inner = std::sqrt(2.0 / 3.14159265358979323846) * (z + 0.044715 * z * z * z);
  return 0.5 * z * (1.0 + std::tanh(inner));
}

void add(Values& to, const Values& what) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += what[i];
}

}  // namespace

template <class Real>
std::vector<double> reference_stream(const ModelWeights<Real>& model) {
  const TransformerSpec& spec = model.spec;
  const double scale =
      model.attention_scale_folded ? 1.0 : 1.0 / std::sqrt(static_cast<double>(spec.head_dim()));
  Values x(model.input.begin(), model.input.end());
  for (const LayerWeights<Real>& layer : model.layers) {
    const Values n1 = normalized(spec, x, layer.norm1_scale, layer.norm1_shift, !model.norm_folded);
    const Values attended = attention(spec, linear(spec, layer, Site::qkv, n1), scale);
    add(x, linear(spec, layer, Site::wo, attended));
    const Values n2 = normalized(spec, x, layer.norm2_scale, layer.norm2_shift, !model.norm_folded);
    Values hidden = linear(spec, layer, Site::w1, n2);
    for (double& z : hidden) z = gelu_tanh(z);
    add(x, linear(spec, layer, Site::w2, hidden));
  }
  return x;
}

template std::vector<double> reference_stream<float>(const ModelWeights<float>&);
template std::vector<double> reference_stream<double>(const ModelWeights<double>&);

std::vector<double> token_mean(const TransformerSpec& spec, const std::vector<double>& stream) {
  const auto d = static_cast<std::size_t>(spec.d);
  std::vector<double> mean(d, 0.0);
  for (std::size_t i = 0; i < stream.size(); ++i) mean[i % d] += stream[i];
  for (double& m : mean) m /= spec.tokens;
  return mean;
}

}  // namespace gemmpeak::substrate
