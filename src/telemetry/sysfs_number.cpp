#include "telemetry/sysfs_number.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <utility>

namespace gemmpeak {
namespace {

Error failed(const char* api, const std::string& path, int code) {
  return Error{api, code, path + ": " + std::strerror(code)};
}

}  // namespace

SysfsNumber::SysfsNumber(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

SysfsNumber::SysfsNumber(SysfsNumber&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}

SysfsNumber& SysfsNumber::operator=(SysfsNumber&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = std::exchange(other.fd_, -1);
    path_ = std::move(other.path_);
  }
  return *this;
}

SysfsNumber::~SysfsNumber() {
  if (fd_ >= 0) ::close(fd_);
}

Result<SysfsNumber> SysfsNumber::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failed("open", path, errno);
  return SysfsNumber(fd, path);
}

Result<double> SysfsNumber::read() const {
  // A 64-bit counter has at most 20 digits.
  char text[32];
  const ssize_t got = ::pread(fd_, text, sizeof text, 0);
  if (got < 0) return failed("read", path_, errno);
  double value = 0;
  const auto [end, code] = std::from_chars(text, text + got, value);
  if (code != std::errc{} || end == text) return Error{"read", 0, path_ + " holds no number"};
  return value;
}

Result<double> read_sysfs_number(const std::string& path) {
  auto file = SysfsNumber::open(path);
  if (!file) return file.error();
  return file->read();
}

std::string read_sysfs_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace gemmpeak
