#include "search/candidates.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace gemmpeak::search {
namespace {

// M and N move in steps of 256: a multiple of the 128- and 256-wide tiles of today's kernels (S4).
constexpr std::int64_t kStepMn = 256;
// K moves in steps of 1024 (S1, S3): several k-blocks of every kernel, and never unaligned.
constexpr std::int64_t kStepK = 1024;
constexpr int kMaxWaves = 16;
// S1 and S2, the reference's own lists.
constexpr std::int64_t kWaveKs[] = {1024, 8192, 12288, 14336, 16384};
constexpr std::int64_t kPlaneSizes[] = {2048, 4096, 6144, 8192, 10752, 12288, 14336, 16384, 18432};
constexpr std::int64_t kPlaneKs[] = {1024, 3072};
// Up to here S2's list has two values at most, so the plane is laid in four even steps instead.
constexpr std::int64_t kSmallSize = 4096;
constexpr int kSmallPlaneSteps = 4;
// The reference's 16 waves end at a square of sqrt(16 units tile): with fewer units than makes that
// an eighth of max_size, every wave layout would be far below the sizes where a device peaks.
constexpr double kReach = 1.0 / 64;
// Layouts whose useful shares differ by less are taken as equal: rounding of the quotient.
constexpr double kSameFill = 1e-9;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t round_down(std::int64_t value, std::int64_t step) { return value - value % step; }
std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return ceil_div(value, step) * step;
}

std::int64_t largest_mn(const Geometry& g) { return round_down(g.max_size, g.base); }

std::int64_t largest_k(const Geometry& g) {
  const std::int64_t step = std::lcm(kStepK, g.alignment);
  return g.max_size >= step ? round_down(g.max_size, step) : round_down(g.max_size, g.alignment);
}

bool aligned_mn(const Geometry& g, MN mn) {
  return mn.first % g.base == 0 && mn.second % g.base == 0;
}

// Ascending, unique, within min_size..limit and multiples of `step`.
std::vector<std::int64_t> legal(std::vector<std::int64_t> values, const Geometry& g,
                                std::int64_t limit, std::int64_t step) {
  std::erase_if(values, [&](std::int64_t v) {
    return v < std::max<std::int64_t>(g.min_size, 1) || v > limit || v % step != 0;
  });
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

// The reference's choice among the M x N of one wave count, which come in rising M. Of equally
// square ones the first is the square: log(a/b) and log(b/a) differ by rounding, so that either
// orientation may win, and the other is added as the transpose (libraries are not symmetric).
WaveLayouts choose_layouts(const std::vector<MN>& pairs) {
  const auto skew = [](MN mn) {
    return std::fabs(std::log(static_cast<double>(mn.first) / static_cast<double>(mn.second)));
  };
  const auto by = [&pairs](auto less) {
    return std::max_element(pairs.begin(), pairs.end(), less);
  };
  WaveLayouts out;
  out.square =
      *std::min_element(pairs.begin(), pairs.end(), [&](MN a, MN b) { return skew(a) < skew(b); });
  std::set<MN> chosen{out.square, *by([](MN a, MN b) { return a.second < b.second; }),
                      *by([](MN a, MN b) { return a.first < b.first; })};
  const MN transposed{out.square.second, out.square.first};
  if (std::find(pairs.begin(), pairs.end(), transposed) != pairs.end()) chosen.insert(transposed);
  out.layouts.assign(chosen.begin(), chosen.end());
  return out;
}

// Useful share of the scheduled work, part-filled edge tiles counted as lost too.
double fill(MN mn, int units, TileHint tile) {
  const std::int64_t blocks = ceil_div(mn.first, tile.m) * ceil_div(mn.second, tile.n);
  const double scheduled = static_cast<double>(ceil_div(blocks, units)) * units * tile.m * tile.n;
  return static_cast<double>(mn.first) * static_cast<double>(mn.second) / scheduled;
}

// Few units or small tiles (CPUs): the first 16 waves would end far below min_size. So the wave
// counts up to the one that fills max_size x max_size are scaled into four ranges of equal width,
// and from each come the largest aligned M x N that leave the least of their last wave idle.
// Keyed 1..4.
std::map<int, WaveLayouts> scaled_layouts(const Geometry& g) {
  const std::int64_t limit = largest_mn(g);
  const double full = static_cast<double>(limit) * static_cast<double>(limit);
  const std::int64_t least = round_up(std::max<std::int64_t>(g.min_size, 1), g.base);
  std::map<int, std::vector<MN>> ranges;
  std::map<int, std::pair<double, double>> best;  // fill, area
  for (std::int64_t m = least; m <= limit; m += g.base) {
    for (std::int64_t n = least; n <= limit; n += g.base) {
      const double area = static_cast<double>(m) * static_cast<double>(n);
      const int range = static_cast<int>(std::ceil(4 * area / full));
      const double share = fill({m, n}, g.units, g.tile);
      auto [at, fresh] = best.try_emplace(range, share, area);
      const bool better = share > at->second.first + kSameFill ||
                          (share > at->second.first - kSameFill && area > at->second.second);
      if (!fresh && better) {
        at->second = {share, area};
        ranges[range].clear();
      }
      if (fresh || better || (share > at->second.first - kSameFill && area == at->second.second))
        ranges[range].emplace_back(m, n);
    }
  }
  std::map<int, WaveLayouts> out;
  for (const auto& [range, pairs] : ranges) out[range] = choose_layouts(pairs);
  return out;
}

}  // namespace

