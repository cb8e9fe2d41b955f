#include "model/knobs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace gemmpeak {
namespace {

using testing::HasSubstr;
using Pairs = std::vector<std::string>;

const Knobs kV3 = knobs_for(KnobPreset::v3);

std::string refusal(const Pairs& pairs) {
  const auto knobs = apply_overrides(kV3, pairs);
  EXPECT_FALSE(knobs.ok()) << pairs.front();
  return knobs.error().message();
}

const KnobRow& row_of(std::string_view name) {
  for (const KnobRow& row : knob_table())
    if (row.name == name) return row;
  ADD_FAILURE() << "no knob " << name;
  return knob_table()[0];
}

TEST(KnobTable, NamesAreUniqueAndEveryRowHasHelp) {
  std::set<std::string_view> names;
  for (const KnobRow& row : knob_table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.help.empty()) << row.name;
    EXPECT_NE(row.name, "preset");
  }
}

TEST(KnobTable, EveryColumnIsAValueTheRowItselfAccepts) {
  for (const KnobRow& row : knob_table())
    for (const KnobValue& value : {row.v3, row.gpu, row.cpu}) {
      const auto knobs =
          apply_overrides(kV3, Pairs{std::string(row.name) + "=" + knob_text(value)});
      ASSERT_TRUE(knobs.ok()) << knobs.error().message();
      EXPECT_EQ(knob_value(*knobs, row), value) << row.name;
    }
}

// Converts to anything: as many of it as initialise Knobs, so many fields has Knobs.
struct Anything {
  template <class T>
  operator T() const;  // never called
};
template <std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return requires { Knobs{((void)I, Anything{})...}; };
}
template <std::size_t count = 1>
constexpr std::size_t field_count() {
  if constexpr (takes(std::make_index_sequence<count + 1>())) return field_count<count + 1>();
  return count;
}

TEST(KnobTable, EveryFieldOfKnobsHasARowOfItsOwn) {
  Knobs knobs;
  std::set<const void*> fields;
  for (const KnobRow& row : knob_table())
    std::visit(
        [&](auto member) { EXPECT_TRUE(fields.insert(&(knobs.*member)).second) << row.name; },
        row.member);
  EXPECT_EQ(fields.size(), field_count());
}

