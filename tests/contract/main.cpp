// The contract suite's program: opens the device named by --device through the Registry and runs
// every test on it. Exit 77, with the reason, where the device is not there: shown as skipped, not
// as passed.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "backend/registry.hpp"
#include "contract.hpp"
#ifdef GEMMPEAK_HAVE_SIM
#include "backends/sim/sim_backend.hpp"
#endif

namespace {
constexpr int kSkipped = 77;  // CTest's SKIP_RETURN_CODE of this suite
gemmpeak::Device* opened = nullptr;
gemmpeak::Registry* all = nullptr;

std::string option(int argc, char** argv, const char* name, std::string fallback) {
  const std::string prefix = std::string("--") + name + "=";
  for (int i = 1; i < argc; ++i)
    if (std::strncmp(argv[i], prefix.c_str(), prefix.size()) == 0) return argv[i] + prefix.size();
  return fallback;
}

// The folders named by --modules, or modules/ beside this program and up to two folders above it.
std::vector<std::string> module_folders(const std::string& given) {
  if (!given.empty()) return {given};
  std::error_code ignored;
  std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", ignored);
  std::vector<std::string> folders;
  for (int up = 0; up < 3; ++up) {
    folder = folder.parent_path();
    folders.push_back((folder / "modules").string());
  }
  return folders;
}
}  // namespace

gemmpeak::Device& gemmpeak::contract::device() { return *opened; }
gemmpeak::Registry& gemmpeak::contract::registry() { return *all; }

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const std::string id = option(argc, argv, "device", "");
  const auto folders = module_folders(option(argc, argv, "modules", ""));
  if (id.empty()) {
    std::fprintf(stderr, "usage: test_contract --device=cpu|sim:h200|cuda:0 [--modules=FOLDER]\n");
    return 2;
  }
  gemmpeak::Registry registry;
  const gemmpeak::BackendSettings settings;
  for (const char* name : {"cuda", "cpu"}) registry.load(name, folders, settings, "build it");
#ifdef GEMMPEAK_HAVE_SIM
  registry.add("sim", gemmpeak::make_sim_backend(settings));
#endif
  auto device = registry.open(id);
  if (!device) {
    std::printf("NOT RUN on %s: %s\n", id.c_str(), device.error().message().c_str());
    return kSkipped;
  }
  opened = device->get();
  all = &registry;
  std::printf("contract of %s: %s\n", opened->info().id.c_str(), opened->info().name.c_str());
  return RUN_ALL_TESTS();
}
