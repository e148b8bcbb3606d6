#include "host/data/file/atomic_dir.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include "tests/host/data/scratch.hpp"
#include "tests/test.hpp"

namespace fs = std::filesystem;

namespace {

void put(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

void write_complete(const fs::path& parent, uint64_t number, const std::string& text) {
  auto dir = required(AtomicDir::begin(parent, "step", number));
  put(dir->path() / "model.npz", text);
  put(dir->path() / "state.json", "{}");
  REQUIRE(dir->commit().ok());
}

std::vector<uint64_t> numbers(const fs::path& parent) {
  auto found = required(list_complete(parent, "step"));
  std::vector<uint64_t> out;
  for (const NumberedDir& dir : *found) out.push_back(dir.number);
  return out;
}

size_t entries(const fs::path& dir) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(dir), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("committed directories are listed newest first by number and verify") {
  const Scratch scratch;
  const fs::path parent = scratch / "deep/er";
  for (uint64_t n : {5U, 100U, 20U}) write_complete(parent, n, "weights " + std::to_string(n));
  CHECK(numbers(parent) == std::vector<uint64_t>{100, 20, 5});
  CHECK(slurp(parent / "step-000000000100" / "model.npz") == "weights 100");
  CHECK(verify_dir(parent / "step-000000000100").ok());
  CHECK(entries(parent) == 3);
}

TEST_CASE("a directory is invisible before commit, and an abandoned writer cleans up") {
  const Scratch scratch;
  {
    auto dir = required(AtomicDir::begin(scratch.path(), "step", 1));
    put(dir->path() / "model.npz", "half");
    CHECK(numbers(scratch.path()).empty());
    AtomicDir moved = *std::move(dir);
    CHECK(fs::exists(moved.path()));
  }
  CHECK(entries(scratch.path()) == 0);
}

TEST_CASE("a temporary directory is removed only after its writer has ended") {
  const Scratch scratch;
  auto alive = required(AtomicDir::begin(scratch.path(), "step", 2));
  put(alive->path() / "model.npz", "being written");
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {  // dies in the middle of writing
    auto dir = AtomicDir::begin(scratch.path(), "step", 3);
    if (dir.ok()) put(dir->path() / "model.npz", "half");
    ::raise(SIGKILL);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  CHECK(entries(scratch.path()) == 2);
  auto removed = required(clean_leftovers(scratch.path(), "step"));
  CHECK(*removed == 1);
  REQUIRE(alive->commit().ok());
  CHECK(numbers(scratch.path()) == std::vector<uint64_t>{2});
  CHECK(entries(scratch.path()) == 1);
}

TEST_CASE("a directory with a missing part is incomplete, and the older directory is found") {
  const Scratch scratch;
  for (uint64_t n : {1U, 2U, 3U, 4U, 5U}) write_complete(scratch.path(), n, "0123456789");
  fs::resize_file(scratch / "step-000000000005" / "model.npz", 4);
  fs::remove(scratch / "step-000000000004" / "state.json");
  fs::remove(scratch / "step-000000000003" / "manifest.json");
  scratch.file("step-000000000002/manifest.json", "{\"format\": 1, \"files\": [{\"name\": \"../x\"");
  scratch.file("step-notanumber", "x");
  scratch.file("step-000000000099", "a file");
  fs::create_directory(scratch / "other-000000000098");
  CHECK(numbers(scratch.path()) == std::vector<uint64_t>{1});
}

TEST_CASE("verify finds a changed byte in a file of the right size") {
  const Scratch scratch;
  write_complete(scratch.path(), 1, "0123456789");
  scratch.file("step-000000000001/model.npz", "0123456780");
  CHECK(numbers(scratch.path()) == std::vector<uint64_t>{1});
  auto verified = verify_dir(scratch / "step-000000000001");
  REQUIRE(!verified.ok());
  CHECK(verified.error().code == Code::bad_data);
  CHECK(contains(verified.error().message, "model.npz: hash"));
}

TEST_CASE("committing a number again replaces the directory") {
  const Scratch scratch;
  write_complete(scratch.path(), 7, "old");
  write_complete(scratch.path(), 7, "new");
  CHECK(numbers(scratch.path()) == std::vector<uint64_t>{7});
  CHECK(slurp(scratch / "step-000000000007" / "model.npz") == "new");
  CHECK(entries(scratch.path()) == 1);
}

TEST_CASE("prune keeps the newest complete directories") {
  const Scratch scratch;
  for (uint64_t n : {1U, 2U, 3U, 4U}) write_complete(scratch.path(), n, "x");
  fs::remove(scratch / "step-000000000004" / "manifest.json");
  auto removed = required(prune_complete(scratch.path(), "step", 2));
  CHECK(*removed == 1);
  CHECK(numbers(scratch.path()) == std::vector<uint64_t>{3, 2});
}

TEST_CASE("errors name the path") {
  const Scratch scratch;
  const fs::path file = scratch.file("plain", "x");
  auto below_file = AtomicDir::begin(file, "step", 1);
  REQUIRE(!below_file.ok());
  CHECK(contains(below_file.error().message, file.string()));
  for (const std::string& prefix : {std::string(), std::string("a/b"), std::string("..")}) {
    CHECK(AtomicDir::begin(scratch.path(), prefix, 1).error().code == Code::bad_argument);
  }
  auto nothing = required(list_complete(scratch / "missing", "step"));
  CHECK(nothing->empty());
  auto nested = required(AtomicDir::begin(scratch.path(), "step", 1));
  fs::create_directory(nested->path() / "sub");
  CHECK(contains(nested->commit().error().message, "is a directory"));
}
