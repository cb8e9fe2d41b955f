// The CPU forward against the fp64 reference, and what the logits gate sees: every site of every
// layer is broken in turn.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>

#include "substrate/cpu_forward.hpp"
#include "substrate/element_gate.hpp"
#include "substrate/own_gemm.hpp"
#include "substrate/reference.hpp"
#include "substrate/rewrites.hpp"

namespace gemmpeak::substrate {
namespace {

enum class Fault { none, missing_product, shifted_rows, zero_tile, nan_element };

// Which node is broken, and how; shared by all sites of one forward.
struct Control {
  int layer = -1;
  Site site = Site::qkv;
  Fault fault = Fault::none;
  std::int64_t tile_row = 0;
  std::int64_t tile_column = 0;
  bool tf32 = false;
};

float round_tf32(float x) {  // to nearest even with 10 explicit mantissa bits
  auto bits = std::bit_cast<std::uint32_t>(x);
  bits += 0xFFFu + ((bits >> 13) & 1u);
  return std::bit_cast<float>(bits & ~0x1FFFu);
}

std::unique_ptr<SiteGemm> right_gemm(const SiteGemmDesc& desc) {
  if (desc.tokens == 1) return make_row_gemm(desc);
  return make_own_gemm(desc, tile_configs()[7], 1).value();
}

// A right GEMM that can be told to be wrong, or to round its operands as TF32 hardware does.
class TestGemm final : public SiteGemm {
 public:
  TestGemm(const ForwardNode& node, const SiteGemmDesc& desc, const Control& control)
      : node_(node), desc_(desc), control_(control) {
    if (control.tf32) {
      rounded_.assign(desc.weights, desc.weights + desc.od * desc.id);
      for (float& w : rounded_) w = round_tf32(w);
      desc_.weights = rounded_.data();
      rounded_in_.resize(static_cast<std::size_t>(desc.tokens * desc.id));
    }
    right_ = right_gemm(desc_);
  }

  void run(const float* in, const float* residual, float* out) override {
    if (control_.tf32) {
      for (std::size_t i = 0; i < rounded_in_.size(); ++i) rounded_in_[i] = round_tf32(in[i]);
      in = rounded_in_.data();
    }
    const bool broken = node_.layer == control_.layer && node_.site == control_.site;
    if (!broken) return right_->run(in, residual, out);
    run_broken(in, residual, out);
  }

 private:
  void run_broken(const float* in, const float* residual, float* out) {
    const auto size = static_cast<std::size_t>(desc_.od * desc_.id);
    std::vector<float> wrong(size, 0.0f);
    SiteGemmDesc desc = desc_;
    if (control_.fault == Fault::shifted_rows) {  // output i gets row i + 1
      for (std::size_t i = 0; i < size; ++i) {
        wrong[i] = desc_.weights[(i + static_cast<std::size_t>(desc_.id)) % size];
      }
    }
    if (control_.fault == Fault::missing_product || control_.fault == Fault::shifted_rows) {
      desc.weights = wrong.data();
    }
    right_gemm(desc)->run(in, residual, out);
    if (control_.fault == Fault::nan_element) out[5] = std::numeric_limits<float>::quiet_NaN();
    if (control_.fault == Fault::zero_tile) {
      const std::int64_t last_row = std::min(desc_.tokens, control_.tile_row + 64);
      for (std::int64_t t = control_.tile_row; t < last_row; ++t) {
        std::fill_n(out + t * desc_.od + control_.tile_column, 64, 0.0f);
      }
    }
  }

