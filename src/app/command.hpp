// Command: one subcommand of the program. Each is a source of its own (find_command.cpp, ...) and a
// row of the table in commands.cpp; a new one (tune, compare, ...) is one file and one row.
#pragma once

#include <span>
#include <string>

#include "app/host.hpp"
#include "app/option_table.hpp"
#include "app/parser.hpp"

namespace gemmpeak::app {

struct Command {
  std::string_view name;
  std::string_view arguments;  // after the options, for the usage line
  std::string_view summary;    // one line
  std::string_view about;      // a paragraph
  std::string_view examples;   // whole lines
  std::span<const OptionRow> (*options)();
  std::size_t positionals;     // how many it takes at most
  int (*run)(const Host& host, const Options& options);
};

std::span<const Command> commands();
const Command* find_command(const std::string& name);

int run_find(const Host& host, const Options& options);
int run_devices(const Host& host, const Options& options);
int run_help(const Host& host, const Options& options);
int run_version(const Host& host, const Options& options);

// The whole program: picks the subcommand, parses, runs; the result is the exit code.
int run_program(const Host& host);

// "error: ..." on stderr, and exit code 2 for the caller to return.
int refuse(const std::string& message);
std::string program_version();

}  // namespace gemmpeak::app
