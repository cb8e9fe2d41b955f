#include "backends/cpu/site_gemm_vendor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "base/clones.hpp"
#include "base/float_math.hpp"

#ifdef GEMMPEAK_HAVE_DNNL
#include <oneapi/dnnl/dnnl.hpp>
#endif
#ifdef GEMMPEAK_HAVE_OPENBLAS
#include <cblas.h>
#endif

namespace gemmpeak::cpu {
namespace {

enum class Way { dnnl_inner_product, dnnl_matmul, openblas };

// In the order of the suggestions: the first is the default (impl -1).
const std::vector<Way>& ways() {
  static const std::vector<Way> all = {
#ifdef GEMMPEAK_HAVE_DNNL
      Way::dnnl_inner_product,
      Way::dnnl_matmul,
#endif
#ifdef GEMMPEAK_HAVE_OPENBLAS
      Way::openblas,
#endif
  };
  return all;
}

#ifdef GEMMPEAK_HAVE_DNNL

// The residual enters by the sum post-operation, which reads what the destination holds.
dnnl::primitive_attr epilogue_attributes(Epilogue epilogue) {
  dnnl::post_ops post;
  if (epilogue == Epilogue::bias_residual) post.append_sum(1.0f);
  if (epilogue == Epilogue::bias_gelu) {
#if DNNL_VERSION_MAJOR >= 3
    post.append_eltwise(dnnl::algorithm::eltwise_gelu_tanh, 0.0f, 0.0f);
#else
    post.append_eltwise(1.0f, dnnl::algorithm::eltwise_gelu_tanh, 0.0f, 0.0f);
#endif
  }
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(post);
  return attributes;
}

using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;
constexpr auto kFloat = dnnl::memory::data_type::f32;

dnnl::memory::desc float_desc(const Dims& dims, Tag tag) { return {dims, kFloat, tag}; }

dnnl::inner_product_forward::primitive_desc inner_product_desc(const dnnl::engine& engine,
                                                               const SiteGemmDesc& d) {
  const auto source = float_desc({d.tokens, d.id}, Tag::ab);
  const auto weights = float_desc({d.od, d.id}, Tag::any);
  const auto bias = float_desc({d.od}, Tag::a);
  const auto out = float_desc({d.tokens, d.od}, Tag::ab);
  const auto kind = dnnl::prop_kind::forward_inference;
#if DNNL_VERSION_MAJOR >= 3
  return {engine, kind, source, weights, bias, out, epilogue_attributes(d.epilogue)};
#else
  return {{kind, source, weights, bias, out}, epilogue_attributes(d.epilogue), engine};
#endif
}

dnnl::matmul::primitive_desc matmul_site_desc(const dnnl::engine& engine, const SiteGemmDesc& d) {
  const auto source = float_desc({d.tokens, d.id}, Tag::ab);
  const auto weights = float_desc({d.id, d.od}, Tag::any);
  const auto bias = float_desc({1, d.od}, Tag::ab);
  const auto out = float_desc({d.tokens, d.od}, Tag::ab);
#if DNNL_VERSION_MAJOR >= 3
  return {engine, source, weights, bias, out, epilogue_attributes(d.epilogue)};
#else
  return {{source, weights, bias, out}, epilogue_attributes(d.epilogue), engine};
#endif
}

class DnnlGemm final : public SiteGemm {
 public:
  DnnlGemm(const dnnl::engine& engine, const SiteGemmDesc& desc, Way way)
      : desc_(desc), engine_(engine), stream_(engine) {
    if (way == Way::dnnl_inner_product) {
      const auto chosen = inner_product_desc(engine_, desc_);
      primitive_ = dnnl::inner_product_forward(chosen);
      take(chosen, float_desc({desc_.od, desc_.id}, Tag::ab));
    } else {
      const auto chosen = matmul_site_desc(engine_, desc_);
      primitive_ = dnnl::matmul(chosen);
      take(chosen, float_desc({desc_.id, desc_.od}, Tag::ba));
    }
  }

  void run(const float* in, const float* residual, float* out) override {
    if (residual != nullptr) {
      std::memcpy(out, residual, static_cast<std::size_t>(desc_.tokens * desc_.od) * sizeof(float));
    }
    arguments_[DNNL_ARG_SRC].set_data_handle(const_cast<float*>(in));
    arguments_[DNNL_ARG_DST].set_data_handle(out);
    primitive_.execute(stream_, arguments_);
    stream_.wait();
  }

