#include "app/host.hpp"

#include <sched.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>

extern char** environ;

namespace gemmpeak::app {
namespace {

// Recorded whatever the device: they move threads, devices or libraries.
constexpr const char* kAlwaysRecorded[] = {
    "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "HIP_VISIBLE_DEVICES", "LD_LIBRARY_PATH",
    "LD_PRELOAD",           "OMP_NUM_THREADS",   "OMP_PROC_BIND",       "OMP_PLACES",
    "GOMP_CPU_AFFINITY",    "GEMMPEAK_MODULE_PATH"};

std::map<std::string, std::string> read_environment() {
  std::map<std::string, std::string> out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string pair = *entry;
    const auto sign = pair.find('=');
    if (sign != std::string::npos) out[pair.substr(0, sign)] = pair.substr(sign + 1);
  }
  return out;
}

std::string time_text(const std::tm& time, const char* format) {
  char text[64] = {};
  return std::string(text, std::strftime(text, sizeof text, format, &time));
}

std::string read_platform() {
  utsname names{};
  if (uname(&names) != 0) return "unknown";
  std::string out;
  for (const char* part :
       {names.sysname, names.nodename, names.release, names.version, names.machine})
    out += (out.empty() ? "" : " ") + std::string(part);
  return out;
}

}  // namespace

Host read_host(int argc, char** argv) {
  Host host;
  host.arguments.assign(argv, argv + argc);
  host.environment = read_environment();
  cpu_set_t set;
  CPU_ZERO(&set);
  // A machine of more than CPU_SETSIZE CPUs gives an empty list, which stands for "all".
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &set)) host.cpus.push_back(cpu);
  std::error_code ignored;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  host.executable_folder = ignored ? "." : program.parent_path().string();
  host.platform = read_platform();
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::string zone = time_text(local, "%z");  // +0100
  if (zone.size() == 5) zone.insert(3, ":");
  host.started = time_text(local, "%Y-%m-%dT%H:%M:%S") + zone;
  host.file_stamp = time_text(local, "%Y%m%d-%H%M%S");
  return host;
}

std::string shell_quoted(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("@%+=:,./-_").find(static_cast<char>(c)) !=
                                       std::string_view::npos;
  });
  if (plain) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\"'\"'") : std::string(1, c);
  return out + "'";
}

std::string command_line(const std::vector<std::string>& arguments) {
  std::string out;
  for (const std::string& argument : arguments)
    out += (out.empty() ? "" : " ") + shell_quoted(argument);
  return out;
}

std::vector<std::string> module_folders(const Host& host) {
  std::vector<std::string> out;
  const auto path = host.environment.find("GEMMPEAK_MODULE_PATH");
  out.push_back(host.executable_folder + "/modules");
  out.push_back(host.executable_folder + "/../lib/gemmpeak");
  if (path == host.environment.end()) return out;
  std::string rest = path->second;
  while (!rest.empty()) {
    const auto colon = rest.find(':');
    if (colon != 0) out.push_back(rest.substr(0, colon));
    rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
  }
  return out;
}

std::map<std::string, std::string> set_variables(const Host& host,
                                                 const std::vector<std::string>& names) {
  std::map<std::string, std::string> out;
  const auto take = [&](const std::string& name) {
    const auto found = host.environment.find(name);
    if (found != host.environment.end()) out[name] = found->second;
  };
  for (const char* name : kAlwaysRecorded) take(name);
  for (const std::string& name : names) take(name);
  return out;
}

bool is_terminal(int descriptor) { return isatty(descriptor) == 1; }

int terminal_width(int descriptor) {
  winsize size{};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace gemmpeak::app
