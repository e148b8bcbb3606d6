// A save's folder: complete or absent, and steps that run again after a worker has failed.

#include <cerrno>
#include <chrono>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/base/random.hpp"
#include "host/mapreduce/tasks/file_sink.hpp"
#include "tests/integration/process.hpp"
#include "tests/test.hpp"

namespace {

namespace fs = std::filesystem;

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

Status put_text(FileSink& sink, std::string_view text) {
  RowValue row{.tag = static_cast<uint32_t>(RowTag::text), .bytes = text.data(), .size = text.size()};
  return sink.put(row, nullptr);
}

SavedPart write_text_part(const SaveFolder& save, uint32_t part, std::string_view text) {
  auto sink = required(FileSink::open(save, part, {}));
  REQUIRE(put_text(**sink, text));
  REQUIRE((*sink)->finish());
  CHECK((*sink)->saved().bytes == text.size() + 1);
  return (*sink)->saved();
}

// ---- writers in their own processes, which check nothing themselves ----

constexpr uint32_t kParts = 4;

/// Replaces the folder by a folder with `text` in all parts.
Status replace(const fs::path& target, const std::string& text) {
  const auto save = begin_save(target, true, text);
  if (!save) return save.error();
  std::vector<SavedPart> parts;
  for (uint32_t i = 0; i < kParts; ++i) {
    auto sink = FileSink::open(*save, i, {});
    if (!sink) return sink.error();
    AH_TRY(put_text(**sink, text));
    AH_TRY((*sink)->finish());
    parts.push_back((*sink)->saved());
  }
  const auto done = commit_save(*save, parts);
  return done ? Status() : Status(done.error());
}

/// The common content of all parts of the folder.
std::string content_of(const fs::path& target) {
  const auto mark = required(read_mark(target));
  CHECK(mark->figures.files == kParts);
  const std::string text = read_text(target / "part-00000");
  for (uint32_t i = 1; i < kParts; ++i) CHECK(read_text(target / ("part-0000" + std::to_string(i))) == text);
  CHECK(text == mark->id + "\n");
  return mark->id;
}

/// Runs `body` in a child process, which exits with its result. Returns the child.
template <typename Body>
pid_t in_process(Body body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  return child;
}

int status_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

/// Makes renameat2 fail in this process, as on a file system that cannot exchange names.
bool forbid_exchange() {
  std::array<sock_filter, 4> code = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{code.size(), code.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace

TEST_CASE("a save exists when all its parts exist, however often its steps run") {
  const TempDir dir;
  const auto save = required(begin_save(dir / "deep/out", false, "one"));
  const SavedPart first = write_text_part(*save, 0, "first");
  write_text_part(*save, 1, "lost");  // its worker is suspected; another attempt counts
  const SavedPart second = write_text_part(*save, 1, "second");
  write_text_part(*save, 1, "late");
  {
    const auto given_up = required(FileSink::open(*save, 0, {}));
    REQUIRE(put_text(**given_up, "half"));
  }
  CHECK_FALSE(fs::exists(dir / "deep/out"));
  CHECK_FALSE(is_committed(*save));
  CHECK_THAT(failure_of(commit_save(*save, {first, {".part-00001-1", 1, 7}})).message,
             Catch::Contains("part-00001-1: 7 bytes were written and No such file"));
  for (int round = 0; round < 2; ++round) {
    const auto done = required(commit_save(*save, {first, second}));
    CHECK(done->files == 2);
    CHECK(done->rows == 2);
    CHECK(done->bytes == 13);
  }
  // The process with the tasks' reports has failed: the tasks run again, and so does the commit.
  const auto again = required(commit_save(*save, {first, write_text_part(*save, 1, "second")}));
  CHECK(again->bytes == 13);
  CHECK(read_text(dir / "deep/out/part-00001") == "second\n");
  CHECK(names_in(dir / "deep") == std::set<std::string>{"out"});
  CHECK(names_in(dir / "deep/out") == std::set<std::string>{"_SUCCESS", "part-00000", "part-00001"});
}

TEST_CASE("a save that begins again is the same save, with the existing parts, also after the commit") {
  const TempDir dir;
  const auto save = required(begin_save(dir / "out", false, "one"));
  const SavedPart first = write_text_part(*save, 0, "first");
  const auto again = required(begin_save(dir / "out", false, "one"));
  CHECK(again->target == save->target);
  CHECK(again->staging == save->staging);
  CHECK(again->id == save->id);
  REQUIRE(commit_save(*save, {first, write_text_part(*save, 1, "second")}));
  const auto late = required(begin_save(dir / "out", false, "one"));
  CHECK(late->staging == save->staging);
  CHECK(names_in(dir.path()) == std::set<std::string>{"out"});
  CHECK_FALSE(begin_save(dir / "out", false, "two"));
}

TEST_CASE("the old folder exists until the new folder replaces it") {
  const TempDir dir;
  const auto first = required(begin_save(dir / "out", false, "one"));
  REQUIRE(commit_save(*first, {write_text_part(*first, 0, "old"), write_text_part(*first, 1, "old")}));
  CHECK_THAT(begin_save(dir / "out", false, "two").error().message, Catch::Contains("out: exists; overwrite = true"));
  const auto second = required(begin_save((dir / "out").string() + "/", true, "two"));
  const SavedPart part = write_text_part(*second, 0, "new");
  CHECK(read_text(dir / "out/part-00000") == "old\n");
  REQUIRE(commit_save(*second, {part}));
  CHECK(read_text(dir / "out/part-00000") == "new\n");
  CHECK(names_in(dir / "out") == std::set<std::string>{"_SUCCESS", "part-00000"});
  const auto third = required(begin_save(dir / "out", true, "three"));
  abandon_save(*third);
  CHECK(names_in(dir.path()) == std::set<std::string>{"out"});
}

TEST_CASE("a part without its save's folder reports that hosts must share the folder") {
  const TempDir dir;
  const auto save = required(begin_save(dir / "out", false, "one"));
  abandon_save(*save);
  CHECK_THAT(failure_of(FileSink::open(*save, 0, {})).message,
             Catch::Contains("all hosts have to see the same folder"));
  for (const char* name : {"", "/", "..", "."}) CHECK(begin_save(name, true, "one").error().code == Code::bad_argument);
}

TEST_CASE("a kill of a replacing save at any time leaves the old folder or the new folder") {
  const TempDir dir;
  const fs::path target = dir / "out";
  REQUIRE(replace(target, "0"));
  const char* given = std::getenv("ACTORHOST_TEST_SEED");
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  INFO("seed " << seed);
  Rng rng(seed);
  std::set<std::string> seen;
  for (int round = 0; round < 60; ++round) {
    std::array<int, 2> pipe{};
    REQUIRE(::pipe(pipe.data()) == 0);
    const pid_t child = in_process([&] {
      for (int i = 1;; ++i) {
        if (!replace(target, std::to_string(round) + "-" + std::to_string(i))) return 1;
        if (i == 1 && ::write(pipe[1], "x", 1) != 1) return 2;
      }
    });
    char begun = 0;
    REQUIRE(::read(pipe[0], &begun, 1) == 1);
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(rng.below(2000));
    while (std::chrono::steady_clock::now() < end) {
    }
    ::kill(child, SIGKILL);
    CHECK(WIFSIGNALED(status_of(child)));
    for (const int fd : pipe) ::close(fd);
    seen.insert(content_of(target));
  }
  CHECK(seen.size() > 30);
}

TEST_CASE("a file system that cannot replace a folder in one step is reported before any part is written") {
  const TempDir dir;
  const fs::path target = dir / "out";
  REQUIRE(replace(target, "old"));
  const auto attempt = [&](auto then) {
    return status_of(in_process([&] {
      if (!forbid_exchange()) return 9;
      const auto save = begin_save(target, true, "new");
      return save ? 1 : then(save.error().message);
    }));
  };
  CHECK(attempt([&](const std::string& message) {
          return message.find("out: is not replaced, since this file system cannot") != std::string::npos ? 0 : 2;
        }) == 0);
  CHECK(content_of(target) == "old");
  CHECK(names_in(dir.path()) == std::set<std::string>{"out"});
}

// A node is suspected between any two steps of its commit, and resumes after the others have continued.
TEST_CASE("a node suspected during its commit does not damage the others' save") {
  const TempDir dir;
  const auto save = required(begin_save(dir / "out", true, "one"));
  const SavedPart part = write_text_part(*save, 0, "first");
  const fs::path late = save->staging.string() + "-1";  // as the suspected node left it: complete, before the rename
  fs::create_directory(late);
  fs::create_hard_link(save->staging / part.name, late / "part-00000");
  REQUIRE(commit_save(*save, {part}));
  CHECK_FALSE(fs::exists(late));
  REQUIRE(replace(dir / "out", "two"));
  CHECK_FALSE(commit_save(*save, {part}));
  CHECK(content_of(dir / "out") == "two");
  CHECK(names_in(dir.path()) == std::set<std::string>{"out"});
}
