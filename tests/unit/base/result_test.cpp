#include "base/result.hpp"

#include <gtest/gtest.h>

#include "base/handle.hpp"

namespace gemmpeak {
namespace {

TEST(Error, MessageLeavesOutEmptyParts) {
  EXPECT_EQ((Error{"api", 7, "text"}).message(), "api: text (code 7)");
  EXPECT_EQ(error_text("text").message(), "text");
  EXPECT_EQ((Error{"api", 0, "text"}).message(), "api: text");
}

TEST(Result, ReadingAFailedOneAbortsWithItsMessage) {
  const Result<int> failed = error_text("nothing there");
  EXPECT_DEATH((void)failed.value(), "nothing there");
}

Result<int> half(int value) {
  if (value % 2 != 0) return error_text("odd");
  return value / 2;
}
Result<int> half_if_small(int value) {
  GEMMPEAK_TRY(value > 10 ? Result<void>(error_text("large")) : Result<void>());
  return half(value);
}

TEST(Result, TryHandsTheErrorOn) {
  EXPECT_EQ(half_if_small(8).value(), 4);
  EXPECT_EQ(half_if_small(20).error().text, "large");
  EXPECT_EQ(half_if_small(3).error().text, "odd");
}

int destroyed = 0;
int destroy(int) { return ++destroyed, 1; }  // a failing destroy is ignored

TEST(Handle, DestroysOnceHoweverOftenItIsMoved) {
  destroyed = 0;
  {
    Handle<int, destroy> a(5);
    Handle<int, destroy> b(std::move(a));
    Handle<int, destroy> c;
    c = std::move(b);
    EXPECT_EQ(c.get(), 5);
    EXPECT_EQ(destroyed, 0);
    *c.out() = 6;  // lets go of 5
    EXPECT_EQ(destroyed, 1);
  }
  EXPECT_EQ(destroyed, 2);
}

}  // namespace
}  // namespace gemmpeak
