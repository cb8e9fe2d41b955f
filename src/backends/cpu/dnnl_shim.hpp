// The differences between oneDNN 2 and 3 that matter to a matrix product, in one place. Used by
// dnnl_provider.cpp only. In 3.0 the operation descriptors went away: a primitive descriptor is
// made straight from the engine and the memory descriptors. Everything else used there
// (impl_info_str, query_s64, set_data_handle, fpmath modes) is spelled the same in both.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#if DNNL_VERSION_MAJOR != 2 && DNNL_VERSION_MAJOR != 3
#error "gemmpeak's CPU backend knows oneDNN 2 and 3"
#endif

namespace gemmpeak::cpu::shim {

inline dnnl::matmul::primitive_desc matmul_desc(const dnnl::engine& engine,
                                                const dnnl::memory::desc& a,
                                                const dnnl::memory::desc& b,
                                                const dnnl::memory::desc& c,
                                                const dnnl::primitive_attr& attributes) {
#if DNNL_VERSION_MAJOR >= 3
  return dnnl::matmul::primitive_desc(engine, a, b, c, attributes);
#else
  return dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, c), attributes, engine);
#endif
}

}  // namespace gemmpeak::cpu::shim
