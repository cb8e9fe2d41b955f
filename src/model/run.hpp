// Run: the complete record of one `find`, and Headline. Written by find, read by every report. All
// that a report shows is here; raw samples are kept. The JSON form carries a schema version
// (kRunSchema); a field is only ever added, never given another meaning.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"
#include "model/device_info.hpp"
#include "model/knobs.hpp"
#include "model/sample.hpp"

namespace gemmpeak {

inline constexpr const char* kRunSchema = "gemmpeak.run/1";
// Version of the measuring protocol: bump it whenever a number would come out differently.
inline constexpr int kProtocolVersion = 1;

enum class Regime { mamf, msmf, back_to_back };
std::string_view regime_name(Regime regime);  // "mamf", "msmf", "back_to_back"

// How far a headline can be trusted.
enum class Trust {
  validated,    // the regime's evidence (clock, power) was there and agreed
  unvalidated,  // measured, but the evidence was missing (telemetry off, a CPU without sensors)
  untrusted,    // contradicts the clock or the timers; never printed as a headline
};
std::string_view trust_name(Trust trust);

struct Headline {
  Regime regime = Regime::mamf;
  GemmShape shape;
  std::string algorithm;
  double tflops = 0;
  Trust trust = Trust::unvalidated;
  std::optional<double> power_w;          // empty for bursts the sensor cannot see
  std::optional<double> clock_mhz;        // sensor
  std::optional<double> device_clock_mhz;  // stamps
  std::optional<double> temperature_c;
  std::optional<double> duty;             // share of the window inside products
  std::optional<double> efficiency;       // rate / (units x flop per clock x clock)
  std::optional<double> joules_per_tflop;
  std::optional<std::uint64_t> reasons;
  std::optional<double> spread_percent;
  std::vector<double> runs;               // TFLOPS of each repeat, iteration or chunk behind it
  std::vector<std::string> notes;         // whole sentences
  std::string repro;                      // the shortest command line that repeats it
};

// What became of a shape: "scouted", "confirmed", "headline", "skipped", ...; reason says why it lost.
struct Fate {
  GemmShape shape;
  std::string phase;   // the last phase it reached
  std::string fate;
  std::string reason;
};

struct PhaseTime {
  std::string name;
  double begin_s = 0;  // since the run's start
  double end_s = 0;
};

// The run as asked for, after all defaults are resolved.
struct FindSettings {
  std::string device;                  // resolved id
  DType dtype = DType::bfloat16;
  Layout layout = Layout::tn;
  DataKind data = DataKind::normal;
  bool fast_accumulation = false;
  std::string search = "auto";         // auto or grid
  std::vector<GemmShape> grid;         // grid only
  std::string range_info;              // one line for the report
  int num_iterations = 100;
  int num_warmup_iterations = 50;
  bool telemetry = true;
  Knobs knobs;
  std::string notes;
  std::vector<std::string> repro_options;  // options common to every repro line (device, dtype, ...)
};
Json to_json(const FindSettings& settings);
// Equal strings: a journal of one may be continued by the other.
std::string settings_fingerprint(const FindSettings& settings);

struct Run {
  std::string started;        // local time, ISO 8601 with offset
  std::string command_line;
  std::string program_version;
  std::string platform;       // uname
  std::map<std::string, std::string> environment;  // variables that matter and were set
  FindSettings settings;
  DeviceInfo device;
  std::map<std::string, std::string> telemetry;    // backend, sources, limits, facts
  std::map<std::string, std::string> telemetry_missing;
  bool telemetry_validated = false;

  int shapes_tried = 0;
  std::vector<LoopSample> scouts;
  std::vector<BurstSample> screens;
  std::vector<LoopSample> confirms;    // repeats, in the order measured
  std::vector<LoopSample> locks;
  std::vector<BurstSample> bursts;
  std::vector<HeldSample> held_screens;
  std::vector<HeldSample> held;
  std::vector<VerifyRecord> verified;
  std::vector<Fate> fates;
  std::vector<Headline> headlines;     // at most one a regime, in the order they were finished
  struct CrossCheck {
    GemmShape shape;
    std::optional<double> mamf_tflops;
    std::optional<double> msmf_tflops;
    std::string roles;                 // "MAMF*", "MSMF*", or both
  };
  std::vector<CrossCheck> cross_checks;
  std::map<int, double> idle_siblings;  // GPU index -> share of the MSMF measurement it sat idle
  std::vector<PhaseTime> phases;
  std::vector<std::string> warnings;
  std::vector<std::string> remarks;    // the "note: ..." lines
  std::optional<double> highest_clock_mhz;
  std::optional<double> busy_share;    // device busy share from first to last scout
  bool interrupted = false;
  std::string interrupted_by;          // "SIGINT"
  double elapsed_s = 0;
};
Json to_json(const Run& run);
Json to_json(const Headline& headline);
Json to_json(const DeviceInfo& device);

}  // namespace gemmpeak
