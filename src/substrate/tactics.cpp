#include "substrate/tactics.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "substrate/own_gemm.hpp"

namespace gemmpeak::substrate {
namespace {

Result<int> parse_int(const std::string& text) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  if (code != std::errc() || stop != end) {
    return error_text(fmt::format("\"{}\" is not a whole number", text));
  }
  return value;
}

Result<Tactic> parse_tactic(const std::string& impl, const std::string& split) {
  const auto first = parse_int(impl);
  if (!first) return first.error();
  const auto second = parse_int(split);
  if (!second) return second.error();
  return Tactic{*first, *second};
}

}  // namespace

Result<void> check_tactic(const TransformerSpec& spec, Site site, Tactic tactic,
                          int vendor_suggestions) {
  const auto tiles = tile_configs();
  const int last = static_cast<int>(tiles.size()) - 1;
  if (tactic.impl > last || tactic.impl < -vendor_suggestions) {
    return error_text(
        fmt::format("impl {} is not one of {}..{}", tactic.impl, -vendor_suggestions, last));
  }
  if (tactic.impl < 0) {
    if (tactic.split == 1) return {};
    return error_text(fmt::format("impl {} is the vendor's, which takes split 1 only, not {}",
                                  tactic.impl, tactic.split));
  }
  const SiteShape shape = site_shape(spec, site);
  const TileConfig& tile = tiles[static_cast<std::size_t>(tactic.impl)];
  if (auto why = tile_refusal(tile, tactic.split, shape.od, shape.id, shape.tokens)) {
    return error_text(fmt::format("impl {} ({}): {}", tactic.impl, tile.str(), *why));
  }
  return {};
}

Result<std::array<TacticTable, 2>> parse_tables(std::span<const std::string> arguments,
                                                const TransformerSpec& spec,
                                                int vendor_suggestions) {
  if (arguments.size() != 16) {
    return error_text(
        fmt::format("needs 16 numbers, impl and split of qkv wo w1 w2 for table A and then for "
                    "table B, not {}",
                    arguments.size()));
  }
  std::array<TacticTable, 2> tables;
  for (std::size_t t = 0; t < 2; ++t) {
    for (Site site : kSites) {
      const std::size_t at = t * 8 + index_of(site) * 2;
      const auto where = fmt::format("table {}, {}: ", "AB"[t], site_name(site));
      const auto tactic = parse_tactic(arguments[at], arguments[at + 1]);
      if (!tactic) return error_text(where + tactic.error().message());
      const auto checked = check_tactic(spec, site, *tactic, vendor_suggestions);
      if (!checked) return error_text(where + checked.error().message());
      tables[t][index_of(site)] = *tactic;
    }
  }
  return tables;
}

std::string protocol_line(char label, const std::array<double, 4>& site_ms,
                          std::span<const double> logits) {
  std::string out = fmt::format("{}:", label);
  for (double ms : site_ms) out += fmt::format(" {:.6f}", ms);
  out += " logits";
  for (double logit : logits) {
    // Beyond 9999 a logit is as wrong as one that is not finite.
    const bool printable = std::isfinite(logit) && std::fabs(logit) < 9999.0;
    out += fmt::format(" {:.6f}", printable ? logit : 9999.0);
  }
  return out;
}

SiteMaker TacticMaker::for_table(const TacticTable& table) {
  return [this, table](const ForwardNode& node, const SiteGemmDesc& desc) {
    return make(node, desc, table[index_of(node.site)]);
  };
}

Result<std::shared_ptr<SiteGemm>> TacticMaker::make(const ForwardNode& node,
                                                    const SiteGemmDesc& desc, Tactic tactic) {
  // One row is no work for a tile; its time is part of the site's all the same.
  if (desc.tokens == 1) tactic = {};
  const auto key = std::make_tuple(node.layer, node.site, tactic);
  if (const auto found = made_.find(key); found != made_.end()) return found->second;
  std::shared_ptr<SiteGemm> gemm;
  if (desc.tokens == 1) {
    gemm = make_row_gemm(desc);
  } else {
    if (tactic.impl < 0 && vendor_suggestions() == 0)
      return error_text("there is no vendor library");
    auto made = tactic.impl < 0
                    ? vendor_->make(desc, -tactic.impl - 1)
                    : make_own_gemm(desc, tile_configs()[static_cast<std::size_t>(tactic.impl)],
                                    tactic.split);
    if (!made) return made.error();
    gemm = std::move(*made);
  }
  made_[key] = gemm;
  return gemm;
}

}  // namespace gemmpeak::substrate
