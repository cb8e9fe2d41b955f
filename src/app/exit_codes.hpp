// The exit codes of every subcommand, and the one table that documents them (help, docs, README).
// Used by app alone; no room below it exits.
#pragma once

#include <array>
#include <string_view>

namespace gemmpeak::app {

enum ExitCode : int {
  kExitOk = 0,
  kExitNoResult = 1,  // mamf-finder's Ctrl-C exits 1 too
  kExitRefused = 2,
  kExitNoHeadline = 3,
  kExitDevice = 4,
  kExitOutput = 5,
};

struct ExitCodeRow {
  ExitCode code;
  std::string_view meaning;
};
inline constexpr std::array<ExitCodeRow, 6> kExitCodes{{
    {kExitOk, "done; every headline asked for was measured"},
    {kExitNoResult, "interrupted (the best so far is reported), or ended without a single measured shape"},
    {kExitRefused, "bad input, or refused before anything was measured"},
    {kExitNoHeadline, "measured, but nothing that can be trusted as a headline"},
    {kExitDevice, "the device failed during the run; what was measured before is kept"},
    {kExitOutput, "measured, but an output file could not be written"},
}};

}  // namespace gemmpeak::app
