// Host: what the program learns of the process around it, read once at the start: arguments,
// environment, folders, terminal, clock. Used by the subcommands; nothing else in the project reads
// the environment.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace gemmpeak::app {

struct Host {
  std::vector<std::string> arguments;              // argv, program first
  std::map<std::string, std::string> environment;  // all of it; only what matters is recorded
  std::vector<int> cpus;  // where this process may run, before any thread is pinned
  std::string executable_folder;
  std::string platform;    // uname
  std::string started;     // local time, ISO 8601 with offset
  std::string file_stamp;  // the same as YYYYmmdd-HHMMSS
};

Host read_host(int argc, char** argv);

// The arguments as a shell would take them back.
std::string shell_quoted(const std::string& word);
std::string command_line(const std::vector<std::string>& arguments);
// Where backend modules are looked for, first match wins: beside the program, installed, GEMMPEAK_MODULE_PATH.
std::vector<std::string> module_folders(const Host& host);
// Variables of `names`, and those every run records, that are set.
std::map<std::string, std::string> set_variables(const Host& host,
                                                 const std::vector<std::string>& names);
bool is_terminal(int descriptor);
int terminal_width(int descriptor);  // 80 where unknown

}  // namespace gemmpeak::app
