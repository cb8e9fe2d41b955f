#include "model/forward_graph.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"

namespace gemmpeak {
namespace {

ForwardNode site_node(int layer, Site site, Slot in, Slot residual, Slot out, std::int64_t rows) {
  return {ForwardOp::site, layer, site, in, residual, out, rows};
}

void add_attention_half(std::vector<ForwardNode>& nodes, int layer, std::int64_t tokens) {
  nodes.push_back(
      {ForwardOp::normalize, layer, Site::qkv, Slot::x, Slot::none, Slot::norm, tokens});
  nodes.push_back(site_node(layer, Site::qkv, Slot::norm, Slot::none, Slot::qkv, tokens));
  nodes.push_back(
      {ForwardOp::attention, layer, Site::qkv, Slot::qkv, Slot::none, Slot::attended, tokens});
  nodes.push_back(site_node(layer, Site::wo, Slot::attended, Slot::x, Slot::y, tokens));
}

void add_feed_forward_half(std::vector<ForwardNode>& nodes, int layer, std::int64_t tokens,
                           bool last, bool prune) {
  nodes.push_back({ForwardOp::normalize, layer, Site::w1, Slot::y, Slot::none, Slot::norm, tokens});
  nodes.push_back(site_node(layer, Site::w1, Slot::norm, Slot::none, Slot::hidden, tokens));
  if (last && prune) {
    nodes.push_back({ForwardOp::token_mean, layer, Site::w2, Slot::hidden, Slot::none,
                     Slot::mean_hidden, tokens});
    nodes.push_back(
        {ForwardOp::token_mean, layer, Site::w2, Slot::y, Slot::none, Slot::mean_y, tokens});
    nodes.push_back(site_node(layer, Site::w2, Slot::mean_hidden, Slot::mean_y, Slot::mean_x, 1));
    return;
  }
  nodes.push_back(site_node(layer, Site::w2, Slot::hidden, Slot::y, Slot::x, tokens));
  if (last) {
    nodes.push_back(
        {ForwardOp::token_mean, layer, Site::w2, Slot::x, Slot::none, Slot::mean_x, tokens});
  }
}

}  // namespace

std::string ForwardNode::str() const {
  constexpr const char* kNames[] = {"normalize", "attention", "unfused attention", "site",
                                    "product",   "epilogue",  "token mean",        "head"};
  const char* name =
      op == ForwardOp::site ? site_name(site).data() : kNames[static_cast<std::size_t>(op)];
  return fmt::format("layer {} {}", layer, name);
}

ForwardGraph build_graph(const TransformerSpec& spec, const GraphRewrites& rewrites) {
  ForwardGraph graph{spec, {}};
  for (int layer = 0; layer < spec.layers; ++layer) {
    add_attention_half(graph.nodes, layer, spec.tokens);
    add_feed_forward_half(graph.nodes, layer, spec.tokens, layer + 1 == spec.layers,
                          rewrites.prune_last);
  }
  graph.nodes.push_back(
      {ForwardOp::head, spec.layers - 1, Site::w2, Slot::mean_x, Slot::none, Slot::none, 1});
  return graph;
}

SlotShape slot_shape(const TransformerSpec& spec, Slot slot) {
  switch (slot) {
    case Slot::none:
      return {0, 0};
    case Slot::x:
    case Slot::y:
    case Slot::norm:
    case Slot::attended:
      return {spec.tokens, spec.d};
    case Slot::qkv:
      return {spec.tokens, 3 * std::int64_t{spec.d}};
    case Slot::product:
      return {spec.tokens, std::max(3 * std::int64_t{spec.d}, std::int64_t{spec.feed_forward})};
    case Slot::hidden:
      return {spec.tokens, spec.feed_forward};
    case Slot::mean_hidden:
      return {1, spec.feed_forward};
    case Slot::mean_y:
    case Slot::mean_x:
      return {1, spec.d};
  }
  GEMMPEAK_CHECK(false, "a slot beyond the list");
}

}  // namespace gemmpeak
