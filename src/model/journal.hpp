// Journal: the append-only file of a run, one JSON line an entry, written as each measurement
// ends, so that a killed run loses at most the shape being measured. Used by find (writes, and looks
// up what an earlier run measured) and by fleet. It refuses to mix: a journal of other settings, of
// another device or of another schema is an error that says what differs. A torn last line (the
// process was killed while writing) is dropped; any other malformed line is an error with its number.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/json.hpp"
#include "base/result.hpp"

namespace gemmpeak {

inline constexpr const char* kJournalSchema = "gemmpeak.journal/1";

struct JournalHeader {
  std::string settings_fingerprint;
  std::string device_identity;
  std::string command_line;
  std::string started;
};

class Journal {
 public:
  // A new file at `path`; fails if it exists. The header line is written at once.
  static Result<std::unique_ptr<Journal>> create(const std::string& path, const JournalHeader& header);
  // Continues `path`: reads its entries, checks the header against `header`, appends from then on.
  static Result<std::unique_ptr<Journal>> resume(const std::string& path, const JournalHeader& header);

  ~Journal();
  // The recorded value of `key` ("scout 4096x4096x1024", "confirm 2 ..."), if an earlier run wrote it.
  const Json* find(const std::string& key) const;
  // Appends {"key": ..., "value": ...}: with the system when this returns, so a killed process loses
  // nothing. A full disk is an error, not a crash.
  Result<void> append(const std::string& key, const Json& value);
  // Makes what was appended survive a power cut too (fdatasync, milliseconds).
  Result<void> sync();
  int recorded() const;  // entries read from an earlier run
  const std::string& path() const;

 private:
  Journal();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gemmpeak
