// From tokens to checked values: arguments.cpp settles which value belongs to which option, CLI11 is
// registered from the same table and checks choices, integers, ranges and exclusions.
#include "app/parser.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cctype>
#include <charconv>

#include "app/arguments.hpp"
#include "base/check.hpp"

namespace gemmpeak::app {
namespace {

// CLI11's checks return a sentence, or nothing where the value is good.
std::string objection(const OptionRow& row, const std::string& value) {
  if (!row.choices.empty()) {
    for (const std::string& choice : row.choices)
      if (choice == value) return {};
    return fmt::format("--{}: unknown value '{}'; choose from {}", row.name, value,
                       fmt::join(row.choices, ", "));
  }
  if (!row.integer) return {};
  const auto number = parse_integer(value);
  if (!number) return fmt::format("--{}: expected an integer, got '{}'", row.name, value);
  if (*number < row.minimum || *number > row.maximum)
    return fmt::format("--{}: {} is not between {} and {}", row.name, value, row.minimum, row.maximum);
  return {};
}

// Registers every row that takes values, with its checks. Nothing is bound to variables: CLI11's
// conversion to strings gives "{}" and "[a,b]" a meaning that a path or a note must not have.
void register_rows(CLI::App& cli, std::span<const OptionRow> rows) {
  for (const OptionRow& row : rows) {
    if (row.takes == Takes::nothing || row.takes == Takes::yes_no) continue;
    auto* option = cli.add_option("--" + row.name);
    option->expected(1, row.takes == Takes::one ? 1 : CLI::detail::expected_max_vector_size);
    option->allow_extra_args(false);
    option->check([&row](const std::string& value) { return objection(row, value); });
  }
  for (const OptionRow& row : rows)
    if (!row.excludes.empty())
      cli.get_option("--" + row.name)->excludes(cli.get_option("--" + row.excludes));
}

// CLI11's words for what its own rules refuse, ours for our checks (they come wrapped in its name).
std::string message_of(const CLI::Error& error) {
  const std::string text = error.what();
  if (const auto at = text.find(": --"); at != std::string::npos && error.get_name() == "ValidationError")
    return text.substr(at + 2);
  return text;
}

}  // namespace

std::optional<std::int64_t> parse_integer(const std::string& text) {
  const auto is_blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  std::size_t begin = 0, end = text.size();
  while (begin < end && is_blank(text[begin])) ++begin;
  while (end > begin && is_blank(text[end - 1])) --end;
  std::string plain;
  if (begin < end && (text[begin] == '+' || text[begin] == '-')) {
    if (text[begin] == '-') plain = "-";
    ++begin;
  }
  for (std::size_t i = begin; i < end; ++i) {
    const bool digit = std::isdigit(static_cast<unsigned char>(text[i])) != 0;
    const bool joins = text[i] == '_' && i > begin && text[i - 1] != '_' && i + 1 < end;
    if (!digit && !joins) return std::nullopt;
    if (digit) plain += text[i];
  }
  std::int64_t value = 0;
  const auto [stop, code] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  if (code != std::errc() || stop != plain.data() + plain.size()) return std::nullopt;
  return value;
}

Options::Options(std::span<const OptionRow> rows) {
  for (const OptionRow& row : rows) values_[row.name];
}

const std::vector<std::string>* Options::values(const std::string& name) const {
  const auto found = values_.find(name);
  GEMMPEAK_CHECK(found != values_.end(), "no such option: --" + name);
  return found->second.empty() ? nullptr : &found->second;
}

bool Options::given(const std::string& name) const {
  return values(name) != nullptr || given_.count(name) != 0;
}

std::optional<std::string> Options::text(const std::string& name) const {
  const auto* all = values(name);
  return all == nullptr ? std::nullopt : std::optional(all->back());
}

std::string Options::text_or(const std::string& name, const std::string& fallback) const {
  return text(name).value_or(fallback);
}

std::vector<std::string> Options::texts(const std::string& name) const {
  const auto* all = values(name);
  return all == nullptr ? std::vector<std::string>{} : *all;
}

std::optional<std::int64_t> Options::integer(const std::string& name) const {
  const auto value = text(name);
  return value ? parse_integer(*value) : std::nullopt;
}

std::vector<std::int64_t> Options::integers(const std::string& name) const {
  std::vector<std::int64_t> out;
  for (const std::string& value : texts(name)) out.push_back(parse_integer(value).value_or(0));
  return out;
}

bool Options::flag(const std::string& name, bool fallback) const {
  (void)values(name);  // the name's check
  const auto found = given_.find(name);
  return found == given_.end() ? fallback : found->second;
}

Result<Options> parse_options(std::span<const std::string> tokens, std::span<const OptionRow> rows,
                              std::size_t positionals) {
  auto arguments = read_arguments(tokens, rows);
  Options out(rows);
  if (!arguments) return arguments.error();
  out.help_ = arguments->help;
  if (out.help_) return out;
  out.positionals_ = arguments->positionals;
  if (out.positionals_.size() > positionals)
    return error_text(fmt::format("unexpected argument '{}'", out.positionals_[positionals]));

  std::map<std::string, std::vector<std::string>> last;  // what counts of each option
  for (const Given& given : arguments->given) {
    auto& values = last[given.row->name];
    if (given.row->takes != Takes::repeated) values.clear();
    values.insert(values.end(), given.values.begin(), given.values.end());
    if (given.row->takes == Takes::nothing || given.row->takes == Takes::yes_no)
      out.given_[given.row->name] = !given.negated;
  }
  CLI::App cli;
  cli.set_help_flag();
  register_rows(cli, rows);
  std::vector<std::string> canonical;
  for (const auto& [name, values] : last)
    for (const std::string& value : values) {
      // "=" keeps a value that looks like an option; an empty one needs a token of its own.
      canonical.push_back("--" + name + (value.empty() ? "" : "=" + value));
      if (value.empty()) canonical.push_back(value);
    }
  try {
    // CLI11 takes its arguments from the back.
    cli.parse(std::vector<std::string>(canonical.rbegin(), canonical.rend()));
  } catch (const CLI::Error& error) {
    return error_text(message_of(error));
  }
  for (const auto& [name, values] : last)
    if (!values.empty()) out.values_[name] = cli.get_option("--" + name)->results();
  return out;
}

}  // namespace gemmpeak::app
