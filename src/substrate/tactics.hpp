// Tactics as the v16 protocol writes them (`impl split`), and the maker that turns a table of four
// into GEMMs. Used by v16 and the search. It refuses a tactic that cannot run, with the reason,
// before anything is allocated.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "model/tactic.hpp"
#include "substrate/cpu_forward.hpp"

namespace gemmpeak::substrate {

// Nothing, or why the tactic cannot run this site.
Result<void> check_tactic(const TransformerSpec& spec, Site site, Tactic tactic,
                          int vendor_suggestions);

// The two tables of the protocol: 16 whole numbers, `impl split` for qkv, wo, w1, w2 of A, then of
// B. Every failure is one sentence that names the table and the site.
Result<std::array<TacticTable, 2>> parse_tables(std::span<const std::string> arguments,
                                                const TransformerSpec& spec,
                                                int vendor_suggestions);

// "A: t0 t1 t2 t3 logits l0 l1": fixed point only, since that is all that readers take; a logit
// that is not finite is written as 9999.000000, which no gate accepts.
std::string protocol_line(char label, const std::array<double, 4>& site_ms,
                          std::span<const double> logits);

// Makes each (layer, site, tactic) once, so that two tables share what they have in common.
class TacticMaker {
 public:
  // `vendor` outlives the maker; null where there is none.
  explicit TacticMaker(SiteGemmVendor* vendor) : vendor_(vendor) {}
  int vendor_suggestions() const { return vendor_ ? vendor_->suggestions() : 0; }
  SiteMaker for_table(const TacticTable& table);

 private:
  Result<std::shared_ptr<SiteGemm>> make(const ForwardNode& node, const SiteGemmDesc& desc,
                                         Tactic tactic);

  SiteGemmVendor* vendor_;
  std::map<std::tuple<int, Site, Tactic>, std::shared_ptr<SiteGemm>> made_;
};

}  // namespace gemmpeak::substrate
