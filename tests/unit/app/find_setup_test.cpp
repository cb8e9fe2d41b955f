// What `find` makes of its options: device, shapes, knobs, alignment, repro line, output names.
#include "app/find_setup.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "app/host.hpp"
#include "app/outputs.hpp"
#include "search/candidates.hpp"

namespace gemmpeak::app {
namespace {

namespace fs = std::filesystem;

Options parse(const std::vector<std::string>& tokens) {
  auto options = parse_options(tokens, find_options());
  EXPECT_TRUE(options.ok()) << options.error().message();
  return options.ok() ? *options : Options(find_options());
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string shapes_error(const std::vector<std::string>& tokens) {
  auto shapes = requested_shapes(parse(tokens));
  EXPECT_FALSE(shapes.ok());
  return shapes.error().message();
}

// A folder of its own that goes with the test.
class Folder {
 public:
  Folder() {
    path_ = (fs::path(testing::TempDir()) / "gemmpeak_app_XXXXXX").string();
    EXPECT_NE(mkdtemp(path_.data()), nullptr);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(*this / name) << text;
    return *this / name;
  }

 private:
  std::string path_;
};

DeviceInfo gpu() {
  DeviceInfo device;
  device.id = "cuda:0";
  device.backend = "cuda";
  device.name = "NVIDIA H200";
  device.units = 132;
  device.tile = TileHint{128, 256};
  return device;
}

TEST(Device, CudaDeviceIsTheCudaIdAndContradictionsAreErrors) {
  EXPECT_EQ(*requested_device(parse({})), "auto");
  EXPECT_EQ(*requested_device(parse({"--cuda_device", "2"})), "cuda:2");
  EXPECT_EQ(*requested_device(parse({"--cuda_device", "2", "--device", "auto"})), "cuda:2");
  EXPECT_EQ(*requested_device(parse({"--cuda_device", "2", "--device", "cuda:2"})), "cuda:2");
  EXPECT_EQ(*requested_device(parse({"--device", "sim:h200"})), "sim:h200");
  for (const char* other : {"cpu", "cuda:1", "sim:h200"})
    EXPECT_FALSE(requested_device(parse({"--cuda_device", "2", "--device", other})).ok()) << other;
}

TEST(Shapes, WithoutShapeOptionsTheSearchIsAuto) {
  EXPECT_EQ(requested_shapes(parse({}))->search, "auto");
}

TEST(Shapes, AnyShapeOptionImpliesGridWithMOutermost) {
  const auto shapes = requested_shapes(parse({"--m", "1", "2", "--n", "3", "--k_range", "0", "512"}));
  ASSERT_TRUE(shapes.ok());
  EXPECT_EQ(shapes->search, "grid");
  EXPECT_EQ(shapes->grid, (std::vector<GemmShape>{{1, 3, 256}, {2, 3, 256}}));
  EXPECT_EQ(shapes->range_info, "m=1,2 | n=3 | k=range(0, 512)");
}

TEST(Shapes, AMissingDimensionIsNamed) {
  EXPECT_TRUE(has(shapes_error({"--m", "1"}), "requires shapes for: n, k"));
  EXPECT_TRUE(has(shapes_error({"--search", "grid"}), "requires shapes for: m, n, k"));
}

TEST(Shapes, BadValuesAreRefusedByTheNameOfTheirOption) {
  EXPECT_TRUE(has(shapes_error({"--m", "0", "--n", "1", "--k", "1"}), "--m 0"));
  EXPECT_TRUE(has(shapes_error({"--m_range", "1", "9", "0", "--n", "1", "--k", "1"}), "--m_range"));
}

TEST(Shapes, AFileBeatsTheOptionsAndSaysSo) {
  const Folder folder;
  const std::string file = folder.write("shapes.txt", "# comment\n1x2x3\n4, 5, 6\n");
  const auto shapes = requested_shapes(parse({"--shapes_file", file, "--m", "8", "--k_range", "1", "2"}));
  ASSERT_TRUE(shapes.ok());
  EXPECT_EQ(shapes->grid, (std::vector<GemmShape>{{1, 2, 3}, {4, 5, 6}}));
  ASSERT_EQ(shapes->notes.size(), 1u);
  EXPECT_TRUE(has(shapes->notes[0], "--m, --k_range is not used"));
}

TEST(Shapes, ABadLineIsNamedByFileAndNumber) {
  const Folder folder;
  const std::string file = folder.write("shapes.txt", "1x2x3\n\n4 5\n");
  EXPECT_TRUE(has(shapes_error({"--shapes_file", file}), file + ":3:"));
  EXPECT_TRUE(has(shapes_error({"--shapes_file", folder / "none"}), "--shapes_file"));
}

TEST(Alignment, KnownRulesListEveryBadValue) {
  const std::vector<GemmShape> shapes = {{16, 16, 40}, {16, 24, 48}, {16, 16, 32}};
  const auto bad = search::alignment_violations(DType::nvfp4, shapes,
                                                known_multiples("cuda", DType::nvfp4));
  ASSERT_TRUE(bad.has_value());
  EXPECT_TRUE(has(*bad, "K=40,48")) << *bad;
  EXPECT_TRUE(has(*bad, "N=24")) << *bad;
  EXPECT_EQ(known_multiples("cuda", DType::bfloat16), (std::vector<int>{1, 1, 1}));
}

TEST(Auto, IsRefusedWhereUnitsOrTileAreUnknown) {
  EXPECT_FALSE(auto_refusal(gpu()).has_value());
  DeviceInfo blind = gpu();
  blind.tile.reset();
  EXPECT_TRUE(auto_refusal(blind).has_value());
  blind = gpu();
  blind.units = 0;
  EXPECT_TRUE(auto_refusal(blind).has_value());
}

TEST(TheKnobs, FollowTheDeviceThenPresetThenOverrides) {
  DeviceInfo cpu;
  cpu.kind = DeviceKind::cpu;
  EXPECT_EQ(requested_knobs(parse({}), gpu())->knobs.max_size, knobs_for(KnobPreset::gpu).max_size);
  EXPECT_EQ(requested_knobs(parse({}), cpu)->knobs.max_size, knobs_for(KnobPreset::cpu).max_size);
  const auto v3 = requested_knobs(parse({"--tune", "confirm_reps=9", "--tune", "preset=v3"}), cpu);
  EXPECT_EQ(v3->knobs.max_size, 20480);
  EXPECT_EQ(v3->knobs.confirm_reps, 9);
  EXPECT_FALSE(requested_knobs(parse({"--tune", "nonsense=1"}), gpu()).ok());
}

TEST(TheKnobs, ExplicitIterationsLiftTheTimeBoundUnlessItIsGivenToo) {
  DeviceInfo cpu;
  cpu.kind = DeviceKind::cpu;
  EXPECT_GT(requested_knobs(parse({}), cpu)->knobs.loop_max_s, 0);
  EXPECT_EQ(requested_knobs(parse({"--num_iterations", "7"}), cpu)->knobs.loop_max_s, 0);
  EXPECT_EQ(
      requested_knobs(parse({"--num_iterations", "7", "--tune", "loop_max_s=2"}), cpu)->knobs.loop_max_s, 2);
}

TEST(Repro, HoldsWhatDiffersFromABareRunAndParsesBack) {
  const std::vector<std::string> tokens = {"--tune",           "preset=v3", "--tune", "confirm_reps=7",
                                           "--num_iterations", "30",        "--telemetry", "off"};
  const Options options = parse(tokens);
  const auto knobs = requested_knobs(options, gpu());
  FindSettings settings;
  settings.device = "cuda:0";
  settings.telemetry = false;
  settings.knobs = knobs->knobs;
  std::string line;
  for (const std::string& part : repro_options(options, settings, *knobs)) line += part + " ";
  EXPECT_EQ(line,
            "--device cuda:0 --dtype bfloat16 --num_iterations 30 --telemetry off --tune preset=v3 "
            "--tune confirm_reps=7 ");
  std::vector<std::string> words;
  for (std::size_t at = 0, end; (end = line.find(' ', at)) != std::string::npos; at = end + 1)
    words.push_back(line.substr(at, end - at));
  const auto again = requested_knobs(parse(words), gpu());
  EXPECT_TRUE(knob_differences(again->knobs, knobs->knobs).empty());
}

TEST(Outputs, AnExistingFileIsKeptAndTheNewOneNumbered) {
  const Folder folder;
  const std::string log = folder.write("a.log", "old"), json = folder.write("a.json", "old");
  const auto outputs =
      prepare_outputs(parse({"--output_file", log, "--json", json}), folder / "default");
  ASSERT_TRUE(outputs.ok()) << outputs.error().message();
  EXPECT_EQ(outputs->log, folder / "a.2.log");
  EXPECT_EQ(outputs->json, folder / "a.2.json");
  EXPECT_EQ(outputs->journal, folder / "a.2.journal.jsonl");
  EXPECT_EQ(outputs->notes.size(), 2u);
}

TEST(Outputs, DefaultsStandBesideEachOtherInAFolderMadeOnNeed) {
  const Folder folder;
  const auto outputs = prepare_outputs(parse({}), folder / "results/find-x");
  ASSERT_TRUE(outputs.ok()) << outputs.error().message();
  EXPECT_EQ(outputs->log, folder / "results/find-x.log");
  EXPECT_EQ(outputs->journal, folder / "results/find-x.journal.jsonl");
  EXPECT_TRUE(fs::is_directory(folder / "results"));
  EXPECT_TRUE(fs::is_empty(folder / "results"));
}

TEST(Outputs, AnUnwritablePathAFolderAndASharedFileAreRefused) {
  const Folder folder;
  folder.write("file", "");
  const auto refused = [&](const std::vector<std::string>& tokens) {
    return !prepare_outputs(parse(tokens), folder / "default").ok();
  };
  EXPECT_TRUE(refused({"--output_file", folder / "file/below.log"}));
  EXPECT_TRUE(refused({"--json", folder / ""}));
  EXPECT_TRUE(refused({"--output_file", folder / "x", "--json", folder / "x"}));
  EXPECT_TRUE(refused({"--resume", folder / "none.jsonl"}));
  EXPECT_TRUE(refused({"--resume", folder / "file", "--journal", folder / "y"}));
}

TEST(Outputs, DevicesAreUsedAsTheyAre) {
  const Folder folder;
  const auto outputs = prepare_outputs(parse({"--output_file", "/dev/null"}), folder / "default");
  ASSERT_TRUE(outputs.ok()) << outputs.error().message();
  EXPECT_EQ(outputs->log, "/dev/null");
  EXPECT_EQ(outputs->journal, folder / "default.journal.jsonl");
  EXPECT_TRUE(create_log("/dev/null").ok());
}

TEST(ExitCodes, TellHowAFindEnded) {
  gemmpeak::Run run;
  EXPECT_EQ(find_exit_code(run, false), kExitNoResult);
  run.scouts.resize(1);
  EXPECT_EQ(find_exit_code(run, false), kExitNoHeadline);
  run.settings.knobs.scout_only = true;
  EXPECT_EQ(find_exit_code(run, false), kExitOk);
  run.settings.knobs.scout_only = false;
  run.headlines.resize(1);
  run.headlines[0].trust = Trust::untrusted;
  EXPECT_EQ(find_exit_code(run, false), kExitNoHeadline);
  run.headlines[0].trust = Trust::unvalidated;
  EXPECT_EQ(find_exit_code(run, false), kExitOk);
  run.interrupted = true;
  EXPECT_EQ(find_exit_code(run, false), kExitNoResult);
  EXPECT_EQ(find_exit_code(run, true), kExitDevice);
}

TEST(TheHost, QuotesWordsAsAShellTakesThemBack) {
  EXPECT_EQ(shell_quoted("plain-word_1.txt"), "plain-word_1.txt");
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_quoted("a b"), "'a b'");
  EXPECT_EQ(shell_quoted("it's"), "'it'\"'\"'s'");
  EXPECT_EQ(command_line({"gemmpeak", "find", "--notes", "a b"}), "gemmpeak find --notes 'a b'");
}

TEST(TheHost, ModulesAreLookedForBesideTheProgramThenInstalledThenInThePath) {
  Host host;
  host.executable_folder = "/opt/bin";
  host.environment["GEMMPEAK_MODULE_PATH"] = "/a:/b";
  EXPECT_EQ(module_folders(host), (std::vector<std::string>{"/opt/bin/modules",
                                                            "/opt/bin/../lib/gemmpeak", "/a", "/b"}));
}

}  // namespace
}  // namespace gemmpeak::app
