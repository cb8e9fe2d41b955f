// The rooms and what each may include: reads every #include under src/ and fails on an edge that is
// not in the table, on vendor headers and getenv outside their rooms, and on heavy headers in
// headers.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "temp_folder.hpp"

namespace gemmpeak {
namespace {

namespace fs = std::filesystem;

using Rooms = std::set<std::string>;

// docs/architecture.md draws the same picture. A room may always include itself.
const std::map<std::string, Rooms>& allowed() {
  static const std::map<std::string, Rooms> table = {
      {"base", {}},
      {"model", {"base"}},
      {"stats", {"base"}},
      {"telemetry", {"base", "model"}},
      {"backend", {"base", "model", "telemetry"}},
      {"measure", {"base", "model", "stats", "backend", "telemetry"}},
      {"substrate", {"base", "model", "backend"}},
      {"search", {"base", "model", "stats"}},
      {"find", {"base", "model", "stats", "backend", "telemetry", "measure", "search"}},
      {"report", {"base", "model", "stats", "find", "search"}},
      {"tune", {"base", "model", "stats", "backend", "measure", "search", "substrate"}},
      {"backends", {"base", "model", "backend", "telemetry", "substrate"}},
      {"app",
       {"base", "model", "stats", "telemetry", "backend", "measure", "search", "find", "report",
        "substrate", "tune", "backends"}},
  };
  return table;
}

// Internal headers with a template that needs the whole of JSON; no other room includes them.
const std::set<std::string>& may_be_heavy() {
  static const std::set<std::string> paths = {"find/recorded.hpp"};
  return paths;
}

const std::regex& vendor_header() {
  static const std::regex pattern(
      "^(cuda|cublas|nvml|nvrtc|dnnl|oneapi/dnnl/|cblas\\.h|openblas|mkl|hip/|rocm|level_zero/).*");
  return pattern;
}

struct Parts {
  std::string room;  // "model"
  std::string own;   // "backends/cuda" below src/backends, else the room
};

Parts parts_of(const std::string& path) {  // relative to src
  const auto slash = path.find('/');
  Parts out{path.substr(0, slash), path.substr(0, slash)};
  if (out.room == "backends" && slash != std::string::npos) {
    const auto second = path.find('/', slash + 1);
    if (second != std::string::npos) out.own = path.substr(0, second);
  }
  return out;
}

void check_quoted(const Parts& from, const std::string& target, std::vector<std::string>& out) {
  const Parts to = parts_of(target);
  if (target.find("..") != std::string::npos) {
    out.push_back("climbs out of its folder: " + target);
  } else if (target.find('/') == std::string::npos || to.room == "gemmpeak") {
    // beside the file, or the library's public face
  } else if (!allowed().contains(to.room)) {
    out.push_back("no such room: " + target);
  } else if (to.room == "backends" && from.room == "backends") {
    if (to.own != from.own) out.push_back("another backend: " + target);
  } else if (to.room != from.room && !allowed().at(from.room).contains(to.room)) {
    out.push_back(from.room + " may not include " + target);
  }
}

void check_angled(const Parts& from, bool header, const std::string& target,
                  std::vector<std::string>& out) {
  if (from.room != "backends" && std::regex_match(target, vendor_header()))
    out.push_back("vendor header outside src/backends: " + target);
  static const std::regex heavy("^(nlohmann/json\\.hpp|fmt/.*|CLI/.*)$");
  if (header && std::regex_match(target, heavy))
    out.push_back("heavy header in a header: " + target);
}

// What is wrong with a file at `path` (relative to src) that holds `text`.
std::vector<std::string> violations(const std::string& path, const std::string& text) {
  static const std::regex include("^\\s*#\\s*include\\s*([<\"])([^>\"]+)[>\"].*");
  static const std::regex getenv("\\b(secure_)?getenv\\b");
  const Parts from = parts_of(path);
  if (!allowed().contains(from.room)) return {"a folder that is no room: " + from.room};
  const bool header = path.ends_with(".hpp") && !may_be_heavy().contains(path);
  std::vector<std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, include)) {
      if (match[1] == "\"") check_quoted(from, match[2], out);
      check_angled(from, header, match[2], out);
      continue;
    }
    const std::string code = line.substr(0, line.find("//"));
    if (from.room != "app" && std::regex_search(code, getenv))
      out.push_back("reads the environment outside src/app: " + code);
  }
  return out;
}

