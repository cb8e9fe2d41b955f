// ForwardDevice: what a backend offers the tactic search: a transformer forward on its device, run
// under any table of tactics, its GEMM sites one at a time, and the device's own floors.
// Implemented by the backends that can (cuda, cpu, sim), used by src/tune and v16. Its times are
// the device's own. It refuses to judge anything: pairing, gates and statistics are src/tune's.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/device_info.hpp"
#include "model/forward_graph.hpp"
#include "model/tactic.hpp"

namespace gemmpeak {

// A model on the host, row-major float32; what the pointers name outlives the load() that gets it.
struct ForwardModel {
  struct Layer {
    std::array<const float*, 4> weights{};  // by Site, od x id
    std::array<const float*, 4> bias{};     // by Site, od
    // d each; all null where scale and shift are folded into the weights.
    const float* norm1_scale = nullptr;
    const float* norm1_shift = nullptr;
    const float* norm2_scale = nullptr;
    const float* norm2_shift = nullptr;
  };
  ForwardGraph graph;
  std::vector<Layer> layers;
  const float* input = nullptr;      // tokens x d
  float attention_scale = 1.0f;      // 1 where it is folded into q
  std::vector<double> head_weights;  // logits x d
  std::vector<double> head_bias;     // logits
};

// What bounds a site from below on this device, measured in load()'s process just before use.
struct DeviceFloors {
  double dram_bytes_per_s = 0;  // reads
  double l2_bytes_per_s = 0;    // reads of a set that stays in the last-level cache
  double launch_s = 0;          // one empty node in a graph (0 where there is no such cost)
};

// The resources own kernels are priced with. 0: unknown, the price is left out.
struct DeviceResources {
  int units = 0;
  int shared_bytes_per_unit = 0;
  int shared_bytes_per_block = 0;  // most a block may ask for
  int threads_per_unit = 0;
  int registers_per_unit = 0;
  std::int64_t l2_bytes = 0;
};

// Something prepared that can be replayed; made and released by one ForwardDevice.
using RunId = int;

struct ReplayTimes {
  std::vector<double> seconds;      // one for each entry of the order asked for
  std::optional<double> clock_mhz;  // mean over the whole, where the device can tell
};

// Where a whole forward spends its time, seen from inside: sites + rest = forward.
struct ForwardProfile {
  std::array<double, 4> site_s{};  // over all layers, by Site
  double rest_s = 0;
  double forward_s = 0;
  std::string method;  // "host clock between nodes", "CUPTI activity", ...
};

class ForwardDevice {
 public:
  virtual ~ForwardDevice() = default;
  virtual const DeviceInfo& info() const = 0;  // versions name the vendor's library
  virtual DeviceResources resources() const = 0;
  // Unit roundoff of the operands as native sites read them: 2^-24 for float32, 2^-11 for TF32.
  virtual double unit_roundoff() const = 0;

  // Takes the model over (a second call replaces the first; every RunId is gone then).
  virtual Result<void> load(const ForwardModel& model) = 0;

  // The vendor's suggestions for the site with its epilogue, in its own order (impl -1, -2, ...).
  virtual int vendor_suggestions(Site site) const = 0;
  // The tactic in words that mean the same in another process on the same device and library:
  // "cublasLt id21 tile20 stages14 ...", "own tf32 32x64x16 stages 2 split 4".
  virtual std::string describe(Site site, Tactic tactic) const = 0;
  // Why the tactic cannot run this site here; empty if it can. Nothing is run.
  virtual std::optional<std::string> refusal(Site site, Tactic tactic) const = 0;

  // Runs the site once: out[tokens, od] from in[tokens, id] and residual[tokens, od] (empty unless
  // the epilogue reads it), all host memory. The device's output and workspace are NaN beforehand.
  virtual Result<std::vector<float>> run_site(Site site, int layer, Tactic tactic,
                                              std::span<const float> in,
                                              std::span<const float> residual) = 0;

  // The site's GEMMs of all layers with their epilogues, one after another, repeated over copies of
  // the weights until these are at least twice the last-level cache. Warmed once.
  virtual Result<RunId> prepare_site(Site site, Tactic tactic) = 0;
  virtual int gemms_per_run(Site site) const = 0;  // in one replay of prepare_site's
  // A whole forward under a table. Warmed once.
  virtual Result<RunId> prepare_forward(const TacticTable& table) = 0;
  virtual void release(RunId run) = 0;

  // Replays in this order, each timed by the device by itself.
  virtual Result<ReplayTimes> time(std::span<const RunId> order) = 0;
  // The logits of one replay of a forward, all its slots NaN beforehand.
  virtual Result<std::vector<double>> logits(RunId forward) = 0;
  virtual Result<ForwardProfile> profile(RunId forward) = 0;

  virtual Result<DeviceFloors> measure_floors() = 0;
};

}  // namespace gemmpeak
