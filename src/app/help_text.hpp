// Help for people, on the console and in docs/options.md, all of it from the tables: commands,
// options, knobs, exit codes. Used by commands.cpp and tests.
#pragma once

#include <string>

#include "app/command.hpp"

namespace gemmpeak::app {

std::string program_help();
std::string command_help(const Command& command);
std::string options_markdown();  // docs/options.md
std::string version_text();

}  // namespace gemmpeak::app
