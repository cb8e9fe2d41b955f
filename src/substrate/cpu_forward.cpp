#include "substrate/cpu_forward.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "substrate/small_ops.hpp"

namespace gemmpeak::substrate {

CpuForward::CpuForward(ForwardGraph graph, const ModelWeights<float>& weights, const Head& head)
    : graph_(std::move(graph)), weights_(&weights), head_(head) {
  for (int slot = 0; slot < kSlotCount; ++slot) {
    const SlotShape shape = slot_shape(graph_.spec, static_cast<Slot>(slot));
    slots_.emplace_back(static_cast<std::size_t>(shape.rows * shape.columns));
  }
  poison();
}

Result<CpuForward> CpuForward::make(ForwardGraph graph, const ModelWeights<float>& weights,
                                    const Head& head, const SiteMaker& make_site) {
  GEMMPEAK_CHECK(graph.spec == weights.spec, "graph and weights are of different models");
  CpuForward forward(std::move(graph), weights, head);
  for (const ForwardNode& node : forward.graph_.nodes) {
    if (node.op == ForwardOp::attention_unfused || node.op == ForwardOp::site_product ||
        node.op == ForwardOp::epilogue || node.precision != SitePrecision::native)
      return error_text(node.str() + ": the CPU forward has no such operation");
    SiteGemmDesc desc;
    std::shared_ptr<SiteGemm> gemm;
    if (node.op == ForwardOp::site) {
      const LayerWeights<float>& layer = weights.layers[static_cast<std::size_t>(node.layer)];
      const SiteShape shape = site_shape(weights.spec, node.site);
      desc = {shape.od,
              shape.id,
              node.rows,
              layer.weights[index_of(node.site)].data(),
              layer.bias[index_of(node.site)].data(),
              shape.epilogue};
      auto made = make_site(node, desc);
      if (!made) return error_text(node.str() + ": " + made.error().message());
      gemm = *made;
    }
    forward.descs_.push_back(desc);
    forward.sites_.push_back(std::move(gemm));
  }
  return forward;
}

void CpuForward::poison() {
  for (std::vector<float>& slot : slots_) {
    std::fill(slot.begin(), slot.end(), std::numeric_limits<float>::quiet_NaN());
  }
}

std::vector<double> CpuForward::run(const Observer& observer) {
  return run_from(0, weights_->input, observer);
}

std::vector<double> CpuForward::run_from(int layer, std::span<const float> stream,
                                         const Observer& observer) {
  GEMMPEAK_CHECK(stream.size() == slot(Slot::x).size(), "a stream of another model");
  std::copy(stream.begin(), stream.end(), data(Slot::x));
  for (std::size_t node = 0; node < graph_.nodes.size(); ++node) {
    if (graph_.nodes[node].layer < layer) continue;
    run_node(node);
    if (observer) observer(*this, node);
  }
  return logits_;
}

void CpuForward::run_node(std::size_t index) {
  const ForwardNode& node = graph_.nodes[index];
  const TransformerSpec& spec = graph_.spec;
  const LayerWeights<float>& layer = weights_->layers[static_cast<std::size_t>(node.layer)];
  switch (node.op) {
    case ForwardOp::normalize: {
      const bool first = node.site == Site::qkv;
      const auto& scale = first ? layer.norm1_scale : layer.norm2_scale;
      const auto& shift = first ? layer.norm1_shift : layer.norm2_shift;
      const bool folded = weights_->norm_folded;
      normalize_rows(data(node.in), node.rows, spec.d, spec.norm_eps,
                     folded ? nullptr : scale.data(), folded ? nullptr : shift.data(),
                     data(node.out));
      break;
    }
    case ForwardOp::attention: {
      const float scale = weights_->attention_scale_folded
                              ? 1.0f
                              : 1.0f / std::sqrt(static_cast<float>(spec.head_dim()));
      flash_attention(spec, data(node.in), scale, data(node.out));
      break;
    }
    case ForwardOp::site:
      sites_[index]->run(data(node.in), node.residual == Slot::none ? nullptr : data(node.residual),
                         data(node.out));
      break;
    case ForwardOp::token_mean:
      mean_rows(data(node.in), node.rows, slot_shape(spec, node.in).columns, data(node.out));
      break;
    case ForwardOp::attention_unfused:
    case ForwardOp::site_product:
    case ForwardOp::epilogue:
      GEMMPEAK_CHECK(false, "refused by make()");
    case ForwardOp::head: {
      const auto in = slot(node.in);
      logits_ = head_logits(head_, {in.begin(), in.end()});
      break;
    }
  }
}

}  // namespace gemmpeak::substrate
