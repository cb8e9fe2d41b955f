#include "model/json_fields.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace gemmpeak::fields {
namespace {

bool read_number(const Json& json, double& out) {
  if (json.is_number()) {
    out = json.get<double>();
    return true;
  }
  if (!json.is_string()) return false;
  const auto& text = json.get_ref<const std::string&>();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (text == "nan") return out = std::numeric_limits<double>::quiet_NaN(), true;
  if (text == "inf") return out = kInfinity, true;
  if (text == "-inf") return out = -kInfinity, true;
  return false;
}

// Integers as integers: a double would round what is above 2^53.
bool read_integer(const Json& json, std::int64_t& out) {
  if (!json.is_number_integer()) return false;
  if (json.is_number_unsigned() &&
      json.get<std::uint64_t>() >
          static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return false;
  out = json.get<std::int64_t>();
  return true;
}

}  // namespace

Json number(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

Json numbers(const std::vector<double>& values) {
  Json out = Json::array();
  for (const double value : values) out.push_back(number(value));
  return out;
}

Json shape(const GemmShape& shape) { return Json::array({shape.m, shape.n, shape.k}); }

Json outcome(const Outcome& outcome) {
  Json out = {{"state", std::string(outcome_name(outcome.state))}};
  if (!outcome.reason.empty()) out["reason"] = outcome.reason;
  return out;
}

Json texts(const std::vector<std::string>& values) {
  Json out = Json::array();
  for (const std::string& value : values) out.push_back(value);
  return out;
}

Json map(const std::map<std::string, std::string>& values) {
  Json out = Json::object();
  for (const auto& [name, value] : values) out[name] = value;
  return out;
}

void put_optional(Json& object, const char* name, const std::optional<double>& value) {
  if (value) object[name] = number(*value);
}

void put_optional(Json& object, const char* name, const std::optional<std::uint64_t>& value) {
  if (value) object[name] = *value;
}

Reader::Reader(const Json& object, std::string what) : object_(object), what_(std::move(what)) {
  if (!object_.is_object()) fail("expected an object");
}

void Reader::fail(const std::string& why) {
  if (error_.empty()) error_ = what_ + ": " + why;
}

void Reader::fail_member(const char* name, const char* expected) {
  fail(std::string("'") + name + "' is not " + expected);
}

const Json* Reader::member(const char* name, bool required) {
  if (!ok()) return nullptr;
  const auto found = object_.find(name);
  if (found != object_.end()) return &*found;
  if (required) fail(std::string("'") + name + "' is missing");
  return nullptr;
}

const Json* Reader::child(const char* name) { return member(name, true); }

Reader& Reader::get(const char* name, double& out) {
  const Json* json = member(name, true);
  if (json != nullptr && !read_number(*json, out)) fail_member(name, "a number");
  return *this;
}

Reader& Reader::get(const char* name, std::int64_t& out) {
  const Json* json = member(name, true);
  if (json != nullptr && !read_integer(*json, out)) fail_member(name, "an integer");
  return *this;
}

Reader& Reader::get(const char* name, int& out) {
  std::int64_t wide = 0;
  get(name, wide);
  if (!ok()) return *this;
  out = static_cast<int>(wide);
  if (out != wide) fail_member(name, "a 32-bit integer");
  return *this;
}

Reader& Reader::get(const char* name, bool& out) {
  const Json* json = member(name, true);
  if (json == nullptr) return *this;
  if (!json->is_boolean()) return fail_member(name, "true or false"), *this;
  out = json->get<bool>();
  return *this;
}

Reader& Reader::get(const char* name, std::string& out) {
  const Json* json = member(name, true);
  if (json == nullptr) return *this;
  if (!json->is_string()) return fail_member(name, "a text"), *this;
  out = json->get<std::string>();
  return *this;
}

Reader& Reader::get(const char* name, GemmShape& out) {
  const Json* json = member(name, true);
  if (json == nullptr) return *this;
  if (!json->is_array() || json->size() != 3 || !read_integer((*json)[0], out.m) ||
      !read_integer((*json)[1], out.n) || !read_integer((*json)[2], out.k))
    fail_member(name, "an array of three integers");
  return *this;
}

Reader& Reader::get(const char* name, Outcome& out) {
  const Json* json = member(name, true);
  if (json == nullptr) return *this;
  Reader inner(*json, what_ + ": " + name);
  std::string state;
  inner.get("state", state);
  if (inner.ok() && json->contains("reason")) inner.get("reason", out.reason);
  const auto parsed = parse_outcome(state);
  if (inner.ok() && !parsed) inner.fail("unknown state '" + state + "'");
  if (!inner.ok()) return error_ = inner.error_, *this;
  out.state = *parsed;
  return *this;
}

Reader& Reader::get(const char* name, std::vector<double>& out) {
  const Json* json = member(name, true);
  if (json == nullptr) return *this;
  if (!json->is_array()) return fail_member(name, "an array"), *this;
  out.assign(json->size(), 0);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (!read_number((*json)[i], out[i])) return fail_member(name, "an array of numbers"), *this;
  return *this;
}

Reader& Reader::get(const char* name, std::optional<double>& out) {
  out.reset();
  const Json* json = member(name, false);
  if (json == nullptr) return *this;
  double value = 0;
  if (!read_number(*json, value)) return fail_member(name, "a number"), *this;
  out = value;
  return *this;
}

Reader& Reader::get(const char* name, std::optional<std::uint64_t>& out) {
  out.reset();
  const Json* json = member(name, false);
  if (json == nullptr) return *this;
  if (!json->is_number_unsigned() && !(json->is_number_integer() && json->get<std::int64_t>() >= 0))
    return fail_member(name, "a bit mask"), *this;
  out = json->get<std::uint64_t>();
  return *this;
}

}  // namespace gemmpeak::fields