TEST(Rooms, EveryIncludeUnderSrcIsAnAllowedEdge) {
  const fs::path src = fs::path(GEMMPEAK_TEST_DATA).parent_path() / "src";
  static const std::set<std::string> kinds = {".hpp", ".cpp", ".h", ".c", ".cu", ".cuh"};
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(src)) {
    if (!entry.is_regular_file() || !kinds.contains(entry.path().extension().string())) continue;
    const std::string path = entry.path().lexically_relative(src).generic_string();
    for (const std::string& problem : violations(path, slurp(entry.path().string())))
      ADD_FAILURE() << "src/" << path << ": " << problem;
    ++files;
  }
  EXPECT_GT(files, 30) << "the sources were not found under " << src;
}

TEST(Rooms, TheCheckFindsForbiddenEdges) {
  EXPECT_EQ(violations("base/a.cpp", "#include \"model/run.hpp\"\n").size(), 1u);
  EXPECT_EQ(violations("search/a.cpp", "  #  include \"backend/device.hpp\"\n").size(), 1u);
  EXPECT_EQ(violations("report/a.cpp", "#include \"measure/bench.hpp\"\n").size(), 1u);
  EXPECT_EQ(violations("find/a.cpp", "#include \"app/options.hpp\"\n").size(), 1u);
  EXPECT_EQ(violations("model/a.cpp", "#include \"nowhere/a.hpp\"\n").size(), 1u);
  EXPECT_EQ(violations("model/a.cpp", "#include \"../base/files.hpp\"\n").size(), 1u);
  EXPECT_EQ(violations("cellar/a.cpp", "").size(), 1u);
  EXPECT_EQ(violations("backends/cuda/a.cpp", "#include \"backends/cpu/b.hpp\"\n").size(), 1u);
  EXPECT_EQ(violations("backends/cuda/a.cpp", "#include \"measure/bench.hpp\"\n").size(), 1u);
}

TEST(Rooms, TheCheckLetsAllowedEdgesPass) {
  EXPECT_TRUE(violations("find/a.cpp", "#include \"search/selection.hpp\"\n").empty());
  EXPECT_TRUE(violations("backends/cuda/a.cpp",
                         "#include <cublasLt.h>\n#include \"backends/cuda/b.hpp\"\n"
                         "#include \"b.hpp\"\n#include \"backend/device.hpp\"\n")
                  .empty());
  EXPECT_TRUE(
      violations("app/a.cpp", "#include \"report/report.hpp\"\nstd::getenv(\"A\");\n").empty());
}

TEST(Rooms, TheCheckFindsVendorHeadersHeavyHeadersAndGetenv) {
  EXPECT_EQ(violations("telemetry/a.cpp", "#include <nvml.h>\n").size(), 1u);
  EXPECT_EQ(violations("measure/a.cpp", "#include <cuda_runtime.h>\n").size(), 1u);
  EXPECT_EQ(violations("app/a.cpp", "#include <oneapi/dnnl/dnnl.hpp>\n").size(), 1u);
  EXPECT_EQ(violations("model/a.hpp", "#include <nlohmann/json.hpp>\n").size(), 1u);
  EXPECT_TRUE(violations("model/a.cpp", "#include <nlohmann/json.hpp>\n").empty());
  EXPECT_EQ(violations("backends/cpu/a.cpp", "auto x = std::getenv(\"A\");\n").size(), 1u);
  EXPECT_TRUE(violations("base/a.cpp", "// getenv is for app\n").empty());
}

}  // namespace
}  // namespace gemmpeak
