#include "base/dynlib.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace gemmpeak {
namespace {

constexpr const char* kMathLibrary = "libm.so.6";  // part of every glibc

TEST(DynLib, CallsAFunctionOfALoadedLibrary) {
  const auto library = DynLib::open(kMathLibrary);
  ASSERT_TRUE(library.ok()) << library.error().message();
  const auto cosine = library->function<double (*)(double)>("cos");
  ASSERT_TRUE(cosine.ok()) << cosine.error().message();
  EXPECT_EQ((*cosine)(0.0), 1.0);
  EXPECT_EQ(library->path(), kMathLibrary);
}

TEST(DynLib, AMissingLibraryIsAnErrorInTheLoadersWords) {
  const auto library = DynLib::open("libgemmpeak_no_such.so");
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().api, "dlopen");
  EXPECT_NE(library.error().text.find("libgemmpeak_no_such.so"), std::string::npos);
  EXPECT_FALSE(DynLib::open("").ok());  // dlopen would return the program itself
}

TEST(DynLib, AMissingSymbolIsAnErrorThatNamesIt) {
  const auto library = DynLib::open(kMathLibrary);
  ASSERT_TRUE(library.ok());
  const auto symbol = library->symbol("gemmpeak_no_such_symbol");
  ASSERT_FALSE(symbol.ok());
  EXPECT_NE(symbol.error().text.find("gemmpeak_no_such_symbol"), std::string::npos);
}

TEST(DynLib, ItsSymbolsOutliveAMove) {
  auto library = DynLib::open(kMathLibrary);
  ASSERT_TRUE(library.ok());
  DynLib moved = std::move(*library);
  auto other = DynLib::open(kMathLibrary);
  ASSERT_TRUE(other.ok());
  *other = std::move(moved);
  EXPECT_TRUE(other->symbol("sin").ok());
}

}  // namespace
}  // namespace gemmpeak
