// The files of a find: names that lose nothing, checked before anything is measured. Used by
// find_command.cpp.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "app/parser.hpp"
#include "base/result.hpp"

namespace gemmpeak::app {

struct Outputs {
  std::string log;
  std::string json;     // empty: none; "-": stdout
  std::string journal;  // empty only when resuming
  std::string resume;
  std::vector<std::string> notes;  // what was renamed
};

// Chooses names, makes folders, checks that all can be written. `default_stem`: where a log without
// --output_file goes, without extension.
Result<Outputs> prepare_outputs(const Options& options, const std::string& default_stem);

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;
// A new file, or a device such as /dev/null as it is.
Result<File> create_log(const std::string& path);

}  // namespace gemmpeak::app
