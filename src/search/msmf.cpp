// F4: which confirmed shape becomes the MSMF headline.
#include <fmt/format.h>

#include <algorithm>

#include "search/selection.hpp"

namespace gemmpeak::search {
namespace {

using Pool = std::vector<Confirmed>;

// The three reasons for passing a shape over, with what they are judged against.
class Gates {
 public:
  Gates(std::span<const Confirmed> confirmed, const MsmfRules& rules, const Knobs& knobs)
      : rules_(rules), knobs_(knobs) {
    for (const Confirmed& r : confirmed)
      if (r.power_w && (!highest_w_ || *r.power_w > *highest_w_)) highest_w_ = r.power_w;
    for (const Confirmed& r : confirmed)
      if (!suspect(r)) pool_.push_back(r);
    if (pool_.empty()) pool_.assign(confirmed.begin(), confirmed.end());
    find_anchor(confirmed.size() == 1);
  }

  // Everything that is not SUSPECT.
  const Pool& pool() const { return pool_; }
  std::optional<double> saturated_clock() const { return anchor_mhz_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

  // The power-cap bit is the device's own word that a shape was held back by power: a sensor that
  // samples 25 ms of each 100 (arXiv 2312.02741) must not overrule it. On an H200 the instantaneous
  // readings of shapes all held at the 700 W cap spread from 621 to 735 W.
  bool capped(const Confirmed& r) const { return rules_.power_capped.count(r.shape) != 0; }
  bool suspect(const Confirmed& r) const {
    return rules_.exclude && !capped(r) && r.power_w && highest_w_ && *highest_w_ > 0 &&
           *r.power_w < knobs_.suspect_power_ratio * *highest_w_;
  }
  bool steady(const Confirmed& r) const { return r.spread_percent <= knobs_.msmf_max_spread; }
  // A high clock alone proves nothing: a shape may hold it at full power, and that is sustained. A
  // shape boosts that is above the saturated clock with power to spare.
  bool boosting(const Confirmed& r) const {
    return rules_.exclude && anchor_mhz_ && r.clock_mhz &&
           *r.clock_mhz > *anchor_mhz_ * knobs_.msmf_clock_ratio && !saturated(r);
  }

 private:
  bool saturated(const Confirmed& r) const {
    return capped(r) ||
           (highest_w_ && r.power_w && *r.power_w >= knobs_.msmf_sat_power_ratio * *highest_w_);
  }
  // Shown by something other than the other shapes: the device's limit, or its own word.
  bool evident(const Confirmed& r) const {
    const bool at_limit = r.power_w && rules_.power_limit_w && *rules_.power_limit_w > 0 &&
                          *r.power_w >= knobs_.msmf_sat_power_ratio * *rules_.power_limit_w;
    return at_limit || capped(r);
  }
  template <class Test>
  std::optional<double> lowest_clock(Test test) const {
    std::optional<double> lowest;
    for (const Confirmed& r : pool_)
      if (r.clock_mhz && test(r) && (!lowest || *r.clock_mhz < *lowest)) lowest = r.clock_mhz;
    return lowest;
  }
  void find_anchor(bool alone);
  std::string alone_sentence(const Confirmed& r) const;

  const MsmfRules& rules_;
  const Knobs& knobs_;
  Pool pool_;
  std::optional<double> highest_w_;
  std::optional<double> anchor_mhz_;
  std::vector<std::string> warnings_;
};

void Gates::find_anchor(bool alone) {
  anchor_mhz_ = lowest_clock(
      [this](const Confirmed& r) { return saturated(r) && highest_w_.value_or(0) != 0; });
  if (!rules_.exclude) return;
  // Alone, a shape has the highest power by definition, which says nothing.
  if (alone && anchor_mhz_ && !evident(pool_[0])) {
    anchor_mhz_.reset();
    warnings_.push_back(alone_sentence(pool_[0]));
    return;
  }
  if (!anchor_mhz_) anchor_mhz_ = lowest_clock([this](const Confirmed& r) { return evident(r); });
  if (anchor_mhz_) return;
  warnings_.emplace_back(
      "no saturated-clock anchor in the confirm set (no near-TDP shape with a usable clock). MSMF "
      "filters are weakened — widen the range (esp. larger min(M,N,K) / higher K) so a truly "
      "sustainable shape can pin the floor.");
}

std::string Gates::alone_sentence(const Confirmed& r) const {
  const std::string limit =
      rules_.power_limit_w ? fmt::format("under {:.0f} % of the {:.0f} W limit",
                                         100 * knobs_.msmf_sat_power_ratio, *rules_.power_limit_w)
                           : "the device's power limit is not known";
  return fmt::format(
      "{} was confirmed alone, and nothing shows that it was saturated: it drew {:.0f} W, {}, and "
      "no "
      "power cap was seen. MSMF may be a boost — widen the range so that a shape large in every "
      "dimension can set the saturated clock.",
      r.shape.str(), *r.power_w, limit);
}

Pool filtered(const Pool& pool, auto test) {
  Pool out;
  std::copy_if(pool.begin(), pool.end(), std::back_inserter(out), test);
  return out;
}

// The fallbacks in order: steady and not boosting, steady, not boosting, all.
Pool eligible(const Gates& gates) {
  const auto steady = [&](const Confirmed& r) { return gates.steady(r); };
  const auto calm = [&](const Confirmed& r) { return !gates.boosting(r); };
  Pool out = filtered(gates.pool(), [&](const Confirmed& r) { return steady(r) && calm(r); });
  if (out.empty()) out = filtered(gates.pool(), steady);
  if (out.empty()) out = filtered(gates.pool(), calm);
  return out.empty() ? gates.pool() : out;
}

// Faster shapes passed over, by reason.
void list_ignored(const Gates& gates, std::span<const Confirmed> confirmed, const Knobs& knobs,
                  double tflops, MsmfChoice& choice) {
  std::vector<GemmShape> boosting, jittery, suspect;
  for (const Confirmed& r : gates.pool()) {
    if (!(r.tflops > tflops)) continue;
    if (gates.boosting(r))
      boosting.push_back(r.shape);
    else if (!gates.steady(r))
      jittery.push_back(r.shape);
  }
  for (const Confirmed& r : confirmed)
    if (gates.suspect(r) && r.tflops > tflops) suspect.push_back(r.shape);
  const auto add = [&choice](const std::string& why, std::vector<GemmShape> shapes) {
    if (!shapes.empty()) choice.ignored.emplace_back(why, std::move(shapes));
  };
  add(fmt::format("still boosting above the {:.0f}MHz saturated clock (trends toward MAMF)",
                  gates.saturated_clock().value_or(0)),
      std::move(boosting));
  add(fmt::format("spread > {:.0f}%, too jittery to reproduce", knobs.msmf_max_spread),
      std::move(jittery));
  add("unsaturated clock-boost, not sustainable (counts toward MAMF)", std::move(suspect));
}

// The re-measured values over the candidate's; readings that were lost stand as confirmed.
Confirmed relocked(const Confirmed& candidate, Confirmed measured) {
  measured.shape = candidate.shape;
  if (!measured.power_w) measured.power_w = candidate.power_w;
  if (!measured.clock_mhz) measured.clock_mhz = candidate.clock_mhz;
  return measured;
}

std::string join(const std::vector<std::string>& parts, const char* between) {
  return fmt::format("{}", fmt::join(parts, between));
}

std::string rejection(const Gates& gates, const Confirmed& r, const Knobs& knobs) {
  std::vector<std::string> why;
  if (!gates.steady(r))
    why.push_back(fmt::format("spread {:.1f}% > {:.0f}%", r.spread_percent, knobs.msmf_max_spread));
  if (gates.boosting(r)) {
    why.push_back(fmt::format("clock {:.0f}MHz > {:.0f}*{:.2f} saturated floor", *r.clock_mhz,
                              *gates.saturated_clock(), knobs.msmf_clock_ratio));
  }
  return join(why, "; ");
}

// Keeps `last`, the last leader that could be measured, though it passed no gate.
void keep_last(const Gates& gates, MsmfChoice::Lock& last, MsmfChoice& choice) {
  std::vector<std::string> tags;
  if (!gates.steady(last.result)) tags.emplace_back("still jittery");
  if (gates.boosting(last.result)) tags.emplace_back("still boosting");
  last.accepted = true;
  last.reason = join(tags, ", ");
  choice.headline = last.result;
  choice.warnings.push_back(fmt::format(
      "MSMF headline is a best-available fallback ({}). For a reproducible sustainable number, "
      "widen "
      "the shape range so a fat/high-K shape can saturate and pass the spread+clock gates — common "
      "with a narrow grid.",
      last.reason));
}

void lock_in(const Gates& gates, Pool leaders, const Knobs& knobs, const Remeasure& remeasure,
             MsmfChoice& choice) {
  std::stable_sort(leaders.begin(), leaders.end(),
                   [](const Confirmed& a, const Confirmed& b) { return a.tflops > b.tflops; });
  const std::size_t tries = static_cast<std::size_t>(std::max(1, knobs.msmf_lock_tries));
  if (leaders.size() > tries) leaders.resize(tries);
  std::optional<std::size_t> last;
  for (const Confirmed& candidate : leaders) {
    Confirmed measured = remeasure(candidate.shape, knobs.msmf_lock_reps);
    if (measured.runs.empty()) {  // interrupted, or the device failed
      choice.locks.push_back({candidate, false, "no repeat could be measured"});
      continue;
    }
    const Confirmed locked = relocked(candidate, std::move(measured));
    if (gates.steady(locked) && !gates.boosting(locked)) {
      choice.locks.push_back({locked, true, ""});
      choice.headline = locked;
      return;
    }
    last = choice.locks.size();
    choice.locks.push_back({locked, false, rejection(gates, locked, knobs)});
  }
  if (last) {
    keep_last(gates, choice.locks[*last], choice);
  } else {
    choice.warnings.emplace_back(
        "MSMF headline could not be re-measured: its first repeats stand.");
  }
}

}  // namespace

MsmfChoice select_msmf(std::span<const Confirmed> confirmed, const MsmfRules& rules,
                       const Knobs& knobs, const Remeasure& remeasure) {
  const Gates gates(confirmed, rules, knobs);
  MsmfChoice choice;
  choice.saturated_clock_mhz = gates.saturated_clock();
  choice.warnings = gates.warnings();
  Pool leaders = eligible(gates);
  if (leaders.empty()) return choice;
  choice.headline =
      *std::max_element(leaders.begin(), leaders.end(),
                        [](const Confirmed& a, const Confirmed& b) { return a.tflops < b.tflops; });
  list_ignored(gates, confirmed, knobs, choice.headline->tflops, choice);
  if (knobs.msmf_lock_reps > rules.confirm_reps && remeasure)
    lock_in(gates, std::move(leaders), knobs, remeasure, choice);
  return choice;
}

}  // namespace gemmpeak::search
