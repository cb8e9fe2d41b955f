#include "model/journal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>

#include "../base/file_size_limit.hpp"
#include "../base/temp_folder.hpp"
#include "filled_records.hpp"

namespace gemmpeak {
namespace {

using testing::HasSubstr;
using testing::Not;

JournalHeader header() { return {R"({"dtype":"bfloat16"})", "sim|H200", "gemmpeak find", "now"}; }

std::string key_of(int number) { return "scout " + std::to_string(number); }

// A journal of `count` entries at `path`.
void write_journal(const std::string& path, int count) {
  auto journal = Journal::create(path, header());
  ASSERT_TRUE(journal.ok()) << journal.error().message();
  for (int i = 0; i < count; ++i)
    ASSERT_TRUE((*journal)->append(key_of(i), {{"number", i}, {"third", i / 3.0}}).ok());
}

std::string refusal(const std::string& path, const JournalHeader& now = header()) {
  const auto journal = Journal::resume(path, now);
  EXPECT_FALSE(journal.ok());
  return journal.error().message();
}

TEST(Journal, ReturnsWhatAnEarlierRunRecorded) {
  const TempFolder folder;
  {
    auto journal = Journal::create(folder / "j", header());
    ASSERT_TRUE(journal.ok()) << journal.error().message();
    ASSERT_TRUE((*journal)->append("scout 1x2x3", to_json(filled_loop())).ok());
    EXPECT_EQ((*journal)->recorded(), 0);
    EXPECT_EQ((*journal)->find("scout 1x2x3"), nullptr);  // of this run, not an earlier one
  }
  auto journal = Journal::resume(folder / "j", header());
  ASSERT_TRUE(journal.ok()) << journal.error().message();
  EXPECT_EQ((*journal)->recorded(), 1);
  EXPECT_EQ((*journal)->path(), folder / "j");
  EXPECT_EQ((*journal)->find("scout 9x9x9"), nullptr);
  const Json* found = (*journal)->find("scout 1x2x3");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(loop_from_json(*found)->seconds, filled_loop().seconds);
}

TEST(Journal, IsOneJsonLineAnEntryOnTheDiskAtOnce) {
  const TempFolder folder;
  auto journal = Journal::create(folder / "j", header());
  ASSERT_TRUE(journal.ok());
  ASSERT_TRUE((*journal)->append("a\nb \xff", "two\nlines, bad UTF-8 \xff").ok());
  const std::string text = slurp(folder / "j");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  EXPECT_EQ(text.back(), '\n');
}

TEST(Journal, NeverReplacesAFile) {
  const TempFolder folder;
  spill(folder / "j", "precious");
  const auto journal = Journal::create(folder / "j", header());
  ASSERT_FALSE(journal.ok());
  EXPECT_EQ(journal.error().code, EEXIST);
  EXPECT_EQ(slurp(folder / "j"), "precious");
}

TEST(Journal, AFileThatCannotBeOpenedIsAnErrorWithItsPath) {
  const TempFolder folder;
  EXPECT_THAT(refusal(folder / "missing"), HasSubstr(folder / "missing"));
  EXPECT_FALSE(Journal::create(folder / "no/j", header()).ok());
}

TEST(Journal, CutAtAnyByteItKeepsTheWholeLinesAndGoesOn) {
  const TempFolder folder;
  write_journal(folder / "whole", 3);
  const std::string text = slurp(folder / "whole");
  const std::size_t header_end = text.find('\n') + 1;
  for (std::size_t cut = header_end; cut <= text.size(); ++cut) {
    spill(folder / "j", text.substr(0, cut));
    const int lines = static_cast<int>(std::count(text.begin(), text.begin() + cut, '\n')) - 1;
    {
      auto journal = Journal::resume(folder / "j", header());
      ASSERT_TRUE(journal.ok()) << cut << ": " << journal.error().message();
      ASSERT_EQ((*journal)->recorded(), lines) << cut;
      ASSERT_TRUE((*journal)->append("after", 1).ok());
    }
    auto journal = Journal::resume(folder / "j", header());
    ASSERT_TRUE(journal.ok()) << cut << ": " << journal.error().message();
    ASSERT_EQ((*journal)->recorded(), lines + 1) << cut;
    ASSERT_NE((*journal)->find("after"), nullptr);
  }
}

TEST(Journal, AMalformedLineBeforeTheLastIsAnErrorWithItsNumberAndNothingChanges) {
  const TempFolder folder;
  write_journal(folder / "j", 2);
  const std::string text = slurp(folder / "j");
  for (const char* bad : {"{\"key\": \"x\"", "[1]", "{\"key\": \"x\"}",
                          "{\"key\": 1, \"value\": 1}", "", "{\"value\": 1}"}) {
    const std::string broken = text + bad + "\n" + "{\"key\":\"y\",\"value\":1}\n";
    spill(folder / "j", broken);
    EXPECT_THAT(refusal(folder / "j"), HasSubstr("line 4")) << bad;
    EXPECT_EQ(slurp(folder / "j"), broken);
  }
}

TEST(Journal, WithoutAWholeHeaderItIsRefused) {
  const TempFolder folder;
  for (const char* text :
       {"", "{\"schema\":\"gemmpeak.jour", "hello\n", "{}\n", "{\"schema\":3}\n"}) {
    spill(folder / "j", text);
    EXPECT_THAT(refusal(folder / "j"), HasSubstr("header")) << text;
    EXPECT_EQ(slurp(folder / "j"), text);
  }
}

TEST(Journal, OfAnotherSchemaIsRefusedWithBothNames) {
  const TempFolder folder;
  spill(folder / "j", "{\"schema\":\"gemmpeak.journal/2\"}\n");
  EXPECT_THAT(refusal(folder / "j"), HasSubstr("gemmpeak.journal/2"));
  EXPECT_THAT(refusal(folder / "j"), HasSubstr(kJournalSchema));
}

TEST(Journal, OfAnotherDeviceIsRefusedWithBothNames) {
  const TempFolder folder;
  write_journal(folder / "j", 1);
  JournalHeader now = header();
  now.device_identity = "sim|A100";
  EXPECT_THAT(refusal(folder / "j", now), HasSubstr("'sim|H200' in the journal, 'sim|A100' now"));
}

TEST(Journal, OfOtherSettingsIsRefusedWithWhatDiffersAndNothingElse) {
  const TempFolder folder;
  FindSettings settings;
  settings.knobs = knobs_for(KnobPreset::gpu);
  JournalHeader then = header();
  then.settings_fingerprint = settings_fingerprint(settings);
  ASSERT_TRUE(Journal::create(folder / "j", then).ok());
  settings.dtype = DType::float16;
  settings.knobs.max_size = 4096;
  JournalHeader now = header();
  now.settings_fingerprint = settings_fingerprint(settings);
  const std::string message = refusal(folder / "j", now);
  EXPECT_THAT(message, HasSubstr("dtype is \"bfloat16\" in the journal and \"float16\" now"));
  EXPECT_THAT(message, HasSubstr("knobs.max_size is 20480 in the journal and 4096 now"));
  EXPECT_THAT(message, Not(HasSubstr("layout")));
}

TEST(Journal, IsWrittenByOneProgramAtATime) {
  const TempFolder folder;
  auto first = Journal::create(folder / "j", header());
  ASSERT_TRUE(first.ok());
  EXPECT_THAT(refusal(folder / "j"), HasSubstr("another running program"));
  first->reset();
  EXPECT_TRUE(Journal::resume(folder / "j", header()).ok());
}

TEST(Journal, AKeyWrittenTwiceGivesTheLaterValue) {
  const TempFolder folder;
  {
    auto journal = Journal::create(folder / "j", header());
    ASSERT_TRUE((*journal)->append("a", 1).ok());
    ASSERT_TRUE((*journal)->append("a", 2).ok());
  }
  EXPECT_EQ(*(*Journal::resume(folder / "j", header()))->find("a"), 2);
}

TEST(Journal, AFullDiskIsAnErrorAndLeavesOnlyWholeLines) {
  const TempFolder folder;
  {
    auto journal = Journal::create(folder / "j", header());
    ASSERT_TRUE(journal.ok());
    ASSERT_TRUE((*journal)->append("before", 1).ok());
    {
      const FileSizeLimit limit(slurp(folder / "j").size() + 20);
      const auto full = (*journal)->append("too long", std::string(500, 'x'));
      ASSERT_FALSE(full.ok());
      EXPECT_EQ(full.error().code, EFBIG);
      EXPECT_THAT(full.error().message(), HasSubstr(folder / "j"));
    }
    ASSERT_TRUE((*journal)->append("after", 2).ok());
  }
  auto journal = Journal::resume(folder / "j", header());
  ASSERT_TRUE(journal.ok()) << journal.error().message();
  EXPECT_EQ((*journal)->recorded(), 2);
  EXPECT_EQ((*journal)->find("too long"), nullptr);
}

TEST(Journal, AHeaderThatDoesNotFitLeavesNoFile) {
  const TempFolder folder;
  {
    const FileSizeLimit limit(10);
    EXPECT_FALSE(Journal::create(folder / "j", header()).ok());
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "j"));
}

// Appends without end, one byte to `told` after each entry, until it is killed.
[[noreturn]] void write_until_killed(const std::string& path, int told) {
  auto journal = Journal::create(path, header());
  for (int i = 0; journal.ok(); ++i) {
    if (!(*journal)->append(key_of(i), {{"number", i}, {"pad", std::string(3000, 'x')}}).ok())
      break;
    if (::write(told, "x", 1) != 1) break;
  }
  ::_exit(1);
}

TEST(Journal, AKilledWriterLosesNoEntryItHadFinished) {
  const TempFolder folder;
  for (int round = 0; round < 5; ++round) {
    const std::string path = folder / ("j" + std::to_string(round));
    int pipe_ends[2];
    ASSERT_EQ(::pipe(pipe_ends), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) write_until_killed(path, pipe_ends[1]);
    ::close(pipe_ends[1]);
    int finished = 0;
    char byte = 0;
    while (finished < 10 + round && ::read(pipe_ends[0], &byte, 1) == 1) ++finished;
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    while (::read(pipe_ends[0], &byte, 1) == 1) ++finished;  // told before the kill arrived
    ::close(pipe_ends[0]);
    auto journal = Journal::resume(path, header());
    ASSERT_TRUE(journal.ok()) << journal.error().message();
    EXPECT_GE((*journal)->recorded(), finished);
    EXPECT_LE((*journal)->recorded(), finished + 1);
    for (int i = 0; i < finished; ++i) {
      const Json* entry = (*journal)->find(key_of(i));
      ASSERT_NE(entry, nullptr) << i;
      EXPECT_EQ((*entry)["number"], i);
    }
  }
}

}  // namespace
}  // namespace gemmpeak
