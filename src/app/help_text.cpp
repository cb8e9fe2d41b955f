#include "app/help_text.hpp"

#include <fmt/format.h>

#include <sstream>

#include "app/exit_codes.hpp"
#include "model/journal.hpp"
#include "model/knobs.hpp"
#include "model/run.hpp"

namespace gemmpeak::app {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kColumn = 30;  // where the explanations begin

// `text` broken at blanks, every line but the first indented.
std::string wrapped(const std::string& text, std::size_t indent) {
  std::istringstream words(text);
  std::string out, word;
  std::size_t used = indent;
  while (words >> word) {
    if (used > indent && used + 1 + word.size() > kWidth) {
      out += "\n" + std::string(indent, ' ');
      used = indent;
    } else if (used > indent) {
      out += ' ';
      ++used;
    }
    out += word;
    used += word.size();
  }
  return out;
}

std::string entry(const std::string& left, const std::string& right) {
  std::string out = "  " + left;
  if (out.size() + 2 > kColumn)
    out += "\n" + std::string(kColumn, ' ');
  else
    out += std::string(kColumn - out.size(), ' ');
  return out + wrapped(right, kColumn) + "\n";
}

std::string choices_text(const OptionRow& row) { return fmt::format("{}", fmt::join(row.choices, ", ")); }

std::string signature(const OptionRow& row) {
  const std::string name = "--" + row.name;
  switch (row.takes) {
    case Takes::nothing:
      return name;
    case Takes::yes_no:
      return name + ", --no-" + row.name;
    case Takes::several:
      return name + " " + row.metavar + (row.metavar.find(' ') == std::string::npos ? " ..." : "");
    case Takes::one:
    case Takes::repeated:
      return name + " " + row.metavar;
  }
  return name;
}

std::string explanation(const OptionRow& row) {
  std::string out = row.help;
  if (!row.choices.empty()) out += " (one of " + choices_text(row) + ")";
  if (!row.default_text.empty()) out += " (default: " + row.default_text + ")";
  return out;
}

std::string options_help(std::span<const OptionRow> rows) {
  std::string out, group;
  for (const OptionRow& row : rows) {
    if (row.group != group) out += "\n" + row.group + ":\n";
    group = row.group;
    out += entry(signature(row), explanation(row));
  }
  return out;
}

std::string unit_text(const KnobRow& row) {
  return row.unit.empty() ? "" : " " + std::string(row.unit);
}

std::string knobs_help() {
  std::string out =
      "\nknobs for --tune NAME=VALUE (default on GPUs; on CPUs; mamf-finder's with preset=v3):\n";
  for (const KnobRow& row : knob_table()) {
    const std::string gpu = knob_text(row.gpu), cpu = knob_text(row.cpu), v3 = knob_text(row.v3);
    const std::string values = gpu == cpu && gpu == v3 ? gpu : fmt::format("{}; {}; {}", gpu, cpu, v3);
    out += entry(std::string(row.name), fmt::format("{} ({}{})", row.help, values, unit_text(row)));
  }
  return out;
}

std::string exit_codes_help() {
  std::string out = "\nexit codes:\n";
  for (const ExitCodeRow& row : kExitCodes)
    out += entry(std::to_string(row.code), std::string(row.meaning));
  return out;
}

// In a table cell a bar would end the cell.
std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return text;
}

std::string command_markdown(const Command& command) {
  std::string out = fmt::format("\n## `gemmpeak {}`\n\n{}\n", command.name, command.about);
  if (command.options().empty()) return out;
  out += "\n| option | what it does | default | in mamf-finder |\n|---|---|---|---|\n";
  for (const OptionRow& row : command.options()) {
    std::string words = row.help;
    if (!row.choices.empty()) words += ": " + choices_text(row);
    out += fmt::format("| `{}` | {} | {} | {} |\n", cell(signature(row)), cell(words),
                       cell(row.default_text), row.reference ? "yes" : "");
  }
  return out;
}

}  // namespace

std::string version_text() {
  return fmt::format("gemmpeak {} (benchmark version {}, documents {}, {})\n", program_version(),
                     kProtocolVersion, kRunSchema, kJournalSchema);
}

std::string program_help() {
  std::string out =
      "gemmpeak finds how many matmul FLOPS a device can achieve and sustain, and at which shape.\n\n"
      "usage: gemmpeak COMMAND [OPTION ...]\n\ncommands:\n";
  for (const Command& command : commands())
    out += entry(std::string(command.name), std::string(command.summary));
  out += "\nexamples:\n";
  for (const Command& command : commands()) out += command.examples;
  return out + exit_codes_help() + "\n`gemmpeak help COMMAND` explains its options.\n";
}

std::string command_help(const Command& command) {
  std::string out = fmt::format("usage: gemmpeak {}{}{}\n\n{}\n", command.name,
                                command.options().empty() ? "" : " [OPTION ...]",
                                command.arguments.empty() ? "" : " " + std::string(command.arguments),
                                command.about);
  out += options_help(command.options());
  if (command.run == run_find) out += knobs_help() + exit_codes_help();
  if (!command.examples.empty()) out += fmt::format("\nexamples:\n{}", command.examples);
  return out;
}

std::string options_markdown() {
  std::string out =
      "# Options and exit codes\n\nWritten by `gemmpeak help --markdown` from the program's "
      "tables; a test keeps this file current.\n\n"
      "An option may be shortened to any unambiguous prefix, its value may follow after a blank or an\n"
      "equals sign, and where an option is given twice the last one counts (`--tune` adds up).\n";
  for (const Command& command : commands()) out += command_markdown(command);
  out += "\nThe knobs of `--tune NAME=VALUE` are listed in [knobs.md](knobs.md). `preset=v3`, `preset=gpu`\n"
         "and `preset=cpu` choose a column of that table; single knobs then override it.\n";
  out += "\n## Exit codes\n\n| code | meaning |\n|---|---|\n";
  for (const ExitCodeRow& row : kExitCodes) out += fmt::format("| {} | {} |\n", static_cast<int>(row.code), row.meaning);
  return out;
}

}  // namespace gemmpeak::app