  ForwardNode node_;
  SiteGemmDesc desc_;
  const Control& control_;
  std::vector<float> rounded_;
  std::vector<float> rounded_in_;
  std::unique_ptr<SiteGemm> right_;
};

CpuForward make_forward(const ModelWeights<float>& weights, const Head& head,
                        const GraphRewrites& rewrites, const Control& control) {
  auto forward = CpuForward::make(
      build_graph(weights.spec, rewrites), weights, head,
      [&](const ForwardNode& node, const SiteGemmDesc& desc) {
        return Result<std::shared_ptr<SiteGemm>>(std::make_shared<TestGemm>(node, desc, control));
      });
  return std::move(forward).value();
}

const ModelWeights<float>& built_in_folded() {
  static const ModelWeights<float> weights = [] {
    auto model = seeded_weights(TransformerSpec{}, kBuiltInSeed);
    fold_norms(model);
    fold_attention_scale(model);
    return model;
  }();
  return weights;
}

double worst_move(const std::vector<double>& logits) {
  double worst = 0.0;
  for (std::size_t j = 0; j < kTargetLogits.size(); ++j) {
    const double moved = std::fabs(logits[j] - kTargetLogits[j]);
    if (!(moved <= worst)) worst = moved;
  }
  return worst;
}

TransformerSpec small_spec() {
  TransformerSpec spec;
  spec.layers = 2;
  spec.d = 64;
  spec.heads = 4;
  spec.feed_forward = 128;
  spec.tokens = 64;
  return spec;
}

TEST(CpuForward, EveryCombinationOfRewritesEqualsTheReferenceToFloatRounding) {
  const auto original = seeded_weights(small_spec(), 3);
  const auto stream = reference_stream(original);
  const Head head = make_head(small_spec(), 3, calibrate(small_spec(), 3, stream));
  const Control control;
  for (bool norms : {false, true}) {
    for (bool scale : {false, true}) {
      for (bool prune : {false, true}) {
        auto weights = original;
        if (norms) fold_norms(weights);
        if (scale) fold_attention_scale(weights);
        auto forward = make_forward(weights, head, {.prune_last = prune}, control);
        EXPECT_LT(worst_move(forward.run()), 2e-5) << norms << scale << prune;
      }
    }
  }
}

TEST(CpuForward, AwkwardTokenCountsGetNoPaddingAndNoError) {
  TransformerSpec spec = small_spec();
  for (int tokens : {1, 31, 33, 77}) {
    spec.tokens = tokens;
    const auto weights = seeded_weights(spec, 3);
    const Head head = make_head(spec, 3, calibrate(spec, 3, reference_stream(weights)));
    auto forward = CpuForward::make(build_graph(spec, {}), weights, head,
                                    [](const ForwardNode&, const SiteGemmDesc& desc) {
                                      return Result<std::shared_ptr<SiteGemm>>(make_row_gemm(desc));
                                    });
    EXPECT_LT(worst_move(forward->run()), 1e-4) << tokens;
  }
}

TEST(CpuForward, TheBuiltInModelGivesTheTargetLogitsWithAndWithoutPruning) {
  const Control control;
  for (bool prune : {false, true}) {
    auto forward = make_forward(built_in_folded(), built_in_head(), {.prune_last = prune}, control);
    const double moved = worst_move(forward.run());
    std::printf("float32, pruning %d: logits within %.2e\n", prune, moved);
    EXPECT_LT(moved, 1e-4);
  }
}

TEST(CpuForward, EverySiteOfTwoLayersPassesTheElementGateInContext) {
  const Control control;
  auto forward = make_forward(built_in_folded(), built_in_head(), {}, control);
  double worst = 0.0;
  (void)forward.run([&](const CpuForward& at, std::size_t index) {
    const ForwardNode& node = at.graph().nodes[index];
    if (node.op != ForwardOp::site || (node.layer != 4 && node.layer != 11)) return;
    const GateVerdict verdict = check_node(at, index, kFloat32Rule);
    EXPECT_TRUE(verdict.passed()) << node.str() << ": " << verdict.str();
    worst = std::fmax(worst, verdict.worst_ratio);
  });
  std::printf("worst error in context: %.3f of its bound\n", worst);
}

TEST(LogitsGate, Tf32OperandsStayUnderOneThousandth) {
  Control control;
  control.tf32 = true;
  auto forward = make_forward(built_in_folded(), built_in_head(), {}, control);
  const double moved = worst_move(forward.run());
  std::printf("TF32 operands rounded to nearest move a logit by %.2e\n", moved);
  EXPECT_LT(moved, 1e-3);
}

// A forward, and its right streams before every layer.
struct Bench {
  explicit Bench(const ModelWeights<float>& weights)
      : forward(make_forward(weights, built_in_head(), {}, control)) {
    (void)forward.run([this](const CpuForward& at, std::size_t index) {
      const ForwardNode& node = at.graph().nodes[index];
      if (node.op != ForwardOp::normalize || node.site != Site::qkv) return;
      const auto x = at.slot(Slot::x);
      streams.emplace_back(x.begin(), x.end());
    });
  }

  double move_with(Fault fault, int layer, Site site) {
    control.fault = fault;
    control.layer = layer;
    control.site = site;
    return worst_move(forward.run_from(layer, streams[static_cast<std::size_t>(layer)]));
  }

  Control control;
  CpuForward forward;
  std::vector<std::vector<float>> streams;
};

// Breaks every site of every `step`th layer and prints the smallest move of a logit; returns how
// many trip the gate.
int count_caught(Bench& bench, Fault fault, int step, const char* what) {
  double smallest = INFINITY;
  int caught = 0;
  int tried = 0;
  std::string where;
  for (int layer = 0; layer < bench.forward.graph().spec.layers; layer += step) {
    for (Site site : kSites) {
      const double moved = bench.move_with(fault, layer, site);
      ++tried;
      if (!(moved <= kLogitsGate)) ++caught;
      if (moved < smallest) {
        smallest = moved;
        where = "layer " + std::to_string(layer) + " " + std::string(site_name(site));
      }
    }
  }
  std::printf("%s: %d of %d trip the logits gate, the smallest moves a logit by %.4f (%s)\n", what,
              caught, tried, smallest, where.c_str());
  return caught;
}

TEST(LogitsGate, AMissingGemmInAnySiteOfAnyLayerTripsIt) {
  Bench bench(built_in_folded());
  EXPECT_EQ(count_caught(bench, Fault::missing_product, 1, "product missing"), 48);
}

TEST(LogitsGate, OutputsShiftedByOneTripItAtEverySiteOfEveryThirdLayer) {
  Bench bench(built_in_folded());
  EXPECT_EQ(count_caught(bench, Fault::shifted_rows, 3, "outputs shifted by one"), 16);
}

TEST(LogitsGate, SeesMostZeroedTilesAndLeavesTheRestToTheElementGate) {
  Bench bench(built_in_folded());
  EXPECT_GT(count_caught(bench, Fault::zero_tile, 3, "one 64x64 tile zero"), 8);
}

TEST(LogitsGate, OneNanElementAnywhereReachesTheLogits) {
  const auto weights = seeded_weights(small_spec(), 3);
  const Head head =
      make_head(small_spec(), 3, calibrate(small_spec(), 3, reference_stream(weights)));
  Control control;
  auto forward = make_forward(weights, head, {}, control);
  control.fault = Fault::nan_element;
  for (int layer = 0; layer < 2; ++layer) {
    for (Site site : kSites) {
      control.layer = layer;
      control.site = site;
      EXPECT_TRUE(std::isnan(forward.run()[0])) << layer << site_name(site);
    }
  }
}

}  // namespace
}  // namespace gemmpeak::substrate
