#include "base/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace gemmpeak {
namespace {

namespace fs = std::filesystem;

Error failed(const char* api, const std::string& what, int code) {
  return Error{api, code, what + ": " + std::generic_category().message(code)};
}

// A file descriptor that closes itself; close() reports what a late write-back found.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

int open_retrying(const std::string& path, int flags, mode_t mode = 0) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

// 0, or the errno of the write that failed. A write of nothing counts as a full disk.
int write_all(int fd, const std::string& content) {
  std::size_t done = 0;
  while (done < content.size()) {
    const ssize_t n = ::write(fd, content.data() + done, content.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 ? errno : ENOSPC;
    done += static_cast<std::size_t>(n);
  }
  return 0;
}

std::string folder_of(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

// Devices and pipes (/dev/stdout) cannot be replaced by renaming: they are written in place.
Result<void> write_in_place(const std::string& path, const std::string& content) {
  Descriptor file(open_retrying(path, O_WRONLY));
  if (file.get() < 0) return failed("open", "cannot write '" + path + "'", errno);
  if (const int code = write_all(file.get(), content))
    return failed("write", "cannot write '" + path + "'", code);
  return {};
}

// Writes and syncs the file beside the target; the caller renames or removes it.
Result<void> fill_new_file(const std::string& path, const std::string& content,
                           const struct stat* old) {
  Descriptor file(open_retrying(path, O_WRONLY | O_CREAT | O_EXCL, 0666));
  if (file.get() < 0) return failed("open", "cannot create '" + path + "'", errno);
  if (old != nullptr) (void)::fchmod(file.get(), old->st_mode & 07777);
  if (const int code = write_all(file.get(), content))
    return failed("write", "cannot write '" + path + "'", code);
  if (::fsync(file.get()) != 0) return failed("fsync", "cannot write '" + path + "'", errno);
  if (!file.close()) return failed("close", "cannot write '" + path + "'", errno);
  return {};
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t limit_bytes) {
  const Descriptor file(open_retrying(path, O_RDONLY));
  if (file.get() < 0) return failed("open", "cannot read '" + path + "'", errno);
  std::string content;
  char block[65536];
  for (;;) {
    const ssize_t n = ::read(file.get(), block, sizeof block);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed("read", "cannot read '" + path + "'", errno);
    if (n == 0) return content;
    content.append(block, static_cast<std::size_t>(n));
    if (limit_bytes != 0 && content.size() > limit_bytes)
      return error_text("'" + path + "' is larger than the " + std::to_string(limit_bytes >> 20) +
                        " MiB that are read");
  }
}

Result<void> write_file_atomic(const std::string& path, const std::string& content) {
  struct stat old {};
  const bool exists = ::stat(path.c_str(), &old) == 0;
  if (exists && S_ISDIR(old.st_mode)) return failed("open", "cannot write '" + path + "'", EISDIR);
  if (exists && !S_ISREG(old.st_mode)) return write_in_place(path, content);
  std::string target = path;
  std::error_code ignored;
  // Through a symbolic link: the file it names is replaced, not the link.
  if (fs::is_symlink(path, ignored)) {
    const fs::path real = fs::weakly_canonical(path, ignored);
    if (!ignored && !real.empty()) target = real.string();
  }
  const std::string aside = target + ".tmp" + std::to_string(::getpid());
  ::unlink(aside.c_str());  // left by an earlier process of this number that was killed here
  if (auto filled = fill_new_file(aside, content, exists ? &old : nullptr); !filled) {
    ::unlink(aside.c_str());
    return filled;
  }
  if (::rename(aside.c_str(), target.c_str()) != 0) {
    const int code = errno;
    ::unlink(aside.c_str());
    return failed("rename", "cannot write '" + path + "'", code);
  }
  sync_folder_of(target);
  return {};
}

void sync_folder_of(const std::string& path) {
  const Descriptor folder(open_retrying(folder_of(path), O_RDONLY | O_DIRECTORY));
  if (folder.get() >= 0) (void)::fsync(folder.get());
}

Result<void> make_parent_folders(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  if (parent.empty()) return {};
  std::error_code code;
  fs::create_directories(parent, code);
  if (!code && !fs::is_directory(parent, code) && !code)
    code = std::make_error_code(std::errc::not_a_directory);
  if (code) return failed("mkdir", "cannot make folder '" + parent.string() + "'", code.value());
  return {};
}

Result<void> check_writable(const std::string& path) {
  // O_EXCL tells a file made here, which is removed again, from one that was there. O_NONBLOCK: a
  // pipe without a reader is an error, not a wait.
  const Descriptor made(open_retrying(path, O_WRONLY | O_CREAT | O_EXCL, 0666));
  if (made.get() >= 0) {
    ::unlink(path.c_str());
    return {};
  }
  if (errno == EEXIST) {
    const Descriptor there(open_retrying(path, O_WRONLY | O_APPEND | O_NONBLOCK));
    if (there.get() >= 0) return {};
  }
  return failed("open", "cannot write '" + path + "'", errno);
}

std::string free_name(const std::string& path) {
  const auto taken = [](const std::string& name) {
    struct stat info {};
    return ::lstat(name.c_str(), &info) == 0;
  };
  if (!taken(path)) return path;
  const fs::path whole(path);
  const std::string stem = (whole.parent_path() / whole.stem()).string();
  const std::string extension = whole.extension().string();
  for (int number = 2;; ++number) {
    std::string name = stem + "." + std::to_string(number) + extension;
    if (!taken(name)) return name;
  }
}

}  // namespace gemmpeak
