// Recorded inputs and outputs of the reference (tests/golden/reference) as this room's values. Used
// by the golden_*_test.cpp files here. A missing or malformed file fails the test that asked for
// it.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "search/selection.hpp"

namespace gemmpeak {

inline void PrintTo(const GemmShape& shape, std::ostream* out) { *out << shape.str(); }

namespace golden {

using search::MN;

inline Json cases(const std::string& function) {
  const std::string path =
      std::string(GEMMPEAK_TEST_DATA "/golden/reference/") + function + ".json";
  std::ifstream file(path);
  const Json document = Json::parse(file, nullptr, false);
  if (document.is_discarded() || !document.contains("cases") || document["cases"].empty()) {
    ADD_FAILURE() << "no golden cases in " << path;
    return Json::array();
  }
  return document["cases"];
}

// For SCOPED_TRACE: which case, in words.
inline std::string label(const Json& one, std::size_t index) {
  return "case " + std::to_string(index) + " " + one.value("name", "");
}

inline GemmShape shape(const Json& j) {
  return {j.at(0).get<std::int64_t>(), j.at(1).get<std::int64_t>(), j.at(2).get<std::int64_t>()};
}
inline std::vector<GemmShape> shapes(const Json& j) {
  std::vector<GemmShape> out;
  for (const Json& one : j) out.push_back(shape(one));
  return out;
}
inline MN mn(const Json& j) { return {j.at(0).get<std::int64_t>(), j.at(1).get<std::int64_t>()}; }
inline std::vector<MN> mns(const Json& j) {
  std::vector<MN> out;
  if (j.is_array())
    for (const Json& one : j) out.push_back(mn(one));
  return out;
}
inline std::set<MN> mn_set(const Json& j) {
  const std::vector<MN> all = mns(j);
  return {all.begin(), all.end()};
}
inline std::optional<double> reading(const Json& j) {
  return j.is_null() ? std::nullopt : std::optional<double>(j.get<double>());
}
inline std::vector<std::string> lines(const Json& j) { return j.get<std::vector<std::string>>(); }

// [[mean, power, shape]]
inline std::vector<search::Scouted> measured(const Json& j) {
  std::vector<search::Scouted> out;
  for (const Json& one : j) {
    out.push_back({shape(one.at(2)), one.at(0).get<double>(), one.at(0).get<double>(),
                   reading(one.at(1)), std::nullopt});
  }
  return out;
}
// [[shape, mean, max, power, clock_max]]
inline std::vector<search::Scouted> scout_meta(const Json& j) {
  std::vector<search::Scouted> out;
  for (const Json& one : j) {
    out.push_back({shape(one.at(0)), one.at(1).get<double>(), one.at(2).get<double>(),
                   reading(one.at(3)), reading(one.at(4))});
  }
  return out;
}
// [[tflops, clock, power]]
inline std::vector<search::BurstPoint> points(const Json& j) {
  std::vector<search::BurstPoint> out;
  for (const Json& one : j)
    out.push_back({one.at(0).get<double>(), reading(one.at(1)), reading(one.at(2))});
  return out;
}
inline double number_or(const Json& j, double otherwise) {
  return j.is_null() ? otherwise : j.get<double>();
}
// The knobs that the case names, over the reference's defaults.
inline Knobs knobs(const Json& tune) {
  Knobs out = knobs_for(KnobPreset::v3);
  for (const KnobRow& row : knob_table()) {
    const std::string name(row.name);
    if (!tune.contains(name)) continue;
    std::visit([&](auto member) { tune.at(name).get_to(out.*member); }, row.member);
  }
  return out;
}

}  // namespace golden
}  // namespace gemmpeak
