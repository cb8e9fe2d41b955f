// v16: the substrate as a program. Two tactic tables in, both run in turn in one process, the time
// of every site inside whole forwards and the logits out.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "app/v16/interleave.hpp"
#include "backends/cpu/site_gemm_vendor.hpp"
#include "model/tile_configs.hpp"
#include "substrate/rewrites.hpp"
#include "substrate/tactics.hpp"

namespace gemmpeak::v16 {
namespace {

using namespace substrate;

constexpr const char* kUsage =
    "usage: v16 [--no-prune] [--seconds S] A B\n"
    "       v16 --impls\n"
    "A and B are tactic tables: impl and split of qkv, wo, w1, w2 (eight numbers each).\n"
    "Prints for each  LABEL: qkv wo w1 w2 logits l0 l1  with the milliseconds of a site over all\n"
    "layers, measured inside whole forwards.\n"
    "  --no-prune   run the last layer's w2 on all tokens instead of on their mean\n"
    "  --seconds S  measure for about S seconds (default 1)\n"
    "  --impls      list the numbers that impl may take\n";

struct Options {
  GraphRewrites rewrites;
  InterleaveRule rule;
  std::vector<std::string> numbers;
};

Result<Options> parse(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--no-prune") {
      options.rewrites.prune_last = false;
    } else if (argument == "--seconds") {
      const std::string text = i + 1 < arguments.size() ? arguments[++i] : "";
      char* end = nullptr;
      options.rule.seconds = std::strtod(text.c_str(), &end);
      if (text.empty() || *end != '\0' || !(options.rule.seconds >= 0.0)) {
        return error_text("--seconds needs a number of seconds, not \"" + text + "\"");
      }
    } else {
      options.numbers.push_back(argument);
    }
  }
  return options;
}

void print_impls(const SiteGemmVendor& vendor) {
  for (int i = vendor.suggestions() - 1; i >= 0; --i) {
    fmt::print("{} {}\n", -1 - i, vendor.describe(i));
  }
  int number = 0;
  for (const TileConfig& tile : tile_configs()) fmt::print("{} {}\n", number++, tile.str());
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Result<void> run(const Options& options, SiteGemmVendor& vendor) {
  const TransformerSpec spec;
  auto tables = parse_tables(options.numbers, spec, vendor.suggestions());
  if (!tables) return tables.error();
  auto weights = seeded_weights(spec, kBuiltInSeed);
  fold_norms(weights);
  fold_attention_scale(weights);
  TacticMaker maker(&vendor);
  std::vector<CpuForward> forwards;
  for (const TacticTable& table : *tables) {
    auto made = CpuForward::make(build_graph(spec, options.rewrites), weights, built_in_head(),
                                 maker.for_table(table));
    if (!made) return made.error();
    forwards.push_back(std::move(*made));
  }
  const auto result = interleave(forwards[0], forwards[1], options.rule, now_s);
  for (std::size_t arm = 0; arm < 2; ++arm) {
    fmt::print("{}\n", protocol_line("AB"[arm], result.arms[arm].site_ms, result.arms[arm].logits));
  }
  for (std::size_t arm = 0; arm < 2; ++arm) {
    fmt::print("forward {}: {:.6f} ms, rest {:.6f} ms, {} rounds\n", "AB"[arm],
               result.arms[arm].forward_ms, result.arms[arm].rest_ms, result.rounds);
  }
  return {};
}

}  // namespace

int run_main(const std::vector<std::string>& arguments) {
  const auto vendor = cpu::make_site_gemm_vendor();
  if (arguments.size() == 1 && arguments[0] == "--help") {
    fmt::print("{}", kUsage);
    return 0;
  }
  if (arguments.size() == 1 && arguments[0] == "--impls") {
    print_impls(*vendor);
    return 0;
  }
  const auto options = parse(arguments);
  const Result<void> done = options ? run(*options, *vendor) : Result<void>(options.error());
  if (done) return 0;
  fmt::print(stderr, "v16: {}\n", done.error().message());
  return 2;
}

}  // namespace gemmpeak::v16

int main(int argc, char** argv) { return gemmpeak::v16::run_main({argv + 1, argv + argc}); }
