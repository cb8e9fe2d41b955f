// oneDNN as a Provider: float32, bfloat16, float16 and int8 where the library has more than its
// reference path on this CPU. Exceptions of its C++ interface end here.
#include <optional>
#include <unordered_map>

#include "backends/cpu/dnnl_shim.hpp"
#include "backends/cpu/provider.hpp"

namespace gemmpeak::cpu {
namespace {

using dnnl::memory;

std::optional<memory::data_type> data_type(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return memory::data_type::f32;
    case DType::bfloat16:
      return memory::data_type::bf16;
    case DType::float16:
      return memory::data_type::f16;
    case DType::int8:
      return memory::data_type::s8;
    case DType::int32:
      return memory::data_type::s32;
    default:
      return std::nullopt;
  }
}

// "ref:any", "gemm:ref", "ref_int8:any": the library's plain loops.
bool is_reference(const std::string& implementation) {
  return implementation.find("ref") != std::string::npos;
}

std::string version_text() {
  const dnnl_version_t* v = dnnl_version();
  return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
}

Error dnnl_error(const char* api, const dnnl::error& error) {
  return Error{api, static_cast<std::int64_t>(error.status), error.message};
}

class DnnlPlan final : public CpuPlan {
 public:
  DnnlPlan(const GemmProblem& problem, Algorithm algorithm,
           const dnnl::matmul::primitive_desc& description, const dnnl::engine& engine)
      : CpuPlan(problem, std::move(algorithm)),
        primitive_(description),
        stream_(engine),
        a_(description.src_desc(), engine, DNNL_MEMORY_NONE),
        b_(description.weights_desc(), engine, DNNL_MEMORY_NONE),
        c_(description.dst_desc(), engine, DNNL_MEMORY_NONE),
        arguments_{{DNNL_ARG_SRC, a_}, {DNNL_ARG_WEIGHTS, b_}, {DNNL_ARG_DST, c_}} {}

  Result<void> run(const void* a, const void* b, void* c) const override {
    try {
      // Handles are shared: the copies in arguments_ see the new pointers.
      a_.set_data_handle(const_cast<void*>(a));
      b_.set_data_handle(const_cast<void*>(b));
      c_.set_data_handle(c);
      primitive_.execute(stream_, arguments_);
      stream_.wait();
    } catch (const dnnl::error& error) {
      return dnnl_error("dnnl::matmul::execute", error);
    }
    return {};
  }

 private:
  dnnl::matmul primitive_;
  mutable dnnl::stream stream_;
  mutable memory a_, b_, c_;
  std::unordered_map<int, memory> arguments_;
};

class DnnlProvider final : public Provider {
 public:
  explicit DnnlProvider(std::string cpu)
      : cpu_(std::move(cpu)), engine_(dnnl::engine::kind::cpu, 0) {
    // Set here, so that the environment cannot turn float32 into something shorter.
    attributes_.set_fpmath_mode(dnnl::fpmath_mode::strict);
  }

  std::string name() const override { return "oneDNN"; }
  std::string version() const override { return version_text(); }
  std::string threading() const override {
    return dnnl_version()->cpu_runtime == DNNL_RUNTIME_OMP
               ? ""
               : "oneDNN brings threads of its own, which are not pinned";
  }

  Capability capability(DType dtype) const override {
    const std::string type(dtype_name(dtype)), library = "oneDNN " + version_text();
    if (!data_type(dtype) || !dtype_info(dtype).input)
      return {false, library + " has no " + type + " product", ""};
    constexpr std::int64_t kTrial = 128;  // large enough for every optimised path
    const auto found = describe(reference_problem(dtype, {kTrial, kTrial, kTrial}));
    const std::string hint =
        dtype == DType::bfloat16 ? "needs AVX-512" : "needs AVX512-FP16 or AMX-FP16 and oneDNN 3";
    if (!found) {
      const bool known = dtype == DType::bfloat16 || dtype == DType::float16;
      return {false, library + " has no " + type + " product on " + cpu_,
              known ? hint : std::string()};
    }
    const std::string implementation = found->impl_info_str();
    if (is_reference(implementation))
      return {false,
              library + " has only its reference path (" + implementation + ") for " + type +
                  " on " + cpu_,
              hint};
    return {true, "", ""};
  }

  Result<std::unique_ptr<CpuPlan>> plan(const GemmProblem& problem) const override {
    try {
      auto found = describe(problem);
      if (!found) return found.error();
      const std::string implementation = found->impl_info_str();
      if (is_reference(implementation))
        return Error{"oneDNN", 0,
                     "only the reference path (" + implementation + ") for this shape"};
      Algorithm algorithm{"oneDNN", implementation, false,
                          found->query_s64(dnnl::query::memory_consumption_s64)};
      return std::unique_ptr<CpuPlan>(
          std::make_unique<DnnlPlan>(problem, std::move(algorithm), *found, engine_));
    } catch (const dnnl::error& error) {
      return dnnl_error("dnnl::matmul", error);
    }
  }

 private:
  Result<dnnl::matmul::primitive_desc> describe(const GemmProblem& p) const {
    const auto in = data_type(p.dtype), out = data_type(p.output);
    if (!in || !out) return error_text("oneDNN has no such element type");
    const bool a_by_k = p.layout == Layout::tn || p.layout == Layout::tt;
    const bool b_by_k = p.layout == Layout::tn || p.layout == Layout::nn;
    const auto [m, n, k] = p.shape;
    try {
      const memory::desc a({m, k}, *in, a_by_k ? memory::dims{k, 1} : memory::dims{1, m});
      const memory::desc b({k, n}, *in, b_by_k ? memory::dims{1, k} : memory::dims{n, 1});
      const memory::desc c({m, n}, *out, memory::dims{n, 1});
      return shim::matmul_desc(engine_, a, b, c, attributes_);
    } catch (const dnnl::error& error) {
      return dnnl_error("dnnl::matmul::primitive_desc", error);
    }
  }

  std::string cpu_;
  dnnl::engine engine_;
  dnnl::primitive_attr attributes_;
};

}  // namespace

std::unique_ptr<Provider> make_dnnl_provider(const std::string& cpu) {
  try {
    return std::make_unique<DnnlProvider>(cpu);
  } catch (const dnnl::error&) {
    return nullptr;  // no CPU engine: a GPU-only build of the library
  }
}

}  // namespace gemmpeak::cpu