Geometry make_geometry(const DeviceInfo& device, DType dtype, const Knobs& knobs) {
  Geometry g;
  g.units = device.units;
  g.tile = device.tile.value_or(TileHint{});
  g.min_size = knobs.min_size;
  g.max_size = knobs.max_size;
  g.alignment = dtype_alignment_elements(dtype);
  g.base = std::lcm(kStepMn, g.alignment);
  while (g.base > g.max_size && g.base % 2 == 0 && g.base / 2 % g.alignment == 0) g.base /= 2;
  const std::int64_t k_max = largest_k(g);
  g.k_step = k_max > kStepK ? std::lcm(kStepK, g.alignment)
                            : std::max(g.alignment, round_down(k_max / 4, g.alignment));
  return g;
}

double wave_efficiency(std::int64_t m, std::int64_t n, int units, TileHint tile) {
  if (m <= 0 || n <= 0 || units <= 0 || tile.m <= 0 || tile.n <= 0) return 0;
  const std::int64_t blocks = ceil_div(m, tile.m) * ceil_div(n, tile.n);
  return static_cast<double>(blocks) / static_cast<double>(ceil_div(blocks, units) * units);
}

std::map<int, WaveLayouts> wave_layouts(int units, std::int64_t max_size, TileHint tile,
                                        std::int64_t min_dim, int max_waves) {
  std::map<int, WaveLayouts> out;
  for (int wave = 1; wave <= max_waves; ++wave) {
    const std::int64_t blocks = static_cast<std::int64_t>(wave) * units;
    std::vector<MN> pairs;
    for (std::int64_t p = 1; p <= blocks; ++p) {
      if (blocks % p != 0) continue;
      const std::int64_t m = tile.m * p;
      const std::int64_t n = tile.n * (blocks / p);
      if (min_dim <= m && m <= max_size && min_dim <= n && n <= max_size) pairs.emplace_back(m, n);
    }
    if (!pairs.empty()) out[wave] = choose_layouts(pairs);
  }
  return out;
}

std::map<int, WaveLayouts> aligned_wave_layouts(const Geometry& g) {
  if (g.units <= 0 || g.tile.m <= 0 || g.tile.n <= 0) return {};
  const double reach = static_cast<double>(kMaxWaves) * g.units * g.tile.m * g.tile.n;
  const double full = static_cast<double>(g.max_size) * static_cast<double>(g.max_size);
  if (g.max_size <= kSmallSize || reach < kReach * full) return scaled_layouts(g);
  std::map<int, WaveLayouts> out;
  for (auto& [wave, found] : wave_layouts(g.units, g.max_size, g.tile, g.min_size, kMaxWaves)) {
    std::erase_if(found.layouts, [&g](MN mn) { return !aligned_mn(g, mn); });
    if (found.layouts.empty()) continue;
    // The next most square may be a thin strip, which no confirm set should be forced to hold.
    if (!aligned_mn(g, found.square)) found.square = {0, 0};
    out[wave] = found;
  }
  return out.empty() ? scaled_layouts(g) : out;
}

// S1, as far as it goes below max_size. Where k_max is no more than 1024 that would be one depth:
// then its quarter, half and whole. With a max_size under 2048 but over 1024, k_max is 1024 itself.
std::vector<std::int64_t> wave_ks(const Geometry& g) {
  const std::int64_t k_max = largest_k(g);
  std::vector<std::int64_t> ks(std::begin(kWaveKs), std::end(kWaveKs));
  ks.push_back(k_max);
  if (k_max <= kStepK) {
    ks = {round_down(k_max / 4, g.alignment), round_down(k_max / 2, g.alignment), k_max};
  }
  ks = legal(std::move(ks), g, k_max, g.alignment);
  return ks;
}

std::vector<std::int64_t> plane_sizes(const Geometry& g) {
  const std::int64_t limit = largest_mn(g);
  std::vector<std::int64_t> sizes{limit};
  if (g.max_size <= kSmallSize) {
    const std::int64_t step = std::max(g.base, round_down(limit / kSmallPlaneSteps, g.base));
    for (int i = 1; i < kSmallPlaneSteps; ++i) sizes.push_back(limit - i * step);
  } else {
    sizes.insert(sizes.end(), std::begin(kPlaneSizes), std::end(kPlaneSizes));
  }
  return legal(std::move(sizes), g, limit, g.base);
}

std::vector<std::int64_t> plane_ks(const Geometry& g) {
  const std::int64_t k_max = largest_k(g);
  std::vector<std::int64_t> ks =
      legal({std::begin(kPlaneKs), std::end(kPlaneKs)}, g, k_max, g.alignment);
  if (ks.empty()) ks = legal({k_max}, g, k_max, g.alignment);
  return ks;
}

std::vector<GemmShape> refine_grid(const Geometry& g, std::span<const GemmShape> seeds,
                                   int radius_mn, int radius_k) {
  std::vector<GemmShape> out;
  std::set<GemmShape> seen;
  // K's lower bound is M's: the reference compares all three with one step of M.
  const auto inside = [&g](const GemmShape& s) {
    return std::min({s.m, s.n, s.k}) >= g.base && std::max({s.m, s.n, s.k}) <= g.max_size;
  };
  for (const GemmShape& seed : seeds)
    for (int dm = -radius_mn; dm <= radius_mn; ++dm)
      for (int dn = -radius_mn; dn <= radius_mn; ++dn)
        for (int dk = -radius_k; dk <= radius_k; ++dk) {
          const GemmShape shape{seed.m + dm * g.base, seed.n + dn * g.base, seed.k + dk * g.k_step};
          if (inside(shape) && seen.insert(shape).second) out.push_back(shape);
        }
  return out;
}

}  // namespace gemmpeak::search
