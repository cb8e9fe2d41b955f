// What the user asked for: values, ranges, files of shapes, and the alignment rules of a dtype.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <numeric>

#include "search/candidates.hpp"

namespace gemmpeak::search {
namespace {

// The largest dimension any library takes: they count in 32-bit signed integers.
constexpr std::int64_t kMaxDimension = 2147483647;
constexpr std::int64_t kDefaultStep = 256;
// No machine scouts so many in a week (a scout takes 5 ms at best): more is a slip of the keyboard,
// which must not exhaust the memory first.
constexpr double kMaxShapes = 1e7;

// Why `value` cannot be a dimension, or nothing.
std::optional<std::string> bad_dimension(std::int64_t value) {
  if (value == 0) return "a dimension cannot be 0";
  if (value < 0) return fmt::format("{} is negative", value);
  if (value > kMaxDimension) return fmt::format("{} is over {}", value, kMaxDimension);
  return std::nullopt;
}

std::string range_text(std::span<const std::int64_t> range) {
  return fmt::format("{}", fmt::join(range, " "));
}

bool is_blank(char c) {  // Python's ASCII white space, so that files read alike
  return c == ' ' || (c >= '\t' && c <= '\r') || (c >= '\x1c' && c <= '\x1f');
}

// Lines end where Python's splitlines ends them, except at the Unicode separators.
std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::string line;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c >= '\n' && c <= '\r') || (c >= '\x1c' && c <= '\x1e')) {
      if (c == '\r' && i + 1 < text.size() && text[i + 1] == '\n') ++i;
      lines.push_back(std::move(line));
      line.clear();
    } else {
      line += c;
    }
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

std::string strip(std::string line) {
  if (const auto hash = line.find('#'); hash != std::string::npos) line.resize(hash);
  while (!line.empty() && is_blank(line.back())) line.pop_back();
  const auto first = std::find_if_not(line.begin(), line.end(), is_blank);
  line.erase(line.begin(), first);
  return line;
}

// Fields between runs of separators; one at either end leaves an empty field, which is an error.
std::vector<std::string> split_fields(const std::string& line) {
  const auto separates = [](char c) { return is_blank(c) || c == ',' || c == 'x' || c == 'X'; };
  std::vector<std::string> fields(1);
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (!separates(line[i]))
      fields.back() += line[i];
    else if (i == 0 || !separates(line[i - 1]))
      fields.emplace_back();
  }
  return fields;
}

// The line in quotes, as the reference words it.
std::string quoted(const std::string& line) {
  const char quote =
      line.find('\'') != std::string::npos && line.find('"') == std::string::npos ? '"' : '\'';
  std::string out(1, quote);
  for (const char c : line) {
    if (c == '\t')
      out += "\\t";
    else if (c == '\\' || c == quote)
      out += {'\\', c};
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out + quote;
}

enum class Number { good, not_a_number, too_large };

// An integer in Python's spelling: an optional sign, digits, single underscores between digits.
Number parse_integer(const std::string& text, std::int64_t* value) {
  std::string digits;
  const bool sign = !text.empty() && (text[0] == '+' || text[0] == '-');
  for (std::size_t i = sign ? 1 : 0; i < text.size(); ++i) {
    const bool digit = std::isdigit(static_cast<unsigned char>(text[i])) != 0;
    const bool joins =
        text[i] == '_' && !digits.empty() && text[i - 1] != '_' && i + 1 < text.size();
    if (!digit && !joins) return Number::not_a_number;
    if (digit) digits += text[i];
  }
  if (digits.empty()) return Number::not_a_number;
  if (sign && text[0] == '-') digits.insert(0, 1, '-');
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *value);
  return error == std::errc() ? Number::good : Number::too_large;
}

Result<GemmShape> parse_shape(const std::string& where, const std::string& line) {
  const std::vector<std::string> fields = split_fields(line);
  std::int64_t dims[3] = {0, 0, 0};
  if (fields.size() != 3)
    return error_text(fmt::format("{}: expected M,N,K, got {}", where, quoted(line)));
  for (std::size_t i = 0; i < 3; ++i) {
    switch (parse_integer(fields[i], &dims[i])) {
      case Number::not_a_number:
        return error_text(fmt::format("{}: expected M,N,K, got {}", where, quoted(line)));
      case Number::too_large:
        return error_text(fmt::format("{}: {} is not within 1..{}, got {}", where, fields[i],
                                      kMaxDimension, quoted(line)));
      case Number::good:
        if (const auto why = bad_dimension(dims[i]))
          return error_text(fmt::format("{}: {}, got {}", where, *why, quoted(line)));
    }
  }
  return GemmShape{dims[0], dims[1], dims[2]};
}

}  // namespace

