// Finder: the whole of `gemmpeak find` after options are resolved: warm-up, scouting, MAMF screen,
// soak, MSMF confirm and lock-in, MAMF confirm, back-to-back, cross-check; it joins search (which
// shapes), measure (how long they take) and the journal (what is already known). Used by app and by
// library callers. It refuses to print, to read files or to decide exit codes: everything it learns
// is in the Run it returns and in the events it sends while working.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "measure/bench.hpp"
#include "model/journal.hpp"
#include "model/run.hpp"
#include "search/selection.hpp"

namespace gemmpeak {

// What happens while a find works, for consoles and logs. Every call is made on the finder's
// thread.
class FindObserver {
 public:
  virtual ~FindObserver() = default;
  virtual void note(const std::string& /*sentence*/) {
  }  // worth a line on the console and in the log
  virtual void warning(const std::string& /*sentence*/) {}
  virtual void detail(const std::string& /*line*/) {}    // log only
  virtual void progress(const std::string& /*line*/) {}  // in place on the console, never logged
  // A phase begins: "scout", "screen", "msmf", "lock", "mamf", "held"; `shapes` 0 where not
  // counted.
  virtual void phase(const std::string& /*name*/, int /*shapes*/) {}
  // Measured rows; `best` marks the phase's leader so far. number counts from 1 within the phase.
  virtual void scout(int /*number*/, const LoopSample&, double /*best_mean_tflops*/) {}
  virtual void screen(int /*number*/, const GemmShape&, double /*peak_tflops*/,
                      std::optional<double> /*clock_mhz*/) {}
  virtual void confirmed(const search::Confirmed&) {}
  virtual void boosted(const search::Boosted&) {}
  virtual void held(const HeldSample&) {}
  // The phase's winner, to be left standing on the console. `label` e.g. "best mean", "MSMF".
  virtual void winner(const std::string& /*phase*/, const GemmShape&,
                      const std::string& /*label*/) {}
  virtual void headline(const Headline&) {}
};

struct FinderInputs {
  Bench* bench = nullptr;
  Journal* journal = nullptr;        // may be null: nothing is recorded
  FindObserver* observer = nullptr;  // may be null
};

class Finder {
 public:
  // `run` comes with settings, device, environment and telemetry facts filled in.
  Finder(FinderInputs inputs, Run run);
  ~Finder();
  // Runs to the end, or to the interruption (run.interrupted, best so far in it).
  Run run();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gemmpeak
