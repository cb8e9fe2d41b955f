#include "model/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/files.hpp"
#include "model/json_fields.hpp"

namespace gemmpeak {
namespace {

Error failed(const char* api, const std::string& path, int code) {
  return Error{api, code, "journal '" + path + "': " + std::generic_category().message(code)};
}

Error about(const std::string& path, const std::string& why) {
  return error_text("journal '" + path + "': " + why);
}

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// 0, or the errno of the write that failed.
int write_all(int fd, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 ? errno : ENOSPC;
    done += static_cast<std::size_t>(n);
  }
  return 0;
}

// 0, or the errno. What cannot be synced (a pipe) has no disk to reach.
int sync_data(int fd) {
  if (::fdatasync(fd) == 0 || errno == EINVAL || errno == ENOTSUP) return 0;
  return errno;
}

// Two programs appending to one journal would mix two runs. File systems without locks are let
// pass.
Result<void> lock(int fd, const std::string& path) {
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return {};
  return about(path, "another running program is writing it");
}

Json header_json(const JournalHeader& header) {
  return {{"schema", kJournalSchema},
          {"settings", header.settings_fingerprint},
          {"device", header.device_identity},
          {"command_line", header.command_line},
          {"started", header.started}};
}

// The members in which two fingerprints (canonical JSON texts) differ, as a sentence's end.
std::string difference(const std::string& recorded, const std::string& now) {
  const Json a = Json::parse(recorded, nullptr, false);
  const Json b = Json::parse(now, nullptr, false);
  if (!a.is_object() || !b.is_object())
    return fmt::format("'{}' in the journal, '{}' now", recorded, now);
  const Json old_values = a.flatten();
  const Json new_values = b.flatten();
  std::string out;
  const auto add = [&out](const std::string& pointer, const std::string& was,
                          const std::string& is) {
    std::string name = pointer.substr(1);  // "/knobs/max_size" to "knobs.max_size"
    for (char& c : name)
      if (c == '/') c = '.';
    out +=
        fmt::format("{}{} is {} in the journal and {} now", out.empty() ? "" : "; ", name, was, is);
  };
  for (const auto& [name, value] : old_values.items()) {
    if (!new_values.contains(name)) {
      add(name, value.dump(), "absent");
    } else if (new_values[name] != value) {
      add(name, value.dump(), new_values[name].dump());
    }
  }
  for (const auto& [name, value] : new_values.items())
    if (!old_values.contains(name)) add(name, "absent", value.dump());
  return out.empty() ? "their texts differ" : out;
}

// Nothing if a journal that begins with `json` may be continued by `header`'s run.
Result<void> check_header(const std::string& path, const Json& json, const JournalHeader& header) {
  std::string schema;
  JournalHeader recorded;
  fields::Reader reader(json, "line 1");
  reader.get("schema", schema);
  if (!reader.ok() || schema.rfind("gemmpeak.journal/", 0) != 0)
    return about(path, "line 1 is not the header of a gemmpeak journal");
  if (schema != kJournalSchema)
    return about(path,
                 fmt::format("its schema is {}, this program reads {}", schema, kJournalSchema));
  reader.get("settings", recorded.settings_fingerprint).get("device", recorded.device_identity);
  if (!reader.ok()) return about(path, reader.error().text);
  if (recorded.device_identity != header.device_identity)
    return about(path, fmt::format("it was measured on another device or with other versions: '{}' "
                                   "in the journal, '{}' now",
                                   recorded.device_identity, header.device_identity));
  if (recorded.settings_fingerprint != header.settings_fingerprint)
    return about(path, "it belongs to other settings: " +
                           difference(recorded.settings_fingerprint, header.settings_fingerprint));
  return {};
}

struct Contents {
  std::map<std::string, Json> entries;
  int count = 0;
  std::size_t whole_bytes = 0;  // up to the end of the last whole line
};

Result<Contents> parse(const std::string& path, const std::string& text,
                       const JournalHeader& header) {
  Contents out;
  int number = 0;
  for (std::size_t end; (end = text.find('\n', out.whole_bytes)) != std::string::npos;) {
    ++number;
    const Json json = Json::parse(text.begin() + static_cast<std::ptrdiff_t>(out.whole_bytes),
                                  text.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
    out.whole_bytes = end + 1;
    if (number == 1) {
      GEMMPEAK_TRY(check_header(path, json, header));
      continue;
    }
    std::string key;
    fields::Reader reader(json, fmt::format("line {}", number));
    const Json* value = reader.get("key", key).child("value");
    if (json.is_discarded()) return about(path, fmt::format("line {} is not JSON", number));
    if (value == nullptr) return about(path, reader.error().text);
    out.entries[key] = *value;  // a key written twice: the later measurement counts
    ++out.count;
  }
  if (number == 0) return about(path, "it has no header: nothing was recorded in it");
  return out;
}

}  // namespace

struct Journal::State {
  std::string path;
  int fd = -1;
  off_t good_bytes = 0;  // end of the last whole line
  bool broken = false;   // a torn line could not be taken back: nothing may follow it
  std::map<std::string, Json> entries;
  int recorded = 0;

