#include "app/v16/interleave.hpp"

#include <algorithm>

namespace gemmpeak::v16 {
namespace {

using substrate::CpuForward;

ArmTimes time_forward(CpuForward& forward, const std::function<double()>& now_s) {
  ArmTimes times;
  const double start = now_s();
  double before = start;
  times.logits = forward.run([&](const CpuForward& at, std::size_t index) {
    const double after = now_s();
    const ForwardNode& node = at.graph().nodes[index];
    double& to = node.op == ForwardOp::site ? times.site_ms[index_of(node.site)] : times.rest_ms;
    to += (after - before) * 1e3;
    before = after;
  });
  times.forward_ms = (now_s() - start) * 1e3;
  return times;
}

// The faster half, averaged: what disturbs a forward on a shared machine only ever slows it.
ArmTimes summarize(std::vector<ArmTimes> rounds) {
  std::sort(rounds.begin(), rounds.end(),
            [](const ArmTimes& x, const ArmTimes& y) { return x.forward_ms < y.forward_ms; });
  const std::size_t kept = (rounds.size() + 1) / 2;
  ArmTimes mean;
  for (std::size_t i = 0; i < kept; ++i) {
    const double share = 1.0 / static_cast<double>(kept);
    for (std::size_t s = 0; s < 4; ++s) mean.site_ms[s] += share * rounds[i].site_ms[s];
    mean.rest_ms += share * rounds[i].rest_ms;
    mean.forward_ms += share * rounds[i].forward_ms;
  }
  return mean;
}

}  // namespace

InterleaveResult interleave(CpuForward& a, CpuForward& b, const InterleaveRule& rule,
                            const std::function<double()>& now_s) {
  CpuForward* arms[2] = {&a, &b};
  std::array<std::vector<ArmTimes>, 2> rounds;
  InterleaveResult result;
  for (std::size_t arm = 0; arm < 2; ++arm) {
    arms[arm]->poison();
    (void)arms[arm]->run();
  }
  const double start = now_s();
  while (result.rounds < rule.min_rounds ||
         (result.rounds < rule.max_rounds && now_s() - start < rule.seconds)) {
    const auto first = static_cast<std::size_t>(result.rounds % 2);
    for (std::size_t arm : {first, 1 - first}) {
      rounds[arm].push_back(time_forward(*arms[arm], now_s));
    }
    ++result.rounds;
  }
  for (std::size_t arm = 0; arm < 2; ++arm) {
    result.arms[arm] = summarize(rounds[arm]);
    result.arms[arm].logits = rounds[arm].back().logits;
  }
  return result;
}

}  // namespace gemmpeak::v16
