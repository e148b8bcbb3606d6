#include "host/data/file/atomic_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/host/data/scratch.hpp"
#include "tests/test.hpp"

namespace fs = std::filesystem;

namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

Status replace(const fs::path& path, std::string_view text) {
  auto file = AtomicFile::begin(path);
  if (!file) return std::move(file).error();
  AH_TRY(file->write(bytes_of(text)));
  return file->commit();
}

size_t files_in(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

mode_t mode_of(const fs::path& path) {
  struct stat info {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  return info.st_mode & 07777;
}

/// As root gives the files to another user and continues with that user's rights, until the end of the scope.
struct NoRoot : private NonCopyable {
  explicit NoRoot(const std::vector<fs::path>& files) {
    if (::geteuid() != 0) return;
    constexpr uid_t kNobody = 65534;
    for (const fs::path& file : files) REQUIRE(::chown(file.c_str(), kNobody, gid_t(-1)) == 0);
    REQUIRE(::seteuid(kNobody) == 0);
    changed = true;
  }
  ~NoRoot() {
    if (changed && ::seteuid(0) != 0) std::abort();
  }
  bool changed = false;
};

}  // namespace

TEST_CASE("a file is replaced at commit, not before") {
  const Scratch scratch;
  const fs::path path = scratch.file("a", "old");
  {
    auto file = required(AtomicFile::begin(path));
    REQUIRE(file->write(bytes_of("new and longer")).ok());
    CHECK(slurp(path) == "old");
    REQUIRE(file->commit().ok());
  }
  CHECK(slurp(path) == "new and longer");
  CHECK(files_in(scratch.path()) == 1);
}

TEST_CASE("an abandoned file leaves the old file and no other files") {
  const Scratch scratch;
  const fs::path path = scratch.file("a", "old");
  {
    auto file = required(AtomicFile::begin(path));
    REQUIRE(file->write(bytes_of("new")).ok());
    const AtomicFile moved = *std::move(file);
  }
  CHECK(slurp(path) == "old");
  CHECK(files_in(scratch.path()) == 1);
}

TEST_CASE("a replaced file keeps its permissions, and a link stays a link") {
  const Scratch scratch;
  const fs::path path = scratch.file("a", "old");
  REQUIRE(::chmod(path.c_str(), 0640) == 0);
  fs::create_symlink("a", scratch / "link");
  REQUIRE(replace(scratch / "link", "new").ok());
  CHECK(fs::is_symlink(scratch / "link"));
  CHECK(slurp(path) == "new");
  CHECK(mode_of(path) == 0640);
}

TEST_CASE("a link to a missing file creates this file, and circular links are an error") {
  const Scratch scratch;
  fs::create_symlink("a", scratch / "link");
  fs::create_symlink("circle", scratch / "circle");
  REQUIRE(replace(scratch / "link", "new").ok());
  CHECK(slurp(scratch / "a") == "new");
  CHECK(fs::is_symlink(scratch / "link"));
  CHECK(!replace(scratch / "circle", "x").ok());
}

TEST_CASE("a file or folder without write permission is refused, and the file stays") {
  const Scratch scratch;
  const fs::path path = scratch.file("folder/a", "old");
  REQUIRE(!replace(scratch / "folder", "x").ok());
  REQUIRE(!replace(scratch / "none/a", "x").ok());
  const NoRoot no_root({scratch.path(), scratch / "folder", path});  // root may write everywhere
  REQUIRE(::chmod(path.c_str(), 0444) == 0);
  CHECK(replace(path, "x").error().message == path.string() + ": cannot open for writing: Permission denied");
  REQUIRE(::chmod(path.c_str(), 0644) == 0);
  REQUIRE(::chmod((scratch / "folder").c_str(), 0555) == 0);
  CHECK(!replace(path, "x").ok());
  CHECK(slurp(path) == "old");
  REQUIRE(::chmod((scratch / "folder").c_str(), 0755) == 0);
}

TEST_CASE("concurrent saves to one file leave the complete content of one of them") {
  const Scratch scratch;
  const fs::path path = scratch / "a";
  std::vector<std::thread> threads;
  for (char c = 'a'; c < 'e'; ++c) {
    threads.emplace_back([&path, c] {
      for (int i = 0; i < 20; ++i) {
        if (!replace(path, std::string(10000, c)).ok()) return;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string whole = slurp(path);
  REQUIRE(whole.size() == 10000);
  CHECK(whole == std::string(10000, whole[0]));
  CHECK(files_in(scratch.path()) == 1);
}
