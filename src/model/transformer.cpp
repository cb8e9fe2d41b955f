#include "model/transformer.hpp"

#include "base/check.hpp"

namespace gemmpeak {

SiteShape site_shape(const TransformerSpec& spec, Site site) {
  const std::int64_t d = spec.d;
  const std::int64_t ff = spec.feed_forward;
  const std::int64_t tokens = spec.tokens;
  switch (site) {
    case Site::qkv:
      return {3 * d, d, tokens, Epilogue::bias};
    case Site::wo:
      return {d, d, tokens, Epilogue::bias_residual};
    case Site::w1:
      return {ff, d, tokens, Epilogue::bias_gelu};
    case Site::w2:
      return {d, ff, tokens, Epilogue::bias_residual};
  }
  GEMMPEAK_CHECK(false, "a site beyond the four");
}

}  // namespace gemmpeak