 private:
  // Puts the weights into the layout the primitive asks for, and prepares its arguments.
  template <class Chosen>
  void take(const Chosen& chosen, const dnnl::memory::desc& plain) {
    dnnl::memory given(plain, engine_, const_cast<float*>(desc_.weights));
    dnnl::memory weights = given;
    if (chosen.weights_desc() != plain) {
      weights = dnnl::memory(chosen.weights_desc(), engine_);
      dnnl::reorder(given, weights).execute(stream_, given, weights);
      stream_.wait();
    }
    arguments_.emplace(DNNL_ARG_SRC, dnnl::memory(chosen.src_desc(), engine_, nullptr));
    arguments_.emplace(DNNL_ARG_WEIGHTS, weights);
    arguments_.emplace(DNNL_ARG_BIAS,
                       dnnl::memory(chosen.bias_desc(), engine_, const_cast<float*>(desc_.bias)));
    arguments_.emplace(DNNL_ARG_DST, dnnl::memory(chosen.dst_desc(), engine_, nullptr));
  }

  SiteGemmDesc desc_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::primitive primitive_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

Result<std::unique_ptr<SiteGemm>> make_dnnl(const dnnl::engine& engine, const SiteGemmDesc& desc,
                                            Way way) {
  try {
    return std::unique_ptr<SiteGemm>(std::make_unique<DnnlGemm>(engine, desc, way));
  } catch (const dnnl::error& error) {
    return Error{"oneDNN", static_cast<std::int64_t>(error.status), error.what()};
  }
}

#endif  // GEMMPEAK_HAVE_DNNL

#ifdef GEMMPEAK_HAVE_OPENBLAS

GEMMPEAK_CLONES void add_epilogue(const float* bias, Epilogue epilogue, std::int64_t n,
                                  float* row) {
  if (epilogue == Epilogue::bias_gelu) {
    for (std::int64_t i = 0; i < n; ++i) row[i] = gelu_tanh(row[i] + bias[i]);
  } else {
    for (std::int64_t i = 0; i < n; ++i) row[i] += bias[i];
  }
}

class OpenBlasGemm final : public SiteGemm {
 public:
  explicit OpenBlasGemm(const SiteGemmDesc& desc) : desc_(desc) {}

  void run(const float* in, const float* residual, float* out) override {
    if (residual != nullptr) {
      std::memcpy(out, residual, static_cast<std::size_t>(desc_.tokens * desc_.od) * sizeof(float));
    }
    const auto tokens = static_cast<blasint>(desc_.tokens);
    const auto od = static_cast<blasint>(desc_.od);
    const auto id = static_cast<blasint>(desc_.id);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, tokens, od, id, 1.0f, in, id,
                desc_.weights, id, residual != nullptr ? 1.0f : 0.0f, out, od);
#pragma omp parallel for schedule(static)
    for (std::int64_t t = 0; t < desc_.tokens; ++t) {
      add_epilogue(desc_.bias, desc_.epilogue, desc_.od, out + t * desc_.od);
    }
  }

 private:
  SiteGemmDesc desc_;
};

#endif  // GEMMPEAK_HAVE_OPENBLAS

class CpuSiteGemmVendor final : public SiteGemmVendor {
 public:
  int suggestions() const override { return static_cast<int>(ways().size()); }

  std::string describe(int suggestion) const override {
    switch (ways()[static_cast<std::size_t>(suggestion)]) {
      case Way::dnnl_inner_product:
        return "oneDNN inner product, epilogue fused";
      case Way::dnnl_matmul:
        return "oneDNN matmul, epilogue fused";
      case Way::openblas:
        return "OpenBLAS sgemm, then the epilogue";
    }
    return {};
  }

  Result<std::unique_ptr<SiteGemm>> make(const SiteGemmDesc& desc, int suggestion) override {
    if (suggestion < 0 || suggestion >= suggestions()) {
      return error_text(fmt::format("there is no vendor suggestion {}", suggestion));
    }
    const Way way = ways()[static_cast<std::size_t>(suggestion)];
#ifdef GEMMPEAK_HAVE_OPENBLAS
    if (way == Way::openblas) {
      return std::unique_ptr<SiteGemm>(std::make_unique<OpenBlasGemm>(desc));
    }
#endif
#ifdef GEMMPEAK_HAVE_DNNL
    if (way != Way::openblas) return make_dnnl(engine_, desc, way);
#endif
    return error_text("this way was not built in");
  }

 private:
#ifdef GEMMPEAK_HAVE_DNNL
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
#endif
};

}  // namespace

std::unique_ptr<SiteGemmVendor> make_site_gemm_vendor() {
  return std::make_unique<CpuSiteGemmVendor>();
}

}  // namespace gemmpeak::cpu
