#include "app/arguments.hpp"

#include <fmt/format.h>

#include <cctype>
#include <optional>

namespace gemmpeak::app {
namespace {

// One spelling an option answers to.
struct Spelling {
  std::string text;  // with the dashes
  const OptionRow* row = nullptr;  // null: --help
  bool negated = false;
};

std::vector<Spelling> spellings_of(std::span<const OptionRow> rows) {
  std::vector<Spelling> out{{"--help", nullptr, false}, {"-h", nullptr, false}};
  for (const OptionRow& row : rows) {
    out.push_back({"--" + row.name, &row, false});
    if (row.takes == Takes::yes_no) out.push_back({"--no-" + row.name, &row, true});
  }
  return out;
}

// argparse's idea of a negative number: ^-\d+$|^-\d*\.\d+$
bool is_negative_number(const std::string& token) {
  std::size_t i = 1, digits = 0;
  while (i < token.size() && std::isdigit(static_cast<unsigned char>(token[i]))) ++i, ++digits;
  if (i == token.size()) return digits > 0;
  if (token[i] != '.') return false;
  const std::size_t point = i++;
  while (i < token.size() && std::isdigit(static_cast<unsigned char>(token[i]))) ++i;
  return i == token.size() && i > point + 1;
}

struct Recognised {
  const Spelling* spelling = nullptr;        // null: a value
  std::optional<std::string> attached;       // after the equals sign
};

// What `token` is among `spellings`, by argparse's order of questions.
Result<Recognised> recognise(const std::string& token, const std::vector<Spelling>& spellings) {
  if (token.size() < 2 || token[0] != '-') return Recognised{};
  const auto sign = token.find('=');
  const std::string name = token.substr(0, sign);
  const auto attached =
      sign == std::string::npos ? std::nullopt : std::optional(token.substr(sign + 1));
  for (const Spelling& spelling : spellings) {
    if (spelling.text == token) return Recognised{&spelling, std::nullopt};
    if (spelling.text == name) return Recognised{&spelling, attached};
  }
  std::vector<const Spelling*> candidates;
  if (name.rfind("--", 0) == 0 && name.size() > 2)
    for (const Spelling& spelling : spellings)
      if (spelling.text.rfind(name, 0) == 0) candidates.push_back(&spelling);
  if (candidates.size() == 1) return Recognised{candidates.front(), attached};
  if (candidates.size() > 1) {
    std::string list;
    for (const Spelling* candidate : candidates)
      list += (list.empty() ? "" : ", ") + candidate->text;
    return error_text(fmt::format("{} is ambiguous, it could be: {}", name, list));
  }
  if (is_negative_number(token) || token.find(' ') != std::string::npos) return Recognised{};
  return error_text(fmt::format("unknown option {}", name));
}

bool takes_value(const OptionRow& row) {
  return row.takes != Takes::nothing && row.takes != Takes::yes_no;
}

}  // namespace

Result<Arguments> read_arguments(std::span<const std::string> tokens,
                                 std::span<const OptionRow> rows) {
  const std::vector<Spelling> spellings = spellings_of(rows);
  Arguments out;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] == "--") {
      out.positionals.insert(out.positionals.end(), tokens.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                             tokens.end());
      break;
    }
    auto token = recognise(tokens[i], spellings);
    if (!token) return token.error();
    if (token->spelling == nullptr) {
      out.positionals.push_back(tokens[i]);
      continue;
    }
    if (token->spelling->row == nullptr) {
      out.help = true;
      continue;
    }
    Given given{token->spelling->row, {}, token->spelling->negated};
    if (!takes_value(*given.row)) {
      if (token->attached)
        return error_text(fmt::format("{} takes no value, got '{}'", token->spelling->text, *token->attached));
      out.given.push_back(std::move(given));
      continue;
    }
    if (token->attached) {
      given.values.push_back(*token->attached);
    } else {
      const bool several = given.row->takes == Takes::several;
      while (i + 1 < tokens.size() && tokens[i + 1] != "--" && (several || given.values.empty())) {
        // An unknown option after a complete one is reported when its turn comes.
        const auto next = recognise(tokens[i + 1], spellings);
        if (!next || next->spelling != nullptr) break;
        given.values.push_back(tokens[++i]);
      }
    }
    if (given.values.empty())
      return error_text(fmt::format("--{} needs {}", given.row->name,
                                    given.row->takes == Takes::several ? "at least one value" : "a value"));
    out.given.push_back(std::move(given));
  }
  return out;
}

}  // namespace gemmpeak::app
