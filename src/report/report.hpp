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
// The best outcomes alone: a line a regime, or without headlines mean, median and max (S5a).
std::string outcome_text(const Run& run);
std::string headline_line(const Headline& headline);
// The document of --json; the same schema whether the run ended or was interrupted.
std::string run_document(const Run& run);

// A rate for people, in TFLOPS without the unit: one decimal, under 10 three significant digits, so
// that a small CPU does not read as 0.
std::string rate_text(double tflops);
// The same for headlines: whole TFLOPS from 10 on, halves away from zero.
std::string headline_rate_text(double tflops);
// "2.0 GiB"
std::string bytes_text(std::int64_t bytes);

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
class Console : public FindObserver {
 public:
  // Whole text (header, report) for console and log; `quiet_text` is what a quiet console gets of it.
  virtual void text(const std::string& text, const std::string& quiet_text) = 0;
};
std::unique_ptr<Console> make_console(const ConsoleOptions& options);

}  // namespace gemmpeak::report
