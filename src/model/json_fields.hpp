// Helpers that write and read the members of JSON objects, so that every record does it the same
// way: optional members are absent when empty, doubles come back bit for bit, a bad member is an
// Error that names it. Used by model's own sources only. It refuses to throw.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"
#include "model/outcome.hpp"
#include "model/shape.hpp"

namespace gemmpeak::fields {

// A number, or where JSON has none "nan", "inf" or "-inf" as text.
Json number(double value);
Json numbers(const std::vector<double>& values);
Json shape(const GemmShape& shape);    // [m, n, k]
Json outcome(const Outcome& outcome);  // {"state": ..., "reason": ...}, no reason when empty
Json texts(const std::vector<std::string>& values);
Json map(const std::map<std::string, std::string>& values);
void put_optional(Json& object, const char* name, const std::optional<double>& value);
void put_optional(Json& object, const char* name, const std::optional<std::uint64_t>& value);

// Reads members of one object; the first failure is kept and what follows it does nothing.
class Reader {
 public:
  Reader(const Json& object, std::string what);

  Reader& get(const char* name, double& out);
  Reader& get(const char* name, int& out);
  Reader& get(const char* name, std::int64_t& out);
  Reader& get(const char* name, bool& out);
  Reader& get(const char* name, std::string& out);
  Reader& get(const char* name, GemmShape& out);
  Reader& get(const char* name, Outcome& out);
  Reader& get(const char* name, std::vector<double>& out);
  Reader& get(const char* name, std::optional<double>& out);         // absent: empty
  Reader& get(const char* name, std::optional<std::uint64_t>& out);  // absent: empty
  // The member itself, for nested objects and arrays; null after a failure.
  const Json* child(const char* name);

  void fail(const std::string& why);  // keeps an earlier failure
  bool ok() const { return error_.empty(); }
  Error error() const { return error_text(error_); }

 private:
  const Json* member(const char* name, bool required);
  void fail_member(const char* name, const char* expected);

  const Json& object_;
  std::string what_;
  std::string error_;
};

}  // namespace gemmpeak::fields