  ~State() {
    if (fd >= 0) ::close(fd);
  }

  Result<void> append_line(const std::string& line) {
    if (broken) return about(path, "an earlier entry could not be written whole");
    const int code = write_all(fd, line);
    if (code == 0) {
      good_bytes += static_cast<off_t>(line.size());
      return {};
    }
    // The part that was written is taken back, so that a later entry does not follow a torn one.
    broken = ::ftruncate(fd, good_bytes) != 0;
    return failed("write", path, code);
  }
  Result<void> sync() {
    const int code = sync_data(fd);
    if (code == 0) return {};
    return failed("fdatasync", path, code);
  }
};

Journal::Journal() : state_(std::make_unique<State>()) {}
Journal::~Journal() = default;

Result<std::unique_ptr<Journal>> Journal::create(const std::string& path,
                                                 const JournalHeader& header) {
  std::unique_ptr<Journal> journal(new Journal);
  State& state = *journal->state_;
  state.path = path;
  state.fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
  if (state.fd < 0) return failed("open", path, errno);
  auto begun = lock(state.fd, path);
  if (begun) begun = state.append_line(line_of(header_json(header)));
  if (!begun) {
    ::unlink(path.c_str());
    return begun.error();
  }
  sync_folder_of(path);
  return journal;
}

Result<std::unique_ptr<Journal>> Journal::resume(const std::string& path,
                                                 const JournalHeader& header) {
  std::unique_ptr<Journal> journal(new Journal);
  State& state = *journal->state_;
  state.path = path;
  state.fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (state.fd < 0) return failed("open", path, errno);
  GEMMPEAK_TRY(lock(state.fd, path));
  const auto text = read_file(path);
  if (!text) return text.error();
  auto contents = parse(path, *text, header);
  if (!contents) return contents.error();
  state.entries = std::move(contents->entries);
  state.recorded = contents->count;
  state.good_bytes = static_cast<off_t>(contents->whole_bytes);
  if (contents->whole_bytes != text->size() && ::ftruncate(state.fd, state.good_bytes) != 0)
    return failed("ftruncate", path, errno);
  return journal;
}

const Json* Journal::find(const std::string& key) const {
  const auto found = state_->entries.find(key);
  return found == state_->entries.end() ? nullptr : &found->second;
}

Result<void> Journal::append(const std::string& key, const Json& value) {
  return state_->append_line(line_of({{"key", key}, {"value", value}}));
}

Result<void> Journal::sync() { return state_->sync(); }

int Journal::recorded() const { return state_->recorded; }
const std::string& Journal::path() const { return state_->path; }

}  // namespace gemmpeak
