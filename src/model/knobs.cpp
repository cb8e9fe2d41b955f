// Parsing, checking and printing of knobs, all driven by the rows of knobs_table.cpp.
#include "model/knobs.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace gemmpeak {
namespace {

constexpr std::array<std::pair<std::string_view, KnobPreset>, 3> kPresets{
    {{"v3", KnobPreset::v3}, {"gpu", KnobPreset::gpu}, {"cpu", KnobPreset::cpu}}};
constexpr std::string_view kPresetName = "preset";

std::string in_quotes(std::string_view text) {
  const bool single = text.find('\'') != std::string_view::npos;
  return single ? fmt::format("\"{}\"", text) : fmt::format("'{}'", text);
}

Error bad_pair(std::string_view pair, std::string_view why) {
  return error_text(fmt::format("--tune {}: {}", in_quotes(pair), why));
}

std::string known_names() {
  std::string out{kPresetName};
  for (const KnobRow& row : knob_table()) out += fmt::format(", {}", row.name);
  return out;
}

const KnobRow* find_row(std::string_view name) {
  for (const KnobRow& row : knob_table())
    if (row.name == name) return &row;
  return nullptr;
}

std::string_view stripped(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// The text of a number as the reference's language writes it (blanks around it, a plus sign, single
// underscores between digits), reduced to what from_chars takes; nothing where it is no such text.
std::optional<std::string> plain_number(std::string_view text) {
  text = stripped(text);
  if (!text.empty() && text.front() == '+') {
    text.remove_prefix(1);
    if (!text.empty() && text.front() == '-') return std::nullopt;
  }
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
    } else if (i == 0 || i + 1 == text.size() || !digit(text[i - 1]) || !digit(text[i + 1])) {
      return std::nullopt;
    }
  }
  return out.empty() ? std::nullopt : std::optional(out);
}

// `out_of_range` is set where the text is a number that T cannot hold.
template <class T>
std::optional<T> parse_number(std::string_view text, bool& out_of_range) {
  const auto plain = plain_number(text);
  if (!plain) return std::nullopt;
  T value{};
  const char* end = plain->data() + plain->size();
  const auto [stop, code] = std::from_chars(plain->data(), end, value);
  if (stop != end || code == std::errc::invalid_argument) return std::nullopt;
  if (code == std::errc::result_out_of_range) out_of_range = true;
  return value;
}

std::optional<bool> parse_bool(std::string_view text) {
  std::string lower{text};
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (lower == "true" || lower == "1") return true;
  if (lower == "false" || lower == "0") return false;
  return std::nullopt;
}

bool is_choice(std::string_view choices, std::string_view value) {
  while (!choices.empty()) {
    const auto bar = choices.find('|');
    if (choices.substr(0, bar) == value) return true;
    choices = bar == std::string_view::npos ? std::string_view{} : choices.substr(bar + 1);
  }
  return false;
}

std::string choices_text(const KnobRow& row) {
  std::string out;
  for (const char c : row.choices) out += c == '|' ? std::string(" or ") : std::string(1, c);
  return out;
}

// Why `value` may not be this knob's; empty where it may. One wording for options and documents.
std::string objection(const KnobRow& row, const KnobValue& value) {
  if (const auto* text = std::get_if<std::string>(&value))
    return is_choice(row.choices, *text) ? "" : "expected " + choices_text(row);
  double number = 0;
  if (const auto* i = std::get_if<int>(&value)) {
    number = *i;
  } else if (const auto* d = std::get_if<double>(&value)) {
    number = *d;
  } else {
    return "";
  }
  if (std::isfinite(number) && number >= row.minimum && number <= row.maximum) return "";
  return fmt::format("expected a number from {} to {}{}{}", knob_text(row.minimum),
                     knob_text(row.maximum), row.unit.empty() ? "" : " ", row.unit);
}

void store(Knobs& knobs, const KnobRow& row, const KnobValue& value) {
  std::visit(
      [&](auto member) {
        using T = std::remove_reference_t<decltype(knobs.*member)>;
        knobs.*member = std::get<T>(value);
      },
      row.member);
}

// The typed value of `text`, or what was expected instead.
Result<KnobValue> parse_value(const KnobRow& row, std::string_view text) {
  bool out_of_range = false;
  if (std::holds_alternative<std::string>(row.v3)) return KnobValue{std::string(text)};
  if (std::holds_alternative<bool>(row.v3)) {
    if (const auto value = parse_bool(text)) return KnobValue{*value};
    return error_text("expected true or false");
  }
  if (std::holds_alternative<int>(row.v3)) {
    const auto value = parse_number<int>(text, out_of_range);
    if (!value) return error_text("expected an integer");
    // Out of int's range is out of the row's; the largest double brings out that message.
    if (out_of_range)
      return error_text(objection(row, KnobValue{std::numeric_limits<double>::max()}));
    return KnobValue{*value};
  }
  const auto value = parse_number<double>(text, out_of_range);
  if (!value) return error_text("expected a number");
  if (out_of_range || !std::isfinite(*value))
    return error_text(objection(row, KnobValue{std::numeric_limits<double>::infinity()}));
  return KnobValue{*value};
}

const KnobValue& column(const KnobRow& row, KnobPreset preset) {
  if (preset == KnobPreset::gpu) return row.gpu;
  return preset == KnobPreset::cpu ? row.cpu : row.v3;
}

