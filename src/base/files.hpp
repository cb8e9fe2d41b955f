// Files that survive a crash: atomic whole-file writes, append with flush, names that never overwrite.
// Used by journal, app, reports. It refuses to replace a file unless told to, and reports a full disk
// or a missing permission as an Error that names the path.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.hpp"

namespace gemmpeak {

// An error past `limit_bytes` (0: no limit), for files that a user names and that may have no end.
Result<std::string> read_file(const std::string& path, std::size_t limit_bytes = 0);
// Written beside `path`, fsynced, renamed over it; the old content stays if anything fails.
Result<void> write_file_atomic(const std::string& path, const std::string& content);
// Brings a file's creation or renaming to the disk; a file system that cannot is let pass.
void sync_folder_of(const std::string& path);
// Makes the folders above `path`.
Result<void> make_parent_folders(const std::string& path);
// Nothing if a file can be created or appended at `path` (checked by trying, leaving no new file).
Result<void> check_writable(const std::string& path);
// `path` itself if it does not exist, else the first free "stem.2.ext", "stem.3.ext", ...
std::string free_name(const std::string& path);

}  // namespace gemmpeak
