// GEMMPEAK_CHECK: a programming error ends the program with file, line and a sentence, in every build.
// Used for invariants only; user input and device failures never go through it (they are Results).
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace gemmpeak::detail {

[[noreturn]] inline void check_failed(const char* file, int line, const char* condition,
                                      const std::string& message) {
  std::fprintf(stderr, "gemmpeak: internal error at %s:%d: %s: %s\n", file, line, condition,
               message.c_str());
  std::abort();
}

}  // namespace gemmpeak::detail

#define GEMMPEAK_CHECK(condition, message)                                               \
  do {                                                                                   \
    if (!(condition)) ::gemmpeak::detail::check_failed(__FILE__, __LINE__, #condition, (message)); \
  } while (false)
