// Options: the values of one subcommand's command line, by option name, checked against its table.
// Used by the subcommands. A name that is not in the table is a programming error.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/option_table.hpp"
#include "base/result.hpp"

namespace gemmpeak::app {

class Options {
 public:
  explicit Options(std::span<const OptionRow> rows);

  bool given(const std::string& name) const;
  std::optional<std::string> text(const std::string& name) const;
  std::string text_or(const std::string& name, const std::string& fallback) const;
  std::vector<std::string> texts(const std::string& name) const;
  std::optional<std::int64_t> integer(const std::string& name) const;
  std::vector<std::int64_t> integers(const std::string& name) const;
  bool flag(const std::string& name, bool fallback = false) const;
  bool help() const { return help_; }
  const std::vector<std::string>& positionals() const { return positionals_; }

 private:
  friend Result<Options> parse_options(std::span<const std::string>, std::span<const OptionRow>,
                                       std::size_t);
  const std::vector<std::string>* values(const std::string& name) const;

  std::map<std::string, std::vector<std::string>> values_;  // every row's name is a key
  std::map<std::string, bool> given_;
  std::vector<std::string> positionals_;
  bool help_ = false;
};

// The error names the option and the value. `positionals`: how many the subcommand takes at most.
// With --help nothing else is checked.
Result<Options> parse_options(std::span<const std::string> tokens, std::span<const OptionRow> rows,
                              std::size_t positionals = 0);

// An integer in argparse's spelling (Python's int()), which CLI11 would read with C's octal rules.
std::optional<std::int64_t> parse_integer(const std::string& text);

}  // namespace gemmpeak::app
