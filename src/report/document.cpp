// The JSON document: indented objects, and arrays of plain values on one line, so that raw samples
// stay readable and the file small.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/report.hpp"

namespace gemmpeak::report {
namespace {

std::string scalar(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool is_flat(const Json& array) {
  return std::none_of(array.begin(), array.end(),
                      [](const Json& item) { return item.is_structured(); });
}

void print(const Json& value, int depth, std::string& out) {
  if (!value.is_structured() || value.empty() || (value.is_array() && is_flat(value))) {
    out += scalar(value);
    return;
  }
  const auto new_line = [&out](int level) {
    out += '\n';
    out.append(static_cast<std::size_t>(level) * 2, ' ');
  };
  out += value.is_array() ? "[" : "{";
  bool first = true;
  for (const auto& [key, item] : value.items()) {
    if (!first) out += ',';
    first = false;
    new_line(depth + 1);
    if (value.is_object()) out.append(scalar(Json(key))).append(": ");
    print(item, depth + 1, out);
  }
  new_line(depth);
  out += value.is_array() ? ']' : '}';
}

}  // namespace

std::string run_document(const Run& run) {
  std::string out;
  print(to_json(run), 0, out);
  return out + "\n";
}

}  // namespace gemmpeak::report