TEST(KnobTable, TheDocsShowItAsItIs) {
  std::ifstream file(std::string(GEMMPEAK_TEST_DATA) + "/../docs/knobs.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(text, HasSubstr(knobs_markdown())) << "docs/knobs.md is stale";
}

TEST(KnobTable, TheReferencesRowsComeFirstWithItsTypesAndDefaults) {
  std::ifstream file(std::string(GEMMPEAK_TEST_DATA) + "/golden/reference/tuning_defaults.json");
  const Json document = Json::parse(file, nullptr, false);
  ASSERT_TRUE(document.contains("cases"));
  ASSERT_EQ(document["cases"].size(), 29u);
  const auto table = knob_table();
  for (const Json& item : document["cases"]) {
    const KnobRow& row = table[item["in"]["index"].get<std::size_t>()];
    const Json& out = item["out"];
    EXPECT_EQ(row.name, out["name"].get<std::string>());
    EXPECT_TRUE(row.reference);
    static const std::map<std::string, std::size_t> types = {
        {"int", 0}, {"float", 1}, {"bool", 2}, {"str", 3}};  // order of KnobValue
    EXPECT_EQ(row.v3.index(), types.at(out["type"])) << row.name;
    EXPECT_EQ(knobs_json(kV3)[std::string(row.name)], out["default"]) << row.name;
  }
  for (std::size_t i = 29; i < table.size(); ++i) EXPECT_FALSE(table[i].reference);
}

// What --tune takes, one for one. Differences, all of them refusals of ours: values out of range
// and numbers that are not finite.
TEST(ApplyOverrides, AcceptsAndRefusesWhatTheReferenceDoesButForRanges) {
  static const std::set<std::string> stricter = {
      "max_size=-1",     "max_size=0",      "max_size=99999999999999999999", "mamf_idle_s=-1",
      "mamf_idle_s=inf", "mamf_idle_s=nan", "mamf_idle_s=Infinity",          "mamf_idle_s=1e400"};
  std::ifstream file(std::string(GEMMPEAK_TEST_DATA) +
                     "/golden/reference/tuning_from_overrides.json");
  const Json document = Json::parse(file, nullptr, false);
  ASSERT_TRUE(document.contains("cases"));
  std::size_t seen_stricter = 0;
  for (const Json& item : document["cases"]) {
    const auto pairs = item["in"]["overrides"].get<Pairs>();
    const auto knobs = apply_overrides(kV3, pairs);
    SCOPED_TRACE(item["in"].dump());
    if (pairs.size() == 1 && stricter.contains(pairs[0])) {
      ++seen_stricter;
      EXPECT_FALSE(item["out"].contains("error"));
      ASSERT_FALSE(knobs.ok());
      EXPECT_THAT(knobs.error().message(), HasSubstr("expected a number from"));
      continue;
    }
    ASSERT_EQ(knobs.ok(), !item["out"].contains("error"));
    if (!knobs.ok()) continue;
    Json expected = knobs_json(kV3);
    expected.update(item["out"]["changed"]);
    EXPECT_EQ(knobs_json(*knobs), expected);
  }
  EXPECT_EQ(seen_stricter, stricter.size());
}

TEST(ApplyOverrides, AnUnknownNameListsTheKnownOnes) {
  const std::string message = refusal({"mamf_idle=1"});
  EXPECT_THAT(message, HasSubstr("--tune 'mamf_idle=1'"));
  for (const KnobRow& row : knob_table()) EXPECT_THAT(message, HasSubstr(std::string(row.name)));
}

TEST(ApplyOverrides, ARefusedRangeIsNamedWithItsUnit) {
  EXPECT_THAT(refusal({"msmf_soak_s=100000"}), HasSubstr("from 0 to 86400 s"));
  EXPECT_THAT(refusal({"boost_clock_ratio=1.5"}), HasSubstr("from 0 to 1"));
  EXPECT_THAT(refusal({"max_size=3000000000"}), HasSubstr("from 1 to 2147483647"));
}

TEST(ApplyOverrides, EveryNumberIsRefusedJustOutsideItsRangeAndTakenAtItsEnds) {
  for (const KnobRow& row : knob_table()) {
    if (row.v3.index() > 1) continue;
    const std::string name(row.name);
    EXPECT_LT(row.minimum, row.maximum) << name;
    EXPECT_TRUE(apply_overrides(kV3, Pairs{name + "=" + knob_text(row.minimum)}).ok()) << name;
    EXPECT_TRUE(apply_overrides(kV3, Pairs{name + "=" + knob_text(row.maximum)}).ok()) << name;
    EXPECT_FALSE(apply_overrides(kV3, Pairs{name + "=" + knob_text(row.minimum - 1)}).ok()) << name;
    EXPECT_FALSE(apply_overrides(kV3, Pairs{name + "=" + knob_text(row.maximum + 1)}).ok()) << name;
  }
}

TEST(ApplyOverrides, APresetReplacesAllValuesWhereverItStands) {
  const Knobs gpu = knobs_for(KnobPreset::gpu);
  const auto knobs = apply_overrides(gpu, Pairs{"scout_num_iterations=7", "preset=v3"});
  ASSERT_TRUE(knobs.ok());
  EXPECT_EQ(knobs->scout_num_iterations, 7);
  EXPECT_EQ(knobs->scout_num_warmup_iterations, 8);
  EXPECT_EQ(knobs->flush_mib, 256);
  EXPECT_EQ(apply_overrides(gpu, Pairs{"preset=v3", "preset=cpu"})->max_size, 2048);
  EXPECT_THAT(refusal({"preset=v4"}), HasSubstr("v3, gpu or cpu"));
  EXPECT_THAT(refusal({"preset=v4", "preset=v3"}), HasSubstr("'preset=v4'"));
  EXPECT_THAT(refusal({"preset"}), HasSubstr("NAME=VALUE"));
}

TEST(PresetOf, IsTheLastOneGivenOrTheFallback) {
  EXPECT_EQ(preset_of(Pairs{"max_size=1"}, KnobPreset::cpu).value(), KnobPreset::cpu);
  EXPECT_EQ(preset_of(Pairs{"preset=gpu", "preset=v3"}, KnobPreset::cpu).value(), KnobPreset::v3);
  EXPECT_FALSE(preset_of(Pairs{"preset="}, KnobPreset::cpu).ok());
}

TEST(KnobJson, EveryPresetComesBackFromItsText) {
  for (const KnobPreset preset : {KnobPreset::v3, KnobPreset::gpu, KnobPreset::cpu}) {
    const Knobs knobs = knobs_for(preset);
    const auto read = knobs_from_json(Json::parse(knobs_json(knobs).dump()));
    ASSERT_TRUE(read.ok()) << read.error().message();
    EXPECT_TRUE(knob_differences(*read, knobs).empty());
  }
}

TEST(KnobJson, AMissingKnobHasNoEffectAndABadOneIsNamed) {
  EXPECT_TRUE(knob_differences(knobs_from_json(Json::object()).value(), kV3).empty());
  EXPECT_THAT(knobs_from_json({{"nosuch", 1}}).error().message(), HasSubstr("nosuch"));
  EXPECT_THAT(knobs_from_json({{"max_size", "big"}}).error().message(), HasSubstr("max_size"));
  EXPECT_FALSE(knobs_from_json({{"max_size", 4294967297}}).ok());  // 1 if it wrapped to 32 bits
  EXPECT_FALSE(knobs_from_json({{"max_size", 1.5}}).ok());
  EXPECT_FALSE(knobs_from_json({{"warmup", "slow"}}).ok());
  EXPECT_FALSE(knobs_from_json(Json::array()).ok());
}

TEST(KnobDifferences, AreTheOptionsThatMakeTheSameKnobsAgain) {
  const Knobs cpu = knobs_for(KnobPreset::cpu);
  Pairs pairs;
  for (const std::string& option : knob_differences(cpu, kV3)) {
    ASSERT_EQ(option.rfind("--tune ", 0), 0u);
    pairs.push_back(option.substr(7));
  }
  EXPECT_GT(pairs.size(), 20u);
  const auto again = apply_overrides(kV3, pairs);
  ASSERT_TRUE(again.ok()) << again.error().message();
  EXPECT_TRUE(knob_differences(*again, cpu).empty());
  EXPECT_TRUE(knob_differences(cpu, cpu).empty());
}

TEST(KnobText, IsShortAndReadsBack) {
  EXPECT_EQ(knob_text(0.25), "0.25");
  EXPECT_EQ(knob_text(20.0), "20");
  EXPECT_EQ(knob_text(86400.0), "86400");
  EXPECT_EQ(knob_text(true), "true");
  EXPECT_EQ(knob_text(std::string("adaptive")), "adaptive");
  const auto knobs = apply_overrides(kV3, Pairs{"mamf_idle_s=" + knob_text(0.1 + 0.2)});
  ASSERT_TRUE(knobs.ok());
  EXPECT_EQ(knobs->mamf_idle_s, 0.1 + 0.2);
}

TEST(KnobPresets, GpuFollowsTheCacheAndCpuIsBounded) {
  EXPECT_EQ(std::get<int>(row_of("flush_mib").gpu), 0);
  const Knobs cpu = knobs_for(KnobPreset::cpu);
  EXPECT_GT(cpu.loop_max_s, 0);
  EXPECT_LE(cpu.max_size, 2048);
  EXPECT_EQ(kV3.loop_max_s, 0);  // no effect: the reference has no bound
  EXPECT_EQ(kV3.confirm_first_reps, 0);
  EXPECT_EQ(kV3.mamf_first_reps, 0);
}

}  // namespace
}  // namespace gemmpeak
