// recorded(): the one place where a measurement meets the journal. Internal to the find room.
#pragma once

#include <nlohmann/json.hpp>

#include "find/finder_state.hpp"

namespace gemmpeak {

template <class Sample, class Parse, class Measure>
Sample Finder::State::recorded(const std::string& key, Parse parse, Measure measure) {
  if (in.journal != nullptr) {
    if (const Json* found = in.journal->find(key)) {
      auto sample = parse(*found);
      if (sample.ok()) return std::move(sample).value();
      warn("journal entry '" + key + "' cannot be read (" + sample.error().message() +
           "); measuring it again");
    }
  }
  Sample sample = measure();
  const bool cut_short = sample.outcome.state == OutcomeState::skipped && bench.interrupted();
  if (in.journal != nullptr && !cut_short && !journal_failed && !bench.device().dead()) {
    if (auto written = in.journal->append(key, to_json(sample)); !written.ok()) {
      journal_failed = true;
      warn("the journal can no longer be written (" + written.error().message() +
           "): the run goes on, but cannot be resumed from here");
    }
  }
  return sample;
}

}  // namespace gemmpeak
