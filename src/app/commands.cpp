#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "app/command.hpp"
#include "app/exit_codes.hpp"
#include "app/help_text.hpp"

namespace gemmpeak::app {
namespace {

constexpr Command kCommands[] = {
    {"find", "", "find the highest achievable and sustainable matmul FLOPS of a device",
     "Finds the maximum achievable (MAMF, a boost burst), the maximum sustainable (MSMF, hot and\n"
     "power-saturated) and the back-to-back (no gaps) matmul FLOPS of one device, and at which\n"
     "shapes. Without options it searches on its own on the best device there is. Every option of\n"
     "mamf-finder works unchanged.",
     "  gemmpeak find                                   search on the best device, bfloat16\n"
     "  gemmpeak find --dtype float8_e4m3fn             another element type\n"
     "  gemmpeak find --m_range 0 20480 256 --n 4096 --k 4096   the best M for a layer\n"
     "  gemmpeak find --device sim:h200 --json run.json  a simulated H200, in seconds\n"
     "  gemmpeak find --resume results/X.journal.jsonl   go on after an interruption\n",
     find_options, 0, run_find},
    {"devices", "", "list devices, what they can run and why not",
     "Lists every device with its types, geometry, memory and telemetry, from known limits and\n"
     "without running anything, and each backend that could not load with the reason and the fix.",
     "  gemmpeak devices\n"
     "  gemmpeak devices --probe    run a tiny product of each type\n",
     devices_options, 0, run_devices},
    {"help", "[COMMAND]", "explain the program or one command", "Explains the program or one command.",
     "  gemmpeak help find\n", help_options, 1, run_help},
    {"version", "", "print the versions", "Prints the versions of the program and its protocol.", "",
     version_options, 0, run_version},
};

std::string command_names() {
  std::string out;
  for (const Command& command : kCommands)
    out += (out.empty() ? "" : ", ") + std::string(command.name);
  return out;
}

}  // namespace

std::span<const Command> commands() { return kCommands; }

const Command* find_command(const std::string& name) {
  for (const Command& command : kCommands)
    if (command.name == name) return &command;
  return nullptr;
}

int refuse(const std::string& message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  return kExitRefused;
}

std::string program_version() { return GEMMPEAK_VERSION; }

int run_version(const Host&, const Options&) {
  fmt::print("{}", version_text());
  return kExitOk;
}

int run_help(const Host&, const Options& options) {
  if (options.flag("markdown")) {
    fmt::print("{}", options_markdown());
    return kExitOk;
  }
  if (options.positionals().empty()) {
    fmt::print("{}", program_help());
    return kExitOk;
  }
  const Command* command = find_command(options.positionals().front());
  if (command == nullptr)
    return refuse(fmt::format("no command '{}'; there are {}", options.positionals().front(),
                              command_names()));
  fmt::print("{}", command_help(*command));
  return kExitOk;
}

int run_program(const Host& host) {
  const auto& arguments = host.arguments;
  if (arguments.size() < 2 || arguments[1] == "--help" || arguments[1] == "-h") {
    fmt::print("{}", program_help());
    return kExitOk;
  }
  if (arguments[1] == "--version") {
    fmt::print("{}", version_text());
    return kExitOk;
  }
  const Command* command = find_command(arguments[1]);
  if (command == nullptr)
    return refuse(fmt::format("no command '{}'; there are {} (mamf-finder's options go after "
                              "`gemmpeak find`)",
                              arguments[1], command_names()));
  const std::vector<std::string> rest(arguments.begin() + 2, arguments.end());
  const auto options = parse_options(rest, command->options(), command->positionals);
  if (!options)
    return refuse(fmt::format("{}\nsee `gemmpeak help {}`", options.error().message(), command->name));
  if (options->help()) {
    fmt::print("{}", command_help(*command));
    return kExitOk;
  }
  return command->run(host, *options);
}

}  // namespace gemmpeak::app
