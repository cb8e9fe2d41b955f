// The grammar and the checks of the command line, and what `find` makes of it.
#include "app/arguments.hpp"

#include <gtest/gtest.h>

#include <set>

#include "app/parser.hpp"

namespace gemmpeak::app {
namespace {

using Tokens = std::vector<std::string>;

Options good(const Tokens& tokens) {
  auto options = parse_options(tokens, find_options());
  EXPECT_TRUE(options.ok()) << options.error().message();
  return options.ok() ? *options : Options(find_options());
}

std::string bad(const Tokens& tokens) {
  auto options = parse_options(tokens, find_options());
  EXPECT_FALSE(options.ok());
  return options.error().message();
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Grammar, AValueFollowsAfterABlankOrAnEqualsSign) {
  EXPECT_EQ(good({"--dtype", "float16"}).text("dtype"), "float16");
  EXPECT_EQ(good({"--dtype=float16"}).text("dtype"), "float16");
  EXPECT_EQ(good({"--output_file=a=b.txt"}).text("output_file"), "a=b.txt");
}

TEST(Grammar, UnambiguousPrefixesStandForTheOption) {
  EXPECT_EQ(good({"--out", "x"}).text("output_file"), "x");
  EXPECT_EQ(good({"--telem=off"}).text("telemetry"), "off");
  EXPECT_EQ(good({"--sh", "f"}).text("shapes_file"), "f");
}

TEST(Grammar, AnAmbiguousPrefixNamesTheCandidates) {
  const std::string text = bad({"--num", "3"});
  EXPECT_TRUE(has(text, "--num is ambiguous"));
  EXPECT_TRUE(has(text, "--num_iterations, --num_warmup_iterations"));
}

TEST(Grammar, AnExactNameBeatsThePrefixOfAnother) {
  EXPECT_EQ(good({"--m", "64"}).integers("m"), std::vector<std::int64_t>{64});
  EXPECT_FALSE(good({"--m", "64"}).given("m_range"));
}

TEST(Grammar, OneOptionTakesSeveralValuesAndTheLastOneGivenCounts) {
  EXPECT_EQ(good({"--m", "1", "2", "3"}).integers("m"), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(good({"--m", "1", "2", "--n", "5", "--m", "7"}).integers("m"),
            std::vector<std::int64_t>{7});
  EXPECT_EQ(good({"--dtype", "float16", "--dtype", "float32"}).text("dtype"), "float32");
}

TEST(Grammar, NegativeNumbersAreValues) {
  EXPECT_EQ(good({"--m_range", "1024", "0", "-256"}).integers("m_range"),
            (std::vector<std::int64_t>{1024, 0, -256}));
  EXPECT_EQ(good({"--m_range=-5"}).integers("m_range"), std::vector<std::int64_t>{-5});
}

TEST(Grammar, TuneAddsUp) {
  EXPECT_EQ(good({"--tune", "a=1", "--tune=b=2"}).texts("tune"), (Tokens{"a=1", "b=2"}));
}

TEST(Grammar, VerboseHasANo) {
  EXPECT_TRUE(good({}).flag("verbose", true));
  EXPECT_FALSE(good({"--no-verbose"}).flag("verbose", true));
  EXPECT_TRUE(good({"--no-verbose", "--verbose"}).flag("verbose", true));
  EXPECT_FALSE(good({"--no-v"}).flag("verbose", true));
  EXPECT_TRUE(has(bad({"--verbose=1"}), "takes no value"));
}

TEST(Grammar, TextIsTakenAsItIs) {
  for (const char* text : {"", "[a,b]", "{}", "a b", "- dash and blank", "%%", "'quoted'", "-"})
    EXPECT_EQ(good({"--notes", text}).text("notes"), text) << text;
  EXPECT_EQ(good({"--notes=--dtype"}).text("notes"), "--dtype");
  EXPECT_EQ(good({"--json", "-"}).text("json"), "-");
}

TEST(Grammar, WhatIsMissingUnknownOrTooMuchIsNamed) {
  EXPECT_TRUE(has(bad({"--dtype"}), "--dtype needs a value"));
  EXPECT_TRUE(has(bad({"--m", "--n", "3"}), "--m needs at least one value"));
  EXPECT_TRUE(has(bad({"--speed", "3"}), "unknown option --speed"));
  EXPECT_TRUE(has(bad({"-x"}), "unknown option -x"));
  EXPECT_TRUE(has(bad({"extra"}), "unexpected argument 'extra'"));
  EXPECT_TRUE(has(bad({"--dtype", "float16", "float32"}), "unexpected argument 'float32'"));
  EXPECT_TRUE(has(bad({"--", "--dtype"}), "unexpected argument '--dtype'"));
}

TEST(Grammar, HelpAnywhereIsHelp) {
  EXPECT_TRUE(good({"--m", "4", "-h"}).help());
  EXPECT_TRUE(good({"--help", "--dtype", "nonsense"}).help());
}

TEST(Checks, AnUnknownChoiceListsTheKnownOnes) {
  const std::string text = bad({"--dtype", "float8"});
  EXPECT_TRUE(has(text, "--dtype: unknown value 'float8'"));
  EXPECT_TRUE(has(text, "bfloat16"));
  EXPECT_TRUE(has(text, "nvfp4"));
  EXPECT_FALSE(has(text, "int32"));  // an output type
}

TEST(Checks, IntegersAreReadAsTheReferenceReadsThem) {
  EXPECT_EQ(parse_integer("010"), 10);  // not octal
  EXPECT_EQ(parse_integer(" +1_000 "), 1000);
  EXPECT_EQ(parse_integer("-5"), -5);
  for (const char* text : {"", "-", "1__0", "_1", "1_", "0x10", "1.5", "1e3", "99999999999999999999"})
    EXPECT_FALSE(parse_integer(text).has_value()) << text;
  EXPECT_TRUE(has(bad({"--m", "abc"}), "--m: expected an integer, got 'abc'"));
}

TEST(Checks, NumbersOutsideTheirRangeAreRefusedByName) {
  EXPECT_TRUE(has(bad({"--num_iterations", "0"}), "--num_iterations: 0 is not between 1 and"));
  EXPECT_TRUE(has(bad({"--cuda_device", "-1"}), "--cuda_device: -1 is not between"));
}

TEST(Checks, ADimensionAndItsRangeExcludeEachOther) {
  const std::string text = bad({"--m", "1", "--m_range", "1", "2"});
  EXPECT_TRUE(has(text, "--m"));
  EXPECT_TRUE(has(text, "--m_range"));
}

TEST(Table, NamesAreUniqueAndEveryRowSaysWhatItDoes) {
  std::set<std::string> names;
  for (const OptionRow& row : find_options()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.help.empty()) << row.name;
    EXPECT_FALSE(row.group.empty()) << row.name;
    const bool takes_none = row.takes == Takes::nothing || row.takes == Takes::yes_no;
    EXPECT_EQ(row.metavar.empty(), takes_none) << row.name;
  }
}

TEST(Table, EveryOptionOfTheReferenceIsThere) {
  const std::set<std::string> reference = {
      "dtype", "search", "m", "m_range", "n", "n_range", "k", "k_range", "shapes_file", "cuda_device",
      "num_iterations", "num_warmup_iterations", "telemetry", "tune", "output_file", "notes", "verbose"};
  std::set<std::string> found;
  for (const OptionRow& row : find_options())
    if (row.reference) found.insert(row.name);
  EXPECT_EQ(found, reference);
}

}  // namespace
}  // namespace gemmpeak::app
