// Two forwards run in turn in one process, timed node by node inside whole forwards. Used by v16.
// It reads time only through the clock it is given, and refuses to report a site's time from
// anywhere but a whole forward.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "substrate/cpu_forward.hpp"

namespace gemmpeak::v16 {

struct ArmTimes {
  std::array<double, 4> site_ms{};  // over all layers, by Site
  double rest_ms = 0.0;             // every node that is no site
  double forward_ms = 0.0;          // start to end, by its own two readings of the clock
  std::vector<double> logits;       // of the last forward
};

struct InterleaveRule {
  int min_rounds = 3;  // an arm needs a few, half of which are dropped
  int max_rounds = 32;
  double seconds = 1.0;  // go on until this much has been measured
};

struct InterleaveResult {
  std::array<ArmTimes, 2> arms;
  int rounds = 0;
};

// Both arms are warmed (first forwards touch memory and are poisoned beforehand), then run in pairs
// AB, BA, AB, ... An arm's times are means over the faster half of its forwards, the same forwards
// for every site, so that sites + rest = forward.
InterleaveResult interleave(substrate::CpuForward& a, substrate::CpuForward& b,
                            const InterleaveRule& rule, const std::function<double()>& now_s);

}  // namespace gemmpeak::v16
