// The option tables: every option of every subcommand is one row here. From the rows come the
// grammar (arguments.cpp), CLI11's registration (parser.cpp), help and docs/options.md
// (help_text.cpp). Adding an option is a row and the code that reads it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gemmpeak::app {

enum class Takes {
  nothing,   // --probe
  yes_no,    // --verbose and --no-verbose
  one,       // --dtype X; given twice, the last counts
  several,   // --m 1 2 3; given twice, the last counts
  repeated,  // --tune A=B --tune C=D: all count
};

struct OptionRow {
  std::string name;  // without the dashes
  Takes takes = Takes::one;
  std::string metavar;
  std::string group;
  std::string help;          // one sentence without the default
  std::string default_text;  // for people; empty: nothing worth showing
  bool reference = false;    // mamf-finder has it too
  std::vector<std::string> choices;
  bool integer = false;
  std::int64_t minimum = 0;  // integers only
  std::int64_t maximum = 0;
  std::string excludes;      // the option it cannot stand beside
};

std::span<const OptionRow> find_options();
std::span<const OptionRow> devices_options();
std::span<const OptionRow> help_options();
std::span<const OptionRow> version_options();

}  // namespace gemmpeak::app
