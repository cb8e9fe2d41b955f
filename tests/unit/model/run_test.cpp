#include "model/run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "filled_records.hpp"

namespace gemmpeak {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Walks a document along a JSON schema of the few keywords that docs/schemas uses.
class SchemaWalk {
 public:
  explicit SchemaWalk(const Json& root) : root_(root) {}

  void check(const Json& schema, const Json& value, const std::string& at) {
    for (const auto& [keyword, rule] : schema.items()) {
      static const std::set<std::string> passed = {"$schema", "$id",         "$defs",
                                                   "title",   "description", "required"};
      if (passed.contains(keyword)) continue;
      if (!apply(keyword, rule, value, at)) problem(at, "the walk does not know " + keyword);
    }
    if (schema.contains("properties")) check_members(schema, value, at);
  }

  std::vector<std::string> problems;
  std::set<std::string> seen;  // "$defs/loop: seconds" of every property met

  // Every property of the schema, named as in `seen`.
  std::set<std::string> declared() const {
    std::set<std::string> out;
    collect(root_, out);
    return out;
  }

 private:
  bool apply(const std::string& keyword, const Json& rule, const Json& value,
             const std::string& at) {
    if (keyword == "$ref") {
      const std::string name = rule.get<std::string>().substr(8);  // "#/$defs/NAME"
      check(root_["$defs"].at(name), value, at);
    } else if (keyword == "type") {
      if (!has_type(rule, value)) problem(at, value.dump() + " is not a " + rule.dump());
    } else if (keyword == "enum") {
      if (std::find(rule.begin(), rule.end(), value) == rule.end())
        problem(at, value.dump() + " is not among " + rule.dump());
    } else if (keyword == "const") {
      if (value != rule) problem(at, value.dump() + " is not " + rule.dump());
    } else if (keyword == "anyOf") {
      check_any(rule, value, at);
    } else if (keyword == "items") {
      for (std::size_t i = 0; i < value.size(); ++i)
        check(rule, value[i], at + "/" + std::to_string(i));
    } else if (keyword == "minItems" || keyword == "maxItems") {
      const bool low = keyword == "minItems";
      if (low ? value.size() < rule : value.size() > rule) problem(at, "has a wrong length");
    } else if (keyword == "minimum") {
      if (value.is_number() && value < rule) problem(at, value.dump() + " is too small");
    } else if (keyword == "additionalProperties") {
      for (const auto& [name, member] : value.items()) check(rule, member, at + "/" + name);
    } else {
      return keyword == "properties";
    }
    return true;
  }

  static bool has_type(const Json& type, const Json& value) {
    if (type.is_array()) {
      for (const Json& one : type)
        if (has_type(one, value)) return true;
      return false;
    }
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "integer") return value.is_number_integer();
    return type == "number" && value.is_number();
  }

  void check_any(const Json& choices, const Json& value, const std::string& at) {
    for (const Json& choice : choices) {
      SchemaWalk inner(root_);
      inner.check(choice, value, at);
      if (inner.problems.empty()) return;
    }
    problem(at, value.dump() + " fits no choice of anyOf");
  }

  void check_members(const Json& schema, const Json& value, const std::string& at) {
    for (const Json& name : schema["required"])
      if (!value.contains(name)) problem(at, name.dump() + " is missing");
    for (const auto& [name, member] : value.items()) {
      if (!schema["properties"].contains(name)) {
        problem(at, "the schema does not know " + name);
        continue;
      }
      seen.insert(name_of(schema["properties"], name));
      check(schema["properties"][name], member, at + "/" + name);
    }
  }

  // Properties of one name in two objects must not hide one another: the object's members tell.
  static std::string name_of(const Json& properties, const std::string& name) {
    return name + " of {" + properties.begin().key() + ", ... " +
           std::to_string(properties.size()) + "}";
  }

  static void collect(const Json& json, std::set<std::string>& out) {
    if (json.is_object() && json.contains("properties") && json["properties"].is_object())
      for (const auto& [name, rule] : json["properties"].items())
        out.insert(name_of(json["properties"], name));
    if (json.is_structured())
      for (const Json& inner : json) collect(inner, out);
  }

  void problem(const std::string& at, const std::string& what) {
    problems.push_back(at + ": " + what);
  }

  const Json& root_;
};

Json schema() {
  std::ifstream file(std::string(GEMMPEAK_TEST_DATA) + "/../docs/schemas/run.schema.json");
  return Json::parse(file, nullptr, false);
}

TEST(RunDocument, FollowsItsSchemaAndFillsAllOfIt) {
  const Json rules = schema();
  ASSERT_TRUE(rules.is_object());
  SchemaWalk walk(rules);
  walk.check(rules, Json::parse(to_json(filled_run()).dump()), "");
  EXPECT_THAT(walk.problems, IsEmpty());
  EXPECT_EQ(walk.seen, walk.declared());
}

TEST(RunDocument, OfARunThatMeasuredNothingFollowsTheSchema) {
  const Json rules = schema();
  SchemaWalk walk(rules);
  walk.check(rules, to_json(gemmpeak::Run{}), "");
  EXPECT_THAT(walk.problems, IsEmpty());
}

