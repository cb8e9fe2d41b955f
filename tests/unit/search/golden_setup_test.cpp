// The reference's grid set-up: what shapes a command line asks for. Meant differences and reasons:
//  - a range without STEP steps by 256; the reference crashes.
//  - zero, negative and over 2^31-1 values, a STEP of 0, ranges of other than 2 or 3 numbers, and
//    words in a shapes file are refused by name; the reference measures them or crashes.
//  - an empty range is refused by its option; the reference names all three ranges.
//  - a shape given twice is measured once.
// The option grammar, a missing file, missing dimensions and auto mode are not this room's.
#include "golden.hpp"

namespace gemmpeak::search {
namespace {

struct Asked {
  std::string file_option;
  std::string dtype = "bfloat16";
  std::map<std::string, std::vector<std::int64_t>> dims;  // "--m", "--m_range", ...
};

Asked read_argv(const Json& argv) {
  Asked asked;
  std::string option;
  std::vector<std::string> words;
  for (const std::string& word : golden::lines(argv)) {
    const std::size_t equals = word.rfind("--", 0) == 0 ? word.find('=') : std::string::npos;
    words.push_back(word.substr(0, equals));
    if (equals != std::string::npos) words.push_back(word.substr(equals + 1));
  }
  for (const std::string& word : words) {
    if (word.rfind("--", 0) == 0) {
      option = word.rfind("--m_", 0) == 0 ? "--m_range" : word;  // the one recorded prefix, --m_ra
      asked.dims.erase(option);
    } else if (option == "--shapes_file") {
      asked.file_option = word;
    } else if (option == "--dtype") {
      asked.dtype = word;
    } else if (option == "--m" || option == "--n" || option == "--k" ||
               option.find("_range") != std::string::npos) {
      asked.dims[option].push_back(std::stoll(word));
    }
  }
  return asked;
}

Result<std::vector<GemmShape>> search_shapes(const Asked& asked, const Json& file) {
  if (!asked.file_option.empty()) return parse_shapes(asked.file_option, file.get<std::string>());
  std::vector<std::vector<std::int64_t>> dims;
  for (const char* name : {"--m", "--n", "--k"}) {
    const std::string range = std::string(name) + "_range";
    auto values = asked.dims.count(range) != 0 ? dimension_range(range, asked.dims.at(range))
                                               : dimension_values(name, asked.dims.at(name));
    if (!values) return values.error();
    dims.push_back(*values);
  }
  return grid_product(dims[0], dims[1], dims[2]);
}

// The recorded shapes, each once, or nothing where one is not a shape at all.
std::optional<std::vector<GemmShape>> legal_once(const Json& recorded) {
  std::vector<GemmShape> out;
  for (const Json& one : recorded) {
    for (const Json& dim : one)
      if (!dim.is_number_integer() || dim < 1 || dim > 2147483647) return std::nullopt;
    const GemmShape shape = golden::shape(one);
    if (std::find(out.begin(), out.end(), shape) == out.end()) out.push_back(shape);
  }
  return out;
}

// Cases that other rooms answer for.
bool elsewhere(const Json& in, const Json& out) {
  const std::string exit = out.value("exit", "");
  return out.contains("usage_error") || out.value("mode", "") == "auto" ||
         exit.find("requires shapes") != std::string::npos ||
         exit.find("--search auto derives") != std::string::npos ||
         out.value("crash", "").find("FileNotFound") != std::string::npos || in["argv"].empty();
}

void compare(const Json& in, const Json& out) {
  const Asked asked = read_argv(in["argv"]);
  const auto ours = search_shapes(asked, in["file"]);
  const std::string exit = out.value("exit", "");
  if (out.contains("shapes") && !out["shapes"].is_null()) {
    const auto wanted = legal_once(out["shapes"]);
    ASSERT_EQ(ours.ok(), wanted.has_value()) << ours.error().message();
    if (wanted) {
      EXPECT_EQ(*ours, *wanted);
    }
  } else if (exit.find("to be a multiple of") != std::string::npos) {
    ASSERT_TRUE(ours.ok()) << ours.error().message();
    const auto sentence = alignment_violations(*parse_dtype(asked.dtype), *ours, {});
    EXPECT_EQ("error: " + sentence.value_or(""), exit);
  } else if (!exit.empty() && asked.file_option.empty()) {
    ASSERT_FALSE(ours.ok());
    EXPECT_NE(ours.error().message().find("--m_range"), std::string::npos)
        << ours.error().message();
  } else if (!exit.empty()) {
    ASSERT_FALSE(ours.ok());
    EXPECT_EQ("error: " + ours.error().message(), exit);
  } else if (out.value("crash", "").find("(expected 3, got 2)") != std::string::npos) {
    ASSERT_TRUE(ours.ok()) << ours.error().message();
    EXPECT_EQ(ours->at(1).m - ours->at(0).m, 256);
  } else {
    ASSERT_TRUE(out.contains("crash")) << out;
    ASSERT_FALSE(ours.ok());
    EXPECT_FALSE(ours.error().message().empty());
  }
}

TEST(GoldenSetup, GridShapesFilesAndRefusalsEqualTheReferences) {
  const Json all = golden::cases("search_setup");
  int compared = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (elsewhere(all[i]["in"], all[i]["out"])) continue;
    SCOPED_TRACE(golden::label(all[i], i) + all[i].dump());
    compare(all[i]["in"], all[i]["out"]);
    ++compared;
  }
  EXPECT_GT(compared, 60);
}

}  // namespace
}  // namespace gemmpeak::search