Result<std::vector<std::int64_t>> dimension_values(const std::string& option,
                                                   std::span<const std::int64_t> values) {
  std::vector<std::int64_t> out;
  std::set<std::int64_t> seen;
  for (const std::int64_t value : values) {
    if (const auto why = bad_dimension(value))
      return error_text(fmt::format("{} {}: {}", option, value, *why));
    if (seen.insert(value).second) out.push_back(value);
  }
  if (out.empty()) return error_text(option + ": needs at least one value");
  return out;
}

Result<std::vector<std::int64_t>> dimension_range(const std::string& option,
                                                  std::span<const std::int64_t> range) {
  const auto refuse = [&](const std::string& why) {
    return error_text(fmt::format("{} {}: {}", option, range_text(range), why));
  };
  if (range.size() != 2 && range.size() != 3) {
    return error_text(fmt::format("{}: needs START STOP [STEP], got {} value{}", option,
                                  range.size(), range.size() == 1 ? "" : "s"));
  }
  const std::int64_t step = range.size() == 3 ? range[2] : kDefaultStep;
  const std::int64_t stop = range[1];
  if (step == 0) return refuse("STEP cannot be 0");
  if (step > kMaxDimension || step < -kMaxDimension)
    return refuse(fmt::format("STEP {} is over {}", step, kMaxDimension));
  const std::int64_t start = range[0] == 0 ? step : range[0];
  if (const auto why = bad_dimension(start)) return refuse("START " + *why);
  // STOP is not reached, so that one past the largest dimension is the last sensible one.
  if (stop > kMaxDimension + 1)
    return refuse(fmt::format("STOP {} is over {}", stop, kMaxDimension));
  if (stop < 0) return refuse(fmt::format("STOP {} is negative", stop));
  if (step > 0 ? start >= stop : start <= stop) return refuse("the range is empty");
  const std::int64_t count =
      step > 0 ? (stop - start + step - 1) / step : (start - stop - step - 1) / -step;
  if (static_cast<double>(count) > kMaxShapes)
    return refuse(fmt::format("{} values are more than any run can measure", count));
  std::vector<std::int64_t> out;
  out.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) out.push_back(start + i * step);
  return out;
}

std::vector<GemmShape> grid_product(std::span<const std::int64_t> m,
                                    std::span<const std::int64_t> n,
                                    std::span<const std::int64_t> k) {
  std::vector<GemmShape> out;
  std::set<GemmShape> seen;
  for (const std::int64_t mm : m)
    for (const std::int64_t nn : n)
      for (const std::int64_t kk : k)
        if (seen.insert({mm, nn, kk}).second) out.push_back({mm, nn, kk});
  return out;
}

std::optional<std::string> grid_too_large(std::size_t m, std::size_t n, std::size_t k) {
  const double shapes = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  if (shapes <= kMaxShapes) return std::nullopt;
  return fmt::format("{} x {} x {} values make {:.3g} shapes, more than any run can measure", m, n,
                     k, shapes);
}

Result<std::vector<GemmShape>> parse_shapes(const std::string& file_name, const std::string& text) {
  std::vector<GemmShape> out;
  std::set<GemmShape> seen;
  const std::vector<std::string> lines = split_lines(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string line = strip(lines[i]);
    if (line.empty()) continue;
    auto shape = parse_shape(fmt::format("{}:{}", file_name, i + 1), line);
    if (!shape) return shape.error();
    if (seen.insert(*shape).second) out.push_back(*shape);
  }
  if (out.empty()) {
    return error_text(
        fmt::format("no shapes to search in exact shapes from {} (0 shapes)", file_name));
  }
  return out;
}

std::optional<std::string> alignment_violations(DType dtype, std::span<const GemmShape> shapes,
                                                std::span<const int> mnk_multiples) {
  const char* names[] = {"M", "N", "K"};
  std::string sentence;
  for (std::size_t dim = 0; dim < 3; ++dim) {
    std::int64_t multiple = dim < mnk_multiples.size() ? std::max(mnk_multiples[dim], 1) : 1;
    if (dim == 2) multiple = std::lcm(multiple, std::int64_t{dtype_info(dtype).k_multiple});
    std::set<std::int64_t> bad;
    for (const GemmShape& s : shapes) {
      const std::int64_t value = dim == 0 ? s.m : dim == 1 ? s.n : s.k;
      if (value % multiple != 0) bad.insert(value);
    }
    if (bad.empty()) continue;
    sentence += sentence.empty() ? fmt::format("--dtype {} needs ", dtype_name(dtype)) : "; ";
    sentence += fmt::format("{} to be a multiple of {}, got {}={}", names[dim], multiple,
                            names[dim], fmt::join(bad, ","));
  }
  if (sentence.empty()) return std::nullopt;
  return sentence;
}

}  // namespace gemmpeak::search
