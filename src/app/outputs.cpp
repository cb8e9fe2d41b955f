#include "app/outputs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>

#include "base/files.hpp"

namespace gemmpeak::app {
namespace {

namespace fs = std::filesystem;

bool is_device(const std::string& path) {
  std::error_code ignored;
  const auto status = fs::status(path, ignored);
  return fs::is_character_file(status) || fs::is_fifo(status);
}

// `path`, or a numbered name where a file is there already.
Result<std::string> claim(const std::string& option, const std::string& path,
                          std::vector<std::string>& notes) {
  if (path.empty()) return error_text(option + ": the name is empty");
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return error_text(fmt::format("{} {}: is a folder", option, path));
  const auto refused = [&](const Error& error) {
    return error_text(fmt::format("{}: {}", option, error.message()));
  };
  if (auto made = make_parent_folders(path); !made) return refused(made.error());
  const std::string name = is_device(path) ? path : free_name(path);
  if (auto writable = check_writable(name); !writable) return refused(writable.error());
  if (name != path)
    notes.push_back(fmt::format("note: {} exists and is kept; {} goes to {}", path, option, name));
  return name;
}

}  // namespace

Result<Outputs> prepare_outputs(const Options& options, const std::string& default_stem) {
  Outputs out;
  out.resume = options.text_or("resume", "");
  if (!out.resume.empty() && options.given("journal"))
    return error_text("--resume goes on with its own journal; leave --journal out");
  if (options.given("resume")) {
    if (auto readable = read_file(out.resume); !readable)
      return error_text("--resume: " + readable.error().message());
    if (auto writable = check_writable(out.resume); !writable)
      return error_text("--resume: " + writable.error().message());
  }
  auto log = claim("--output_file", options.text_or("output_file", default_stem + ".log"), out.notes);
  if (!log) return log.error();
  out.log = *log;
  if (const auto json = options.text("json")) {
    auto name = *json == "-" ? Result<std::string>(*json) : claim("--json", *json, out.notes);
    if (!name) return name.error();
    out.json = *name;
  }
  if (out.resume.empty()) {
    const std::string beside = is_device(out.log)
                                   ? default_stem + ".journal.jsonl"
                                   : fs::path(out.log).replace_extension(".journal.jsonl").string();
    auto name = claim("--journal", options.text_or("journal", beside), out.notes);
    if (!name) return name.error();
    out.journal = *name;
  }
  std::set<std::string> names;
  for (const std::string& name : {out.log, out.json, out.journal, out.resume})
    if (!name.empty() && name != "-" && !is_device(name) &&
        !names.insert(fs::weakly_canonical(fs::absolute(name)).string()).second)
      return error_text(fmt::format("two outputs would go to the same file {}", name));
  return out;
}

Result<File> create_log(const std::string& path) {
  const int flags = is_device(path) ? O_WRONLY : O_WRONLY | O_CREAT | O_EXCL;
  const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
  std::FILE* file = descriptor < 0 ? nullptr : ::fdopen(descriptor, "w");
  if (file == nullptr) {
    const int code = errno;
    if (descriptor >= 0) ::close(descriptor);
    return Error{"open", code, fmt::format("cannot write '{}': {}", path, std::generic_category().message(code))};
  }
  return File(file);
}

}  // namespace gemmpeak::app
