#include "backend/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_backend.hpp"

namespace gemmpeak {
namespace {

using testing::HasSubstr;
using testing_backend::FakeBackend;

std::string modules(const std::string& kind) {
  return std::string(GEMMPEAK_BUILD_DIR) + "/test_modules/" + kind;
}

void add(Registry& registry, const std::string& name, DeviceKind kind,
         std::vector<std::string> ids) {
  registry.add(name, std::make_unique<FakeBackend>(name, kind, std::move(ids)));
}

std::vector<std::string> ids(const Registry& registry) {
  std::vector<std::string> out;
  for (const DeviceInfo& device : registry.devices()) out.push_back(device.id);
  return out;
}

TEST(Registry, DevicesComeAcceleratorsFirstThenCpuThenSimulations) {
  Registry registry;
  add(registry, "sim", DeviceKind::sim, {"sim:h200", "sim:a100"});
  add(registry, "cpu", DeviceKind::cpu, {"cpu"});
  add(registry, "cuda", DeviceKind::gpu, {"cuda:0", "cuda:1"});
  EXPECT_EQ(ids(registry),
            (std::vector<std::string>{"cuda:0", "cuda:1", "cpu", "sim:h200", "sim:a100"}));
}

TEST(Registry, AutomaticIsTheFirstAcceleratorElseTheCpuAndNeverASimulation) {
  Registry registry;
  add(registry, "sim", DeviceKind::sim, {"sim:h200"});
  auto none = registry.automatic();
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().message(), HasSubstr("sim:h200"));
  add(registry, "cpu", DeviceKind::cpu, {"cpu"});
  EXPECT_EQ(registry.automatic().value(), "cpu");
  add(registry, "cuda", DeviceKind::gpu, {"cuda:0"});
  EXPECT_EQ(registry.automatic().value(), "cuda:0");
}

TEST(Registry, AnAcceleratorBackendWithoutDevicesLeavesTheCpuToAutomatic) {
  Registry registry;
  registry.add("cuda", std::make_unique<FakeBackend>("cuda", Error{"cuInit", 100, "no device"}));
  add(registry, "cpu", DeviceKind::cpu, {"cpu"});
  EXPECT_EQ(registry.automatic().value(), "cpu");
  const auto problems = registry.problems();
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].name, "cuda");
  EXPECT_EQ(problems[0].problem, "cuInit: no device (code 100)");
}

TEST(Registry, OpeningGoesToTheBackendNamedBeforeTheColon) {
  Registry registry;
  add(registry, "cpu", DeviceKind::cpu, {"cpu"});
  add(registry, "cuda", DeviceKind::gpu, {"cuda:0"});
  EXPECT_THAT(registry.open("cuda:7").error().text, HasSubstr("asked for cuda:7"));
  EXPECT_THAT(registry.open("cpu").error().text, HasSubstr("asked for cpu"));
  EXPECT_THAT(registry.open("auto").error().text, HasSubstr("asked for cuda:0"));
}

TEST(Registry, AnUnknownDeviceIsRefusedWithTheListOfWhatThereIs) {
  Registry registry;
  add(registry, "cpu", DeviceKind::cpu, {"cpu"});
  registry.load("cuda", {modules("nowhere")}, {}, "install a CUDA toolkit and build again");
  for (const char* id : {"tpu:0", "cuda:0", ""}) {
    auto device = registry.open(id);
    ASSERT_FALSE(device.ok()) << id;
    EXPECT_THAT(device.error().message(), HasSubstr("there is only cpu")) << id;
    EXPECT_THAT(device.error().message(), HasSubstr("install a CUDA toolkit")) << id;
  }
}

TEST(Registry, AModuleThatIsNowhereKeepsTheFoldersSearchedAndTheFix) {
  Registry registry;
  registry.load("fake", {"/nonexistent/a", "/nonexistent/b"}, {}, "build it");
  ASSERT_EQ(registry.slots().size(), 1u);
  EXPECT_EQ(registry.slots()[0].backend, nullptr);
  EXPECT_EQ(registry.slots()[0].problem,
            "gemmpeak_backend_fake.so is not in /nonexistent/a, /nonexistent/b");
  EXPECT_EQ(registry.slots()[0].fix, "build it");
}

TEST(Registry, AModuleIsLoadedFromTheFirstFolderThatHasItAndGetsTheSettings) {
  Registry registry;
  BackendSettings settings;
  settings.environment["FAKE_ID"] = "fake:told";
  registry.load("fake", {"/nonexistent", modules("good"), modules("old")}, settings, "");
  ASSERT_NE(registry.slots().at(0).backend, nullptr) << registry.slots()[0].problem;
  EXPECT_EQ(ids(registry), std::vector<std::string>{"fake:told"});
}

TEST(Registry, AModuleOfAnotherInterfaceVersionIsRefusedUncalled) {
  Registry registry;
  registry.load("fake", {modules("old")}, {}, "rebuild");
  EXPECT_EQ(registry.slots().at(0).backend, nullptr);
  EXPECT_THAT(registry.slots()[0].problem,
              HasSubstr("interface 0, this program has " + std::to_string(kBackendAbi)));
}

TEST(Registry, ALibraryThatIsNoModuleIsRefused) {
  for (const char* kind : {"stranger", "empty"}) {
    Registry registry;
    registry.load("fake", {modules(kind)}, {}, "");
    EXPECT_EQ(registry.slots().at(0).backend, nullptr) << kind;
    EXPECT_THAT(registry.slots()[0].problem, HasSubstr("gemmpeak_backend_fake.so")) << kind;
  }
}

TEST(Registry, ABrokenModuleNeverStopsTheOthers) {
  Registry registry;
  registry.load("fake", {modules("old")}, {}, "");
  add(registry, "cpu", DeviceKind::cpu, {"cpu"});
  EXPECT_EQ(ids(registry), std::vector<std::string>{"cpu"});
  EXPECT_EQ(registry.automatic().value(), "cpu");
}

}  // namespace
}  // namespace gemmpeak
