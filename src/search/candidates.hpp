// Which shapes to try: wave-quantised layouts, the plane, the refined neighbourhood, and grids the
// user gave (PARITY S1..S4, C3, C4). Used by find. Pure functions and one ask/tell strategy; it
// knows no device, no clock and no file.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "model/device_info.hpp"
#include "model/dtype.hpp"
#include "model/knobs.hpp"
#include "model/shape.hpp"

namespace gemmpeak::search {

using MN = std::pair<std::int64_t, std::int64_t>;

struct Geometry {
  int units = 0;
  TileHint tile;
  std::int64_t min_size = 1024;
  std::int64_t max_size = 20480;
  std::int64_t base = 256;  // step of M and N: the smallest multiple of 256 and of the alignment
  std::int64_t k_step = 1024;
  std::int64_t alignment = 64;  // elements in 128 bytes
};
Geometry make_geometry(const DeviceInfo& device, DType dtype, const Knobs& knobs);

// blocks / (waves x units): the share of scheduled waves that does useful work.
double wave_efficiency(std::int64_t m, std::int64_t n, int units, TileHint tile);

struct WaveLayouts {
  MN square;  // most square M x N; {0, 0} where that one was dropped as unaligned
  std::vector<MN>
      layouts;  // {square, widest, tallest, transposed square where legal}, sorted, unique
};
// The reference's function exactly (no alignment snapping), for waves 1..max_waves.
std::map<int, WaveLayouts> wave_layouts(int units, std::int64_t max_size, TileHint tile,
                                        std::int64_t min_dim, int max_waves = 16);
// Our candidates: the same, those with an M or N that is no multiple of `base` dropped (S4). On
// small geometries (max_size up to 4096, few units with small tiles: CPUs) the waves are scaled:
// the wave counts up to max_size x max_size in four ranges, from each the largest best-filling
// aligned M x N.
std::map<int, WaveLayouts> aligned_wave_layouts(const Geometry& geometry);

std::vector<std::int64_t> wave_ks(const Geometry& geometry);      // S1
std::vector<std::int64_t> plane_sizes(const Geometry& geometry);  // S2
std::vector<std::int64_t> plane_ks(const Geometry& geometry);
std::vector<GemmShape> refine_grid(const Geometry& geometry, std::span<const GemmShape> seeds,
                                   int radius_mn, int radius_k);  // S3

// One scouted shape as the rules see it.
struct Scouted {
  GemmShape shape;
  double mean_tflops = 0;
  double max_tflops = 0;
  std::optional<double> power_w;
  std::optional<double> clock_max_mhz;
};

// Ask/tell over the auto phases. ask() gives the next batch (phase name and shapes, each shape once
// in the life of the strategy) or nothing at the end; tell() reports one measured shape of it.
struct Batch {
  std::string phase;  // "wave", "plane", "refine"
  std::vector<GemmShape> shapes;
};
class AutoStrategy {
 public:
  AutoStrategy(Geometry geometry, const Knobs& knobs);
  std::optional<Batch> ask();
  void tell(const Scouted& scouted);  // failed shapes are not told
  const std::map<int, WaveLayouts>& waves() const { return waves_; }
  std::set<MN> wave_mn() const;

 private:
  Geometry geometry_;
  Knobs knobs_;
  std::map<int, WaveLayouts> waves_;
  std::set<GemmShape> asked_;
  std::vector<Scouted> told_;
  int phase_ = 0;
};

// --m 1 2 3 or --m_range START STOP [STEP]: the values, duplicates removed, order kept. STEP
// defaults to 256; START 0 means START = STEP; a negative STEP with START > STOP is legal. Errors
// name the option (`--m_range`) and the value: zero STEP or value, negative value, empty range,
// over 2^31-1.
Result<std::vector<std::int64_t>> dimension_values(const std::string& option,
                                                   std::span<const std::int64_t> values);
Result<std::vector<std::int64_t>> dimension_range(const std::string& option,
                                                  std::span<const std::int64_t> start_stop_step);
// M outermost, K innermost; each shape once. Ask grid_too_large first.
std::vector<GemmShape> grid_product(std::span<const std::int64_t> m,
                                    std::span<const std::int64_t> n,
                                    std::span<const std::int64_t> k);
// Why a grid of so many values a dimension must not even be built, or nothing.
std::optional<std::string> grid_too_large(std::size_t m, std::size_t n, std::size_t k);
// C4: one shape a line, separated by blanks, commas or x/X; `#` comments. Errors: "FILE:LINE: ...".
Result<std::vector<GemmShape>> parse_shapes(const std::string& file_name, const std::string& text);
// C5: the dims that break a known alignment rule of the dtype, as one sentence, or nothing.
std::optional<std::string> alignment_violations(DType dtype, std::span<const GemmShape> shapes,
                                                std::span<const int> mnk_multiples);

}  // namespace gemmpeak::search
