// CpuForward: the graph on a CPU in float32, with a pluggable GEMM for every site. Used by the v16
// program, the search and tests. It reads no clock: whoever times it gets a call after every node.
// It refuses to allocate while running.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "backend/site_gemm.hpp"
#include "model/forward_graph.hpp"
#include "substrate/head.hpp"
#include "substrate/weights.hpp"

namespace gemmpeak::substrate {

// Makes the GEMM of one site node. `desc.tokens` is 1 for the pruned last w2. Shared, so that two
// forwards with a tactic in common run the same object on the same memory.
using SiteMaker = std::function<Result<std::shared_ptr<SiteGemm>>(const ForwardNode& node,
                                                                  const SiteGemmDesc& desc)>;

class CpuForward {
 public:
  // Called after every node while slots still hold what it read and wrote.
  using Observer = std::function<void(const CpuForward& forward, std::size_t node)>;

  // `weights` outlives the forward.
  static Result<CpuForward> make(ForwardGraph graph, const ModelWeights<float>& weights,
                                 const Head& head, const SiteMaker& make_site);

  // The logits of the model's input. `observer` may be empty.
  std::vector<double> run(const Observer& observer = {});
  // The same from the first node of `layer` on, with `stream` (tokens x d) as what the layers
  // before it made: for trying something in one layer without running those before it again.
  std::vector<double> run_from(int layer, std::span<const float> stream,
                               const Observer& observer = {});

  // Fills every slot with NaN, so that an output nobody writes cannot pass for an old right one.
  void poison();

  const ForwardGraph& graph() const { return graph_; }
  const SiteGemmDesc& desc(std::size_t node) const { return descs_[node]; }
  std::span<const float> slot(Slot slot) const { return slots_[static_cast<std::size_t>(slot)]; }

 private:
  CpuForward(ForwardGraph graph, const ModelWeights<float>& weights, const Head& head);
  void run_node(std::size_t node);
  float* data(Slot slot) { return slots_[static_cast<std::size_t>(slot)].data(); }

  ForwardGraph graph_;
  const ModelWeights<float>* weights_;
  Head head_;
  std::vector<std::vector<float>> slots_;         // by Slot
  std::vector<SiteGemmDesc> descs_;               // by node; empty for other operations
  std::vector<std::shared_ptr<SiteGemm>> sites_;  // by node; null for other operations
  std::vector<double> logits_;
};

}  // namespace gemmpeak::substrate
