#include "base/files.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "file_size_limit.hpp"
#include "temp_folder.hpp"

namespace gemmpeak {
namespace {

namespace fs = std::filesystem;

std::size_t files_in(const std::string& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(ReadFile, ReturnsEveryByteThatWasWritten) {
  const TempFolder folder;
  std::string content = "line\n";
  content += '\0';
  content += std::string(200000, 'x');  // more than one block
  ASSERT_TRUE(write_file_atomic(folder / "a", content).ok());
  EXPECT_EQ(read_file(folder / "a").value(), content);
}

TEST(ReadFile, NamesThePathAndTheReasonWhenItFails) {
  const TempFolder folder;
  const auto missing = read_file(folder / "missing");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ENOENT);
  EXPECT_NE(missing.error().message().find(folder / "missing"), std::string::npos);
  EXPECT_EQ(read_file(folder.path()).error().code, EISDIR);
}

TEST(WriteFileAtomic, ReplacesTheOldContentAndLeavesNothingBeside) {
  const TempFolder folder;
  ASSERT_TRUE(write_file_atomic(folder / "a", "old").ok());
  ASSERT_TRUE(write_file_atomic(folder / "a", "new").ok());
  EXPECT_EQ(slurp(folder / "a"), "new");
  EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(WriteFileAtomic, KeepsThePermissionsOfAFileItReplaces) {
  const TempFolder folder;
  spill(folder / "a", "old");
  ::chmod((folder / "a").c_str(), 0600);
  ASSERT_TRUE(write_file_atomic(folder / "a", "new").ok());
  struct stat info {};
  ASSERT_EQ(::stat((folder / "a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
}

TEST(WriteFileAtomic, WritesThroughASymbolicLink) {
  const TempFolder folder;
  spill(folder / "real", "old");
  fs::create_symlink(folder / "real", folder / "link");
  ASSERT_TRUE(write_file_atomic(folder / "link", "new").ok());
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(slurp(folder / "real"), "new");
}

TEST(WriteFileAtomic, KeepsTheOldContentWhenTheDiskIsFull) {
  const TempFolder folder;
  ASSERT_TRUE(write_file_atomic(folder / "a", "old").ok());
  Result<void> written;
  {
    const FileSizeLimit limit(100);
    written = write_file_atomic(folder / "a", std::string(1000, 'x'));
  }
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, EFBIG);
  EXPECT_EQ(slurp(folder / "a"), "old");
  EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(WriteFileAtomic, WritesDevicesInPlaceAndReportsAFullOne) {
  EXPECT_TRUE(write_file_atomic("/dev/null", "x").ok());
  const auto full = write_file_atomic("/dev/full", "x");
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().code, ENOSPC);
  EXPECT_NE(full.error().message().find("/dev/full"), std::string::npos);
}

TEST(WriteFileAtomic, FailsInAFolderThatDoesNotExist) {
  const TempFolder folder;
  EXPECT_EQ(write_file_atomic(folder / "no/a", "x").error().code, ENOENT);
  EXPECT_EQ(write_file_atomic(folder.path(), "x").error().code, EISDIR);
}

TEST(MakeParentFolders, MakesAllOfThemAndAcceptsThoseThatExist) {
  const TempFolder folder;
  ASSERT_TRUE(make_parent_folders(folder / "a/b/c.json").ok());
  EXPECT_TRUE(fs::is_directory(folder / "a/b"));
  EXPECT_TRUE(make_parent_folders(folder / "a/b/c.json").ok());
  EXPECT_TRUE(make_parent_folders("name_only.json").ok());
}

TEST(MakeParentFolders, RefusesAFileInTheWay) {
  const TempFolder folder;
  spill(folder / "a", "a file");
  EXPECT_FALSE(make_parent_folders(folder / "a/b.json").ok());
  EXPECT_FALSE(make_parent_folders(folder / "a/b/c.json").ok());
  EXPECT_EQ(slurp(folder / "a"), "a file");
}

TEST(CheckWritable, LeavesNoNewFileAndNoOldOneChanged) {
  const TempFolder folder;
  EXPECT_TRUE(check_writable(folder / "new").ok());
  EXPECT_EQ(files_in(folder.path()), 0u);
  spill(folder / "old", "content");
  EXPECT_TRUE(check_writable(folder / "old").ok());
  EXPECT_EQ(slurp(folder / "old"), "content");
}

TEST(CheckWritable, FindsFoldersAndMissingFolders) {
  const TempFolder folder;
  EXPECT_EQ(check_writable(folder.path()).error().code, EISDIR);
  EXPECT_EQ(check_writable(folder / "no/file").error().code, ENOENT);
}

TEST(CheckWritable, FindsAFileWithoutWritePermission) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everything";
  const TempFolder folder;
  spill(folder / "a", "x");
  ::chmod((folder / "a").c_str(), 0400);
  EXPECT_EQ(check_writable(folder / "a").error().code, EACCES);
}

TEST(FreeName, CountsBeforeTheExtensionFromTwoOn) {
  const TempFolder folder;
  EXPECT_EQ(free_name(folder / "mm.out"), folder / "mm.out");
  spill(folder / "mm.out", "");
  EXPECT_EQ(free_name(folder / "mm.out"), folder / "mm.2.out");
  spill(folder / "mm.2.out", "");
  EXPECT_EQ(free_name(folder / "mm.out"), folder / "mm.3.out");
}

TEST(FreeName, WorksWithoutExtensionAndTakesADanglingLinkAsTaken) {
  const TempFolder folder;
  fs::create_symlink(folder / "nowhere", folder / "log");
  EXPECT_EQ(free_name(folder / "log"), folder / "log.2");
}

}  // namespace
}  // namespace gemmpeak
