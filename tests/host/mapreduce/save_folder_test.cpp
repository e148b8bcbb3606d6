// A save's folder: complete or not there, and steps that run again after a worker was lost.

#include <set>

#include <catch2/catch.hpp>

#include "host/mapreduce/file_sink.hpp"
#include "tests/integration/process.hpp"

using namespace actorhost;

namespace {

namespace fs = std::filesystem;

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

Status put_text(FileSink& sink, std::string_view text) {
  RowValue row;
  row.tag = static_cast<uint32_t>(RowTag::text);
  row.bytes = text.data();
  row.size = text.size();
  return sink.put(row, nullptr);
}

void write_part(const SaveFolder& save, uint32_t part, std::string_view text) {
  auto sink = FileSink::open(save, part, {});
  REQUIRE(sink);
  REQUIRE(put_text(**sink, text));
  REQUIRE((*sink)->finish());
  CHECK((*sink)->bytes() == text.size() + 1);
}

}  // namespace

TEST_CASE("a save is there when all its parts are, however often its steps run") {
  const TempDir dir;
  const auto save = begin_save(dir / "deep/out", false, "one");
  REQUIRE(save);
  write_part(*save, 0, "first");
  write_part(*save, 1, "second");
  write_part(*save, 1, "second");  // its worker was lost after it
  {
    const auto given_up = FileSink::open(*save, 0, {});
    REQUIRE(given_up);
    REQUIRE(put_text(**given_up, "half"));
  }
  CHECK_FALSE(fs::exists(dir / "deep/out"));
  CHECK_FALSE(is_committed(*save));
  const auto early = commit_save(*save, {3, 3, 20});
  REQUIRE_FALSE(early);
  CHECK_THAT(early.error().message, Catch::Contains("3 parts of 20 bytes were written and 2 of 13 are there"));
  for (int round = 0; round < 2; ++round) {
    const auto done = commit_save(*save, {2, 2, 13});
    REQUIRE(done);
    CHECK(done->files == 2);
    CHECK(done->rows == 2);
    CHECK(done->bytes == 13);
  }
  // Whoever held what the tasks said was lost: they run again, and the commit with them.
  write_part(*save, 1, "second");
  const auto again = commit_save(*save, {2, 2, 13});
  REQUIRE(again);
  CHECK(again->bytes == 13);
  CHECK(names_in(dir / "deep") == std::set<std::string>{"out"});
  CHECK(names_in(dir / "deep/out") == std::set<std::string>{"_SUCCESS", "part-00000", "part-00001"});
}

TEST_CASE("a save that begins again is the same, with the parts that are there, and when all is done") {
  const TempDir dir;
  const auto save = begin_save(dir / "out", false, "one");
  REQUIRE(save);
  write_part(*save, 0, "first");
  const auto again = begin_save(dir / "out", false, "one");
  REQUIRE(again);
  CHECK(again->target == save->target);
  CHECK(again->staging == save->staging);
  CHECK(again->id == save->id);
  write_part(*save, 1, "second");
  REQUIRE(commit_save(*save, {2, 2, 13}));
  const auto late = begin_save(dir / "out", false, "one");
  REQUIRE(late);
  CHECK(late->staging == save->staging);
  CHECK(names_in(dir.path()) == std::set<std::string>{"out"});
  CHECK_FALSE(begin_save(dir / "out", false, "two"));
}

TEST_CASE("an older folder is there until the new one takes its place") {
  const TempDir dir;
  const auto first = begin_save(dir / "out", false, "one");
  REQUIRE(first);
  write_part(*first, 0, "old");
  write_part(*first, 1, "old");
  REQUIRE(commit_save(*first, {2, 2, 8}));
  CHECK_THAT(begin_save(dir / "out", false, "two").error().message, Catch::Contains("out: exists; overwrite = true"));
  const auto second = begin_save((dir / "out").string() + "/", true, "two");
  REQUIRE(second);
  write_part(*second, 0, "new");
  CHECK(read_text(dir / "out/part-00000") == "old\n");
  REQUIRE(commit_save(*second, {1, 1, 4}));
  CHECK(read_text(dir / "out/part-00000") == "new\n");
  CHECK(names_in(dir / "out") == std::set<std::string>{"_SUCCESS", "part-00000"});
  const auto third = begin_save(dir / "out", true, "three");
  REQUIRE(third);
  abandon_save(*third);
  CHECK(names_in(dir.path()) == std::set<std::string>{"out"});
}

TEST_CASE("a part whose folder is not there says that hosts have to share it") {
  const TempDir dir;
  const auto save = begin_save(dir / "out", false, "one");
  REQUIRE(save);
  abandon_save(*save);
  const auto sink = FileSink::open(*save, 0, {});
  REQUIRE_FALSE(sink);
  CHECK_THAT(sink.error().message, Catch::Contains("all hosts have to see the same folder"));
  for (const char* name : {"", "/", "..", "."}) CHECK(begin_save(name, true, "one").error().code == Code::bad_argument);
}
