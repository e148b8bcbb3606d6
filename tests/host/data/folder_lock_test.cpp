#include "host/data/file/folder_lock.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include "tests/integration/process.hpp"
#include "tests/test.hpp"

TEST_CASE("a second lock of a name is refused with its holder until the first lock ends") {
  const TempDir dir;
  const auto folder = dir / "deep/er";
  std::optional<FolderLock> first = *FolderLock::take(folder, "state");
  CHECK(first->locks());
  const auto second = FolderLock::take(folder, "state");
  CHECK(failure_of(second).code == Code::refused);
  CHECK_THAT(failure_of(second).message, Catch::Contains("process " + std::to_string(getpid()) + " on ") &&
                                             Catch::Contains("'" + folder.string() + "'"));
  CHECK(FolderLock::take(folder, "other").ok());
  first.reset();
  CHECK(std::filesystem::is_empty(folder));
  CHECK(FolderLock::take(folder, "state").ok());
}

TEST_CASE("a lock ends with its process, even if the process is killed") {
  const TempDir dir;
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto held = FolderLock::take(dir.path(), "state");
    (void)!write(ready[1], "x", 1);
    pause();
    _exit(held.ok() ? 0 : 1);
  }
  char byte = 0;
  REQUIRE(read(ready[0], &byte, 1) == 1);
  const auto refused = FolderLock::take(dir.path(), "state");
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  CHECK_THAT(failure_of(refused).message, Catch::Contains("process " + std::to_string(child) + " on "));
  CHECK(exists(dir / ".state.lock"));
  CHECK(FolderLock::take(dir.path(), "state").ok());
  close(ready[0]);
  close(ready[1]);
}

TEST_CASE("a run takes each of its locks once, by any path") {
  const TempDir dir;
  FolderLocks ours, others;
  CHECK(ours.take(dir / "here", "state").ok());
  CHECK(ours.take(dir / "there/../here", "state").ok());
  CHECK_FALSE(others.take(dir / "here/.", "state").ok());
  for (int i = 0; i < 2; ++i) CHECK(ours.take(std::filesystem::relative(dir / "new"), "state").ok());
}

TEST_CASE("a lock does not follow a link, and the error gives the reason") {
  const TempDir dir;
  std::filesystem::create_symlink(dir / "elsewhere", dir / ".state.lock");
  CHECK_THAT(failure_of(FolderLock::take(dir.path(), "state")).message, Catch::Contains(".state.lock"));
  CHECK_FALSE(exists(dir / "elsewhere"));
  dir.write("file", "");
  CHECK_FALSE(FolderLock::take(dir / "file", "state").ok());
}
