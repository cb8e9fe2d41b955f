// Scouting: every candidate shape measured shortly (S1..S5), and the choice of what is confirmed.
#include <fmt/format.h>

#include <algorithm>

#include "find/finder_state.hpp"
#include "find/recorded.hpp"

namespace gemmpeak {
namespace {

constexpr std::size_t kScoutsPerSync = 64;  // about one a second on a fast GPU

}  // namespace

// Arenas for the largest shape at once, where it fits; otherwise they grow between loops.
void Finder::State::reserve() {
  if (!go()) return;
  GemmShape largest{knobs.max_size, knobs.max_size, knobs.max_size};
  if (run.settings.search == "grid") {
    largest = {};
    for (const GemmShape& shape : run.settings.grid) {
      largest.m = std::max(largest.m, shape.m);
      largest.n = std::max(largest.n, shape.n);
      largest.k = std::max(largest.k, shape.k);
    }
  }
  if (bench.does_not_fit(largest)) return;
  if (auto reserved = bench.reserve_for(largest); !reserved.ok())
    observer.detail("  operand arenas grow on demand: " + reserved.error().message());
}

void Finder::State::scout() {
  if (!go()) return;
  const auto tell = [this](const search::Scouted& s) { scouted.push_back(s); };
  if (run.settings.search == "grid") {
    observer.note(fmt::format(
        "Grid search: sweeping {} shapes (scout {} iters / {} warmup), {} ...",
        run.settings.grid.size(), knobs.scout_num_iterations, knobs.scout_num_warmup_iterations,
        knobs.scout_only ? "without confirm" : "then confirm"));
    begin_phase("scout", static_cast<int>(run.settings.grid.size()));
    scout_batch("grid", run.settings.grid, tell);
  } else {
    const auto geometry = search::make_geometry(run.device, run.settings.dtype, knobs);
    observer.note(fmt::format(
        "Auto search: CUs={} tile={}x{} dtype={} elem={}B base={} max_size={}", geometry.units,
        geometry.tile.m, geometry.tile.n, dtype_name(run.settings.dtype),
        dtype_info(run.settings.dtype).bits / 8.0, geometry.base, geometry.max_size));
    search::AutoStrategy strategy(geometry, knobs);
    begin_phase("scout", 1);
    while (go()) {
      auto batch = strategy.ask();
      if (!batch) break;
      const std::size_t before = scouted.size();
      scout_batch(batch->phase, batch->shapes, [&](const search::Scouted& s) {
        scouted.push_back(s);
        strategy.tell(s);
      });
      observer.detail(fmt::format("  {}: {} shapes asked, {} scouted", batch->phase,
                                  batch->shapes.size(), scouted.size() - before));
    }
    waves = strategy.waves();
    wave_mn = strategy.wave_mn();
  }
  end_phase();
  const auto best =
      std::max_element(scouted.begin(), scouted.end(),
                       [](const auto& a, const auto& b) { return a.mean_tflops < b.mean_tflops; });
  if (best != scouted.end()) observer.winner("scout", best->shape, "best mean");
}

void Finder::State::scout_batch(const std::string& phase, const std::vector<GemmShape>& shapes,
                                const std::function<void(const search::Scouted&)>& tell) {
  std::vector<GemmShape> fitting;
  for (const GemmShape& shape : shapes) {
    if (auto why = bench.does_not_fit(shape)) {
      fate(shape, phase, "skipped", *why);
      continue;
    }
    fitting.push_back(shape);
  }
  double first_begin = 0, last_end = 0, busy = 0;
  for (std::size_t i = 0; i < fitting.size() && go(); ++i) {
    const GemmShape shape = fitting[i];
    bool fresh = false;
    const LoopSample sample = recorded<LoopSample>("scout " + shape.str(), loop_from_json, [&] {
      fresh = true;
      LoopRequest request{knobs.scout_num_warmup_iterations, knobs.scout_num_iterations, {}};
      // The next plan is made while this shape runs; a failure shows when its turn comes.
      request.while_running = [&, i] {
        if (i + 1 < fitting.size()) (void)bench.prepare(fitting[i + 1]);
        // Often enough for a power cut, rarely enough not to hold up the device.
        if (in.journal != nullptr && !journal_failed && i % kScoutsPerSync == 0)
          (void)in.journal->sync();
      };
      return bench.saturated(shape, request);
    });
    if (sample.outcome.state == OutcomeState::skipped && bench.interrupted()) break;
    if (fresh) {
      if (first_begin == 0) first_begin = sample.window.begin_s;
      last_end = sample.window.begin_s + sample.window.host_s;
      busy += sample.window.span_s;
    }
    run.scouts.push_back(sample);
    ++run.shapes_tried;
    if (!sample.outcome.ok()) {
      fate(shape, phase, std::string(outcome_name(sample.outcome.state)), sample.outcome.reason);
      observer.detail(fmt::format("  {}: {} ({})", shape.str(), outcome_name(sample.outcome.state),
                                  sample.outcome.reason));
      continue;
    }
    fate(shape, phase, "scouted", "");
    const SensorSummary& sensors = sample.window.sensors;
    const auto clock =
        sensors.clock_max_mhz ? sensors.clock_max_mhz : sample.window.device_clock_mhz;
    see_clock(clock);
    algorithms[shape] = sample.algorithm;
    scout_samples[shape] = sample;
    // Watts rank shapes only where the sensor could see the loop: on an H200 one reading of the
    // instantaneous field stands for a dozen scouts in a row.
    const double refresh_s =
        bench.telemetry() != nullptr ? bench.telemetry()->info().power_refresh_s : 0;
    const auto power = sample.window.span_s >= refresh_s ? sensors.power_w : std::nullopt;
    tell({shape, sample.mean_tflops(), sample.max_tflops(), power, clock});
    double best = 0;
    for (const auto& s : scouted) best = std::max(best, s.mean_tflops);
    observer.scout(run.shapes_tried, sample, best);
  }
  if (last_end > first_begin && busy > 0) {
    // Over several batches the share is weighted by time.
    busy_s += busy;
    busy_window_s += last_end - first_begin;
    run.busy_share = busy_s / busy_window_s;
  }
}

void Finder::State::choose_confirm_set() {
  observer.detail("\nConfirming the best candidates (MSMF, then MAMF) ...");
  const search::ConfirmSet set = search::msmf_confirm_set(scouted, wave_mn, waves, knobs);
  msmf_shapes = set.shapes;
  if (!set.forced.empty()) {
    std::string names;
    for (const GemmShape& shape : set.forced) names += (names.empty() ? "" : ", ") + shape.str();
    observer.detail("  forced (low-wave squares + fattest scouts): " + names);
  }
  pool = search::mamf_recall_pool(scouted, waves, knobs);
}

}  // namespace gemmpeak
