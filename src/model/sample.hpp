// The records of measuring: LoopSample (one loop of products on one shape), BurstSample (a boost
// burst, iteration by iteration), HeldSample (back to back), VerifyRecord. Used by measure (writes),
// search and find (read), the journal and reports. Raw values are kept; everything derived is a
// function of them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"
#include "model/outcome.hpp"
#include "model/problem.hpp"
#include "model/reading.hpp"

namespace gemmpeak {

// Sensors over a window: means and extremes of the readings inside it.
struct SensorSummary {
  int readings = 0;
  std::optional<double> power_w;        // mean
  std::optional<double> clock_min_mhz;
  std::optional<double> clock_mean_mhz;
  std::optional<double> clock_max_mhz;
  std::optional<double> temperature_c;  // last
  std::optional<double> energy_j;       // counter difference, where the readings span >= 1 s
  double energy_span_s = 0;             // between the two counter readings; 0 without energy_j
  std::optional<std::uint64_t> reasons;  // OR of all bits seen
};
SensorSummary summarise(const std::vector<Reading>& readings);

// What every timed window says about itself.
struct WindowFacts {
  double begin_s = 0;     // device's host clock at the first enqueue
  double host_s = 0;      // host clock, first enqueue to completion
  double span_s = 0;      // marks, begin to last end
  double duty = 0;        // time inside products / span
  std::optional<double> device_clock_mhz;  // stamps; over a flush loop it averages both phases
  bool device_clock_precise = false;
  SensorSummary sensors;
};

// One saturated loop (M2..M4): flush, copy of C, product, all queued, one wait.
struct LoopSample {
  GemmShape shape;
  std::string algorithm;
  Outcome outcome;
  std::vector<double> seconds;  // timed iterations, in order, warm-up ones excluded
  WindowFacts window;

  // TFLOPS from the mean, median and minimum time; 0 with no iterations.
  double mean_tflops() const;
  double median_tflops() const;
  double max_tflops() const;
};

// One iteration of a boost burst (M5).
struct BurstIteration {
  double seconds = 0;
  std::optional<double> clock_mhz;         // lowest sensor reading inside, else the nearest
  std::optional<double> power_w;
  std::optional<double> device_clock_mhz;  // stamps around the iteration (flush and copy included)
};

struct BurstSample {
  GemmShape shape;
  std::string algorithm;
  Outcome outcome;
  std::vector<BurstIteration> iterations;
  WindowFacts window;
  bool power_resolved = false;  // false: the sensor cannot see a window this short; print no watts

  double tflops(std::size_t iteration) const;
};

// Back to back: no gap, rotating operand sets.
struct HeldSample {
  GemmShape shape;
  std::string algorithm;
  Outcome outcome;
  int operand_sets = 0;
  std::int64_t set_bytes = 0;
  double warm_s = 0;       // until clock and rate were steady
  bool steady = false;
  std::vector<double> chunk_seconds;  // consecutive chunks of `chunk_products` products
  int chunk_products = 0;
  WindowFacts window;
  double tflops() const;   // all flop / span of the window
  // Joules per TFLOP from the energy counter, where the window was long enough.
  std::optional<double> joules_per_tflop() const;
};

struct VerifyRecord {
  GemmShape shape;
  std::string algorithm;
  Outcome outcome;          // ok, wrong_result or error
  std::int64_t checked = 0;
  std::int64_t bad = 0;
  std::int64_t unwritten = 0;
  double worst_ratio = 0;   // largest |error| / bound
  std::string bound;        // the bound in words and numbers
};

Json to_json(const LoopSample& sample);
Json to_json(const BurstSample& sample);
Json to_json(const HeldSample& sample);
Json to_json(const VerifyRecord& record);
Result<LoopSample> loop_from_json(const Json& json);
Result<BurstSample> burst_from_json(const Json& json);
Result<HeldSample> held_from_json(const Json& json);
Result<VerifyRecord> verify_from_json(const Json& json);

}  // namespace gemmpeak