Result<KnobValue> value_from_json(const KnobRow& row, const Json& json) {
  if (std::holds_alternative<std::string>(row.v3) && json.is_string())
    return KnobValue{json.get<std::string>()};
  if (std::holds_alternative<bool>(row.v3) && json.is_boolean()) return KnobValue{json.get<bool>()};
  if (std::holds_alternative<double>(row.v3) && json.is_number())
    return KnobValue{json.get<double>()};
  if (std::holds_alternative<int>(row.v3) && json.is_number_integer()) {
    // Through double: an integer too large for int must be refused, not wrapped.
    const double wide = json.get<double>();
    if (const std::string why = objection(row, KnobValue{wide}); !why.empty())
      return error_text(why);
    return KnobValue{json.get<int>()};
  }
  return error_text(fmt::format("{} is of the wrong type", json.dump()));
}

}  // namespace

Knobs knobs_for(KnobPreset preset) {
  Knobs knobs;
  for (const KnobRow& row : knob_table()) store(knobs, row, column(row, preset));
  return knobs;
}

Result<KnobPreset> preset_of(std::span<const std::string> pairs, KnobPreset fallback) {
  for (const std::string& pair : pairs) {
    const auto sign = pair.find('=');
    if (sign == std::string::npos || std::string_view(pair).substr(0, sign) != kPresetName)
      continue;
    bool known = false;
    for (const auto& [name, preset] : kPresets) {
      if (std::string_view(pair).substr(sign + 1) != name) continue;
      fallback = preset;
      known = true;
    }
    if (!known) return bad_pair(pair, "expected v3, gpu or cpu");
  }
  return fallback;
}

Result<Knobs> apply_overrides(const Knobs& knobs, std::span<const std::string> pairs) {
  Knobs out = knobs;
  // The last string of each text knob: as in the reference, only the final value must be a choice.
  std::vector<std::pair<const KnobRow*, const std::string*>> texts;
  for (const std::string& pair : pairs)
    if (pair.rfind("preset=", 0) == 0) {
      const auto preset = preset_of(pairs, KnobPreset::v3);
      if (!preset) return preset.error();
      out = knobs_for(*preset);
      break;
    }
  for (const std::string& pair : pairs) {
    const auto sign = pair.find('=');
    const std::string_view name = std::string_view(pair).substr(0, sign);
    if (sign != std::string::npos && name == kPresetName) continue;
    const KnobRow* row = sign == std::string::npos ? nullptr : find_row(name);
    if (row == nullptr) return bad_pair(pair, "expected NAME=VALUE, NAME one of: " + known_names());
    const auto value = parse_value(*row, std::string_view(pair).substr(sign + 1));
    if (!value) return bad_pair(pair, value.error().text);
    if (std::holds_alternative<std::string>(*value)) {
      texts.emplace_back(row, &pair);
    } else if (const std::string why = objection(*row, *value); !why.empty()) {
      return bad_pair(pair, why);
    }
    store(out, *row, *value);
  }
  for (const auto& [row, pair] : texts)
    if (const std::string why = objection(*row, knob_value(out, *row)); !why.empty())
      return bad_pair(*pair, why);
  return out;
}

std::string knob_text(const KnobValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<int>(&value)) return std::to_string(*integer);
  const double number = std::get<double>(value);
  // Whole numbers without an exponent: 86400, not 8.64e+04.
  if (number == std::floor(number) && std::abs(number) < 1e15) return fmt::format("{:.0f}", number);
  return fmt::format("{}", number);  // shortest text that reads back as the same double
}

KnobValue knob_value(const Knobs& knobs, const KnobRow& row) {
  return std::visit([&](auto member) { return KnobValue{knobs.*member}; }, row.member);
}

Json knobs_json(const Knobs& knobs) {
  Json out = Json::object();
  for (const KnobRow& row : knob_table())
    std::visit([&](const auto& value) { out[std::string(row.name)] = value; },
               knob_value(knobs, row));
  return out;
}

Result<Knobs> knobs_from_json(const Json& json) {
  if (!json.is_object()) return error_text("knobs: expected an object");
  // A document older than a knob lacks its name; the v3 column holds the value without effect.
  Knobs knobs = knobs_for(KnobPreset::v3);
  for (const auto& [name, item] : json.items()) {
    const KnobRow* row = find_row(name);
    if (row == nullptr) return error_text(fmt::format("knobs: unknown name {}", in_quotes(name)));
    const auto value = value_from_json(*row, item);
    if (!value) return error_text(fmt::format("knobs: {}: {}", name, value.error().text));
    if (const std::string why = objection(*row, *value); !why.empty())
      return error_text(fmt::format("knobs: {}: {}", name, why));
    store(knobs, *row, *value);
  }
  return knobs;
}

std::vector<std::string> knob_differences(const Knobs& knobs, const Knobs& base) {
  std::vector<std::string> out;
  for (const KnobRow& row : knob_table()) {
    const KnobValue value = knob_value(knobs, row);
    if (value != knob_value(base, row))
      out.push_back(fmt::format("--tune {}={}", row.name, knob_text(value)));
  }
  return out;
}

std::string knobs_markdown() {
  std::string out = "| knob | v3 | GPU | CPU | range | what |\n|---|---|---|---|---|---|\n";
  for (const KnobRow& row : knob_table()) {
    std::string range = "true, false";
    if (!row.choices.empty()) {
      range = choices_text(row);
    } else if (row.v3.index() < 2) {  // int or double
      range = fmt::format("{} to {}{}{}", knob_text(row.minimum), knob_text(row.maximum),
                          row.unit.empty() ? "" : " ", row.unit);
    }
    out +=
        fmt::format("| `{}`{} | {} | {} | {} | {} | {} |\n", row.name, row.reference ? "" : " \\*",
                    knob_text(row.v3), knob_text(row.gpu), knob_text(row.cpu), range, row.help);
  }
  return out;
}

}  // namespace gemmpeak
