// SysfsNumber: one file of sysfs that holds a number, kept open, because it is read every few
// milliseconds. Used by rapl_telemetry. It refuses to take an empty or garbled file as zero.
#pragma once

#include <string>

#include "base/result.hpp"

namespace gemmpeak {

class SysfsNumber {
 public:
  // The Error's code is errno, its text names the file.
  static Result<SysfsNumber> open(const std::string& path);
  SysfsNumber(SysfsNumber&& other) noexcept;
  SysfsNumber& operator=(SysfsNumber&& other) noexcept;
  ~SysfsNumber();

  Result<double> read() const;
  const std::string& path() const { return path_; }

 private:
  SysfsNumber(int fd, std::string path);
  int fd_ = -1;
  std::string path_;
};

// Opens and reads once.
Result<double> read_sysfs_number(const std::string& path);
// The file's first line without its end, or "" if it cannot be read.
std::string read_sysfs_line(const std::string& path);

}  // namespace gemmpeak
