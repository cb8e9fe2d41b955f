#include "model/reading.hpp"

#include <array>
#include <cstdio>
#include <utility>

namespace gemmpeak {
namespace {

constexpr std::array<std::pair<std::uint64_t, const char*>, 9> kReasons{{
    {0x1, "idle"},
    {0x2, "application clocks"},
    {0x4, "power cap"},
    {0x8, "hardware slowdown"},
    {0x10, "sync boost"},
    {0x20, "software thermal"},
    {0x40, "hardware thermal"},
    {0x80, "power brake"},
    {0x100, "display clocks"},
}};

}  // namespace

std::vector<std::string> throttle_names(std::uint64_t reasons) {
  std::vector<std::string> out;
  for (const auto& [bit, name] : kReasons) {
    if (reasons & bit) out.emplace_back(name);
    reasons &= ~bit;
  }
  for (int shift = 0; reasons != 0; ++shift, reasons >>= 1) {
    if ((reasons & 1) == 0) continue;
    char text[32];
    std::snprintf(text, sizeof text, "bit 0x%llx", 1ULL << shift);
    out.emplace_back(text);
  }
  return out;
}

}  // namespace gemmpeak
