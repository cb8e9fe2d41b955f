// Result<T> and Error: what every fallible function of the project returns.
// Used by every room. It refuses to lose the failing API's name, code and text, and it never
// throws: a Result that is read without a value is a programming error and aborts with the message.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/check.hpp"

namespace gemmpeak {

// A failure as data. `api` is the call that failed ("cublasLtMatmul"), `code` its own number,
// `text` one sentence for a person.
struct Error {
  std::string api;
  std::int64_t code = 0;
  std::string text;

  // "api: text (code 7)", leaving out the parts that are empty or zero.
  std::string message() const {
    std::string out = api.empty() ? text : api + ": " + text;
    if (code != 0) out += " (code " + std::to_string(code) + ")";
    return out;
  }
};

// An Error with only a sentence.
inline Error error_text(std::string text) { return Error{{}, 0, std::move(text)}; }

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T from) : value_(std::move(from)) {}            // NOLINT: implicit by design
  Result(Error error) : error_(std::move(error)) {}      // NOLINT: implicit by design

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }

  T& value() & {
    GEMMPEAK_CHECK(ok(), error_.message());
    return *value_;
  }
  const T& value() const& {
    GEMMPEAK_CHECK(ok(), error_.message());
    return *value_;
  }
  T&& value() && {
    GEMMPEAK_CHECK(ok(), error_.message());
    return std::move(*value_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const { return error_; }

 private:
  std::optional<T> value_;
  Error error_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : ok_(false), error_(std::move(error)) {}  // NOLINT: implicit by design

  bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }
  const Error& error() const { return error_; }

 private:
  bool ok_ = true;
  Error error_;
};

}  // namespace gemmpeak

// Evaluates `expression` (a Result) and returns its error from the enclosing function if it failed.
#define GEMMPEAK_TRY(expression)                                     \
  do {                                                               \
    if (auto gemmpeak_try_ = (expression); !gemmpeak_try_.ok())      \
      return gemmpeak_try_.error();                                  \
  } while (false)