TEST(RunDocument, TheWalkFindsMissingMistypedAndUnknownMembers) {
  const Json rules = schema();
  Json document = to_json(filled_run());
  document.erase("elapsed_s");
  document["device"]["units"] = "many";
  document["samples"]["scouts"][0]["extra"] = 1;
  document["headlines"][0]["trust"] = "some";
  document["headlines"][0]["shape"] = {1, 2};
  SchemaWalk walk(rules);
  walk.check(rules, document, "");
  EXPECT_EQ(walk.problems.size(), 5u) << testing::PrintToString(walk.problems);
}

TEST(RunDocument, CarriesSchemaAndProtocolVersionAndKeepsRawSamples) {
  const Json document = to_json(filled_run());
  EXPECT_EQ(document["schema"], kRunSchema);
  EXPECT_EQ(document["protocol_version"], kProtocolVersion);
  const auto loop = loop_from_json(document["samples"]["scouts"][0]);
  ASSERT_TRUE(loop.ok());
  EXPECT_EQ(loop->seconds, filled_loop().seconds);
}

TEST(RunDocument, SaysWhatInterruptedOnlyWhereSomethingDid) {
  gemmpeak::Run run = filled_run();  // testing::Test has a Run of its own
  EXPECT_EQ(to_json(run)["interrupted_by"], "SIGINT");
  run.interrupted = false;
  EXPECT_FALSE(to_json(run).contains("interrupted_by"));
}

TEST(HeadlineJson, NamesItsThrottleReasonsAndOmitsWhatIsUnknown) {
  const Json json = to_json(filled_headline());
  EXPECT_THAT(json["reason_names"].get<std::vector<std::string>>(), ElementsAre("power cap"));
  const Json bare = to_json(Headline{});
  EXPECT_FALSE(bare.contains("power_w"));
  EXPECT_FALSE(bare.contains("reason_names"));
}

TEST(DeviceJson, OmitsWhatCouldNotBeRead) {
  const Json json = to_json(DeviceInfo{});
  for (const char* name : {"uuid", "pci_bus_id", "serial", "tile", "rated_clock_mhz"})
    EXPECT_FALSE(json.contains(name)) << name;
}

TEST(Names, OfRegimesAndTrust) {
  EXPECT_EQ(regime_name(Regime::mamf), "mamf");
  EXPECT_EQ(regime_name(Regime::msmf), "msmf");
  EXPECT_EQ(regime_name(Regime::back_to_back), "back_to_back");
  EXPECT_EQ(trust_name(Trust::validated), "validated");
  EXPECT_EQ(trust_name(Trust::unvalidated), "unvalidated");
  EXPECT_EQ(trust_name(Trust::untrusted), "untrusted");
}

TEST(SettingsFingerprint, ChangesWithEverythingThatChangesTheMeasurement) {
  FindSettings base;
  base.search = "grid";
  base.grid = {{1024, 2048, 4096}, {512, 512, 512}};
  std::set<std::string> prints = {settings_fingerprint(base)};
  const auto expect_new = [&](auto change) {
    FindSettings changed = base;
    change(changed);
    EXPECT_TRUE(prints.insert(settings_fingerprint(changed)).second) << prints.size();
  };
  expect_new([](FindSettings& s) { s.device = "cpu"; });
  expect_new([](FindSettings& s) { s.dtype = DType::float16; });
  expect_new([](FindSettings& s) { s.layout = Layout::nn; });
  expect_new([](FindSettings& s) { s.data = DataKind::zeros; });
  expect_new([](FindSettings& s) { s.fast_accumulation = true; });
  expect_new([](FindSettings& s) { s.search = "auto"; });
  expect_new([](FindSettings& s) { s.grid.pop_back(); });
  expect_new([](FindSettings& s) { std::swap(s.grid[0], s.grid[1]); });
  expect_new([](FindSettings& s) { s.grid[1].k = 513; });
  expect_new([](FindSettings& s) { s.num_iterations = 99; });
  expect_new([](FindSettings& s) { s.num_warmup_iterations = 49; });
  expect_new([](FindSettings& s) { s.telemetry = false; });
  for (const KnobRow& row : knob_table())
    expect_new([&row](FindSettings& s) {
      std::visit(
          [&s](auto member) {
            auto& field = s.knobs.*member;
            using Field = std::remove_reference_t<decltype(field)>;
            if constexpr (std::is_same_v<Field, bool>) {
              field = !field;
            } else if constexpr (std::is_same_v<Field, std::string>) {
              field = "fixed";
            } else {
              field += 1;
            }
          },
          row.member);
    });
}

TEST(SettingsFingerprint, DoesNotChangeWithNotesAndWording) {
  FindSettings base;
  FindSettings other = base;
  other.notes = "monday";
  other.range_info = "auto";
  other.repro_options = {"--dtype bfloat16"};
  EXPECT_EQ(settings_fingerprint(base), settings_fingerprint(other));
}

TEST(SettingsFingerprint, StaysShortForLargeGrids) {
  FindSettings settings;
  settings.search = "grid";
  settings.grid.assign(100000, {1024, 1024, 1024});
  EXPECT_LT(settings_fingerprint(settings).size(), 4000u);
}

}  // namespace
}  // namespace gemmpeak
