// The grammar of the command line (PARITY C0), argparse's as mamf-finder has it: which token is an
// option, which a value of which option. Used by parser.cpp. Pure; it knows no meaning of any value.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/option_table.hpp"
#include "base/result.hpp"

namespace gemmpeak::app {

// One option as given: its row, its values, and for yes_no options whether it was negated.
struct Given {
  const OptionRow* row = nullptr;
  std::vector<std::string> values;
  bool negated = false;
};

struct Arguments {
  std::vector<Given> given;              // in order
  std::vector<std::string> positionals;  // what belongs to no option
  bool help = false;                     // -h or --help stood somewhere
};

// Exact names beat unambiguous prefixes; an error names the token, and the candidates where it is
// ambiguous. Values: `--opt value`, `--opt=value`, negative numbers, `-` alone, anything with a blank.
Result<Arguments> read_arguments(std::span<const std::string> tokens, std::span<const OptionRow> rows);

}  // namespace gemmpeak::app
