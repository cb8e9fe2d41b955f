// Reports made from a Run record alone: console and log text, JSON. Siblings: none knows another.
// Used by app. They refuse to measure, to look at a device or to change a number: rounding for people
// happens here and nowhere else.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "find/finder.hpp"
#include "model/run.hpp"

namespace gemmpeak::report {

// The header of a log (C8): date, command line, dtype, platform, device, versions, environment, ...
std::string header_text(const Run& run);
// The closing report (F7): headlines, shapes tried, means, elapsed time.
std::string final_text(const Run& run);
std::string headline_line(const Headline& headline);
// The document of --json; the same schema whether the run ended or was interrupted.
std::string run_document(const Run& run);

// Console and log of a find (F9). The log file gets every line; the console gets phases and winners,
// with progress rows overwritten in place on a terminal; off a terminal no escapes are written and
// progress is thinned. `quiet` (--no-verbose): the console gets the headlines only.
struct ConsoleOptions {
  std::FILE* console = nullptr;
  std::FILE* log = nullptr;  // may be null
  bool terminal = false;     // escapes and in-place rows allowed
  bool colour = false;
  bool quiet = false;
  bool telemetry = false;    // show W and MHz columns
  int width = 80;
};
std::unique_ptr<FindObserver> make_console(const ConsoleOptions& options);

}  // namespace gemmpeak::report
