#include "model/sample.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "model/json_fields.hpp"

namespace gemmpeak {
namespace {

// Energy counters advance in steps of tens of milliseconds; over a second a step at either end is a
// few percent at most, and a shorter difference would be mostly step.
constexpr double kShortestEnergyWindow_s = 1.0;

double tflops_of(const GemmShape& shape, double seconds) {
  return seconds > 0 ? shape.flop() / seconds / 1e12 : 0;
}

double mean_of(const std::vector<double>& xs) {
  double sum = 0;
  for (const double x : xs) sum += x;
  return xs.empty() ? 0 : sum / static_cast<double>(xs.size());
}

double median_of(std::vector<double> xs) {
  if (xs.empty()) return 0;
  std::sort(xs.begin(), xs.end());
  const std::size_t middle = xs.size() / 2;
  return xs.size() % 2 != 0 ? xs[middle] : (xs[middle - 1] + xs[middle]) / 2;
}

void summarise_energy(const std::vector<Reading>& readings, SensorSummary& out) {
  const auto has_energy = [](const Reading& reading) { return reading.energy_j.has_value(); };
  const auto first = std::find_if(readings.begin(), readings.end(), has_energy);
  const auto last = std::find_if(readings.rbegin(), readings.rend(), has_energy);
  if (first == readings.end()) return;
  const double span_s = last->t_s - first->t_s;
  const double used_j = *last->energy_j - *first->energy_j;
  // A counter that fell was reset by the driver in between: no energy is known.
  if (span_s < kShortestEnergyWindow_s || used_j < 0) return;
  out.energy_j = used_j;
  out.energy_span_s = span_s;
}

Json sensors_json(const SensorSummary& sensors) {
  Json out = {{"readings", sensors.readings}};
  fields::put_optional(out, "power_w", sensors.power_w);
  fields::put_optional(out, "clock_min_mhz", sensors.clock_min_mhz);
  fields::put_optional(out, "clock_mean_mhz", sensors.clock_mean_mhz);
  fields::put_optional(out, "clock_max_mhz", sensors.clock_max_mhz);
  fields::put_optional(out, "temperature_c", sensors.temperature_c);
  fields::put_optional(out, "energy_j", sensors.energy_j);
  if (sensors.energy_j) out["energy_span_s"] = fields::number(sensors.energy_span_s);
  fields::put_optional(out, "reasons", sensors.reasons);
  return out;
}

Json window_json(const WindowFacts& window) {
  Json out = {{"begin_s", fields::number(window.begin_s)},
              {"host_s", fields::number(window.host_s)},
              {"span_s", fields::number(window.span_s)},
              {"duty", fields::number(window.duty)}};
  fields::put_optional(out, "device_clock_mhz", window.device_clock_mhz);
  out["device_clock_precise"] = window.device_clock_precise;
  out["sensors"] = sensors_json(window.sensors);
  return out;
}

Result<SensorSummary> sensors_from_json(const Json& json) {
  SensorSummary out;
  fields::Reader reader(json, "sensors");
  reader.get("readings", out.readings)
      .get("power_w", out.power_w)
      .get("clock_min_mhz", out.clock_min_mhz)
      .get("clock_mean_mhz", out.clock_mean_mhz)
      .get("clock_max_mhz", out.clock_max_mhz)
      .get("temperature_c", out.temperature_c)
      .get("energy_j", out.energy_j)
      .get("reasons", out.reasons);
  if (out.energy_j) reader.get("energy_span_s", out.energy_span_s);
  if (!reader.ok()) return reader.error();
  return out;
}

Result<WindowFacts> window_from_json(const Json& json) {
  WindowFacts out;
  fields::Reader reader(json, "window");
  reader.get("begin_s", out.begin_s)
      .get("host_s", out.host_s)
      .get("span_s", out.span_s)
      .get("duty", out.duty)
      .get("device_clock_mhz", out.device_clock_mhz)
      .get("device_clock_precise", out.device_clock_precise);
  const Json* sensors = reader.child("sensors");
  if (sensors == nullptr) return reader.error();
  auto read = sensors_from_json(*sensors);
  if (!read) return read.error();
  out.sensors = std::move(*read);
  return out;
}

// The members that every sample has.
template <class Sample>
Json sample_json(const Sample& sample) {
  return {{"shape", fields::shape(sample.shape)},
          {"algorithm", sample.algorithm},
          {"outcome", fields::outcome(sample.outcome)}};
}

template <class Sample>
void read_sample(fields::Reader& reader, Sample& out) {
  reader.get("shape", out.shape).get("algorithm", out.algorithm).get("outcome", out.outcome);
}

void read_window(fields::Reader& reader, WindowFacts& out) {
  const Json* json = reader.child("window");
  if (json == nullptr) return;
  auto window = window_from_json(*json);
  if (window) {
    out = std::move(*window);
  } else {
    reader.fail(window.error().text);
  }
}

void read_iterations(fields::Reader& reader, std::vector<BurstIteration>& out) {
  const Json* json = reader.child("iterations");
  if (json == nullptr) return;
  if (!json->is_array()) return reader.fail("'iterations' is not an array");
  for (const Json& item : *json) {
    BurstIteration iteration;
    fields::Reader inner(item, "iteration " + std::to_string(out.size()));
    inner.get("seconds", iteration.seconds)
        .get("clock_mhz", iteration.clock_mhz)
        .get("power_w", iteration.power_w)
        .get("device_clock_mhz", iteration.device_clock_mhz);
    if (!inner.ok()) return reader.fail(inner.error().text);
    out.push_back(iteration);
  }
}

template <class Record>
Result<Record> finished(const fields::Reader& reader, Record& record) {
  if (!reader.ok()) return reader.error();
  return std::move(record);
}

}  // namespace

SensorSummary summarise(const std::vector<Reading>& readings) {
  SensorSummary out;
  out.readings = static_cast<int>(readings.size());
  std::vector<double> powers;
  std::vector<double> clocks;
  for (const Reading& reading : readings) {
    if (reading.power_w) powers.push_back(*reading.power_w);
    if (reading.clock_mhz) clocks.push_back(*reading.clock_mhz);
    if (reading.temperature_c) out.temperature_c = reading.temperature_c;
    if (reading.reasons) out.reasons = out.reasons.value_or(0) | *reading.reasons;
  }
  if (!powers.empty()) out.power_w = mean_of(powers);
  if (!clocks.empty()) {
    out.clock_min_mhz = *std::min_element(clocks.begin(), clocks.end());
    out.clock_mean_mhz = mean_of(clocks);
    out.clock_max_mhz = *std::max_element(clocks.begin(), clocks.end());
  }
  summarise_energy(readings, out);
  return out;
}

double LoopSample::mean_tflops() const { return tflops_of(shape, mean_of(seconds)); }
double LoopSample::median_tflops() const { return tflops_of(shape, median_of(seconds)); }
double LoopSample::max_tflops() const {
  return seconds.empty() ? 0 : tflops_of(shape, *std::min_element(seconds.begin(), seconds.end()));
}

double BurstSample::tflops(std::size_t iteration) const {
  return iteration < iterations.size() ? tflops_of(shape, iterations[iteration].seconds) : 0;
}

double HeldSample::tflops() const {
  if (window.span_s <= 0) return 0;
  const double products = static_cast<double>(chunk_seconds.size()) * chunk_products;
  return shape.flop() * products / window.span_s / 1e12;
}

std::optional<double> HeldSample::joules_per_tflop() const {
  const double rate = tflops();
  const SensorSummary& sensors = window.sensors;
  if (!sensors.energy_j || sensors.energy_span_s <= 0 || rate <= 0) return std::nullopt;
  // The two counter readings lie inside the window, not on its ends: mean watts over TFLOP/s.
  return *sensors.energy_j / sensors.energy_span_s / rate;
}

Json to_json(const LoopSample& sample) {
  Json out = sample_json(sample);
  out["mean_tflops"] =
      fields::number(sample.mean_tflops());  // derived, for readers of the document
  out["median_tflops"] = fields::number(sample.median_tflops());
  out["max_tflops"] = fields::number(sample.max_tflops());
  out["seconds"] = fields::numbers(sample.seconds);
  out["window"] = window_json(sample.window);
  return out;
}

Json to_json(const BurstSample& sample) {
  Json out = sample_json(sample);
  double best = 0;
  Json iterations = Json::array();
  for (std::size_t i = 0; i < sample.iterations.size(); ++i) {
    const BurstIteration& iteration = sample.iterations[i];
    best = std::max(best, sample.tflops(i));
    Json item = {{"seconds", fields::number(iteration.seconds)}};
    fields::put_optional(item, "clock_mhz", iteration.clock_mhz);
    fields::put_optional(item, "power_w", iteration.power_w);
    fields::put_optional(item, "device_clock_mhz", iteration.device_clock_mhz);
    iterations.push_back(std::move(item));
  }
  out["max_tflops"] = fields::number(best);  // derived
  out["power_resolved"] = sample.power_resolved;
  out["iterations"] = std::move(iterations);
  out["window"] = window_json(sample.window);
  return out;
}

Json to_json(const HeldSample& sample) {
  Json out = sample_json(sample);
  out["tflops"] = fields::number(sample.tflops());  // derived
  fields::put_optional(out, "joules_per_tflop", sample.joules_per_tflop());
  out["operand_sets"] = sample.operand_sets;
  out["set_bytes"] = sample.set_bytes;
  out["warm_s"] = fields::number(sample.warm_s);
  out["steady"] = sample.steady;
  out["chunk_products"] = sample.chunk_products;
  out["chunk_seconds"] = fields::numbers(sample.chunk_seconds);
  out["window"] = window_json(sample.window);
  return out;
}

Json to_json(const VerifyRecord& record) {
  Json out = sample_json(record);
  out["checked"] = record.checked;
  out["bad"] = record.bad;
  out["unwritten"] = record.unwritten;
  out["worst_ratio"] = fields::number(record.worst_ratio);
  out["bound"] = record.bound;
  return out;
}

Result<LoopSample> loop_from_json(const Json& json) {
  LoopSample out;
  fields::Reader reader(json, "loop");
  read_sample(reader, out);
  reader.get("seconds", out.seconds);
  read_window(reader, out.window);
  return finished(reader, out);
}

Result<BurstSample> burst_from_json(const Json& json) {
  BurstSample out;
  fields::Reader reader(json, "burst");
  read_sample(reader, out);
  reader.get("power_resolved", out.power_resolved);
  read_iterations(reader, out.iterations);
  read_window(reader, out.window);
  return finished(reader, out);
}

Result<HeldSample> held_from_json(const Json& json) {
  HeldSample out;
  fields::Reader reader(json, "held");
  read_sample(reader, out);
  reader.get("operand_sets", out.operand_sets)
      .get("set_bytes", out.set_bytes)
      .get("warm_s", out.warm_s)
      .get("steady", out.steady)
      .get("chunk_products", out.chunk_products)
      .get("chunk_seconds", out.chunk_seconds);
  read_window(reader, out.window);
  return finished(reader, out);
}

Result<VerifyRecord> verify_from_json(const Json& json) {
  VerifyRecord out;
  fields::Reader reader(json, "verify");
  read_sample(reader, out);
  reader.get("checked", out.checked)
      .get("bad", out.bad)
      .get("unwritten", out.unwritten)
      .get("worst_ratio", out.worst_ratio)
      .get("bound", out.bound);
  return finished(reader, out);
}

}  // namespace gemmpeak
