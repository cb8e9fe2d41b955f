// Outcome: how an attempt ended, as data. Used by measure, search, find, tune and reports.
// An outcome never ends a run; it is recorded with its reason and the run goes on.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gemmpeak {

enum class OutcomeState {
  ok,
  unsupported,     // the library or device refuses it
  out_of_memory,
  compile_failed,
  wrong_result,    // verification failed
  throttled,
  noisy,
  untrusted,       // physically impossible or clocks disagree
  skipped,         // never attempted (does not fit, excluded by a rule)
  error,           // anything else the API reported
};

struct Outcome {
  OutcomeState state = OutcomeState::ok;
  std::string reason;  // empty only when ok

  bool ok() const { return state == OutcomeState::ok; }
};

std::string_view outcome_name(OutcomeState state);               // "ok", "out_of_memory", ...
std::optional<OutcomeState> parse_outcome(std::string_view name);

}  // namespace gemmpeak
