#include "host/mapreduce/rows/spill_file.hpp"

#include <sys/resource.h>

#include "tests/host/data/scratch.hpp"
#include "tests/host/mapreduce/rows.hpp"
#include "tests/test.hpp"

TEST_CASE("spilled blocks are read back unchanged, compressible or not, in any order") {
  const Scratch scratch;
  SpillFile file(scratch.path().string());
  Rng rng(1);
  std::vector<RowBlock> blocks;
  std::vector<SpillRef> refs;
  blocks.push_back({Blob(), 0});
  for (size_t i = 0; i < 60; ++i) blocks.push_back(text_block(rng, rng.below(i < 3 ? 3 : 40000), i % 2 == 0));
  blocks.push_back(text_block(rng, size_t{3} << 20, true));
  for (const auto& block : blocks) {
    const auto ref = required(file.append(block));
    CHECK(ref->raw_bytes == block.bytes.size());
    CHECK(ref->rows == block.rows);
    CHECK(ref->stored_bytes <= ref->raw_bytes);
    refs.push_back(*ref);
  }
  CHECK(refs.back().stored_bytes < refs.back().raw_bytes / 2);
  for (size_t i = blocks.size(); i-- > 0;) {
    const auto read = required(file.read(refs[i]));
    CHECK(read->rows == blocks[i].rows);
    CHECK(read->bytes.view() == blocks[i].bytes.view());
  }
  CHECK(std::filesystem::is_empty(scratch.path()));
}

TEST_CASE("a spilled block with lost bytes is an error") {
  const Scratch scratch;
  SpillFile file(scratch.path().string());
  Rng rng(2);
  for (const bool compressible : {true, false}) {
    auto ref = *file.append(text_block(rng, 100000, compressible));
    const auto retained = *file.append(text_block(rng, 100000, compressible));
    auto wrong = ref;
    wrong.checksum ^= 1;
    REQUIRE_FALSE(file.read(wrong).ok());
    CHECK(file.read(wrong).error().code == Code::bad_data);
    CHECK(file.read(ref).ok());
    file.drop(ref);
    CHECK_FALSE(file.read(ref).ok());
    CHECK(file.read(retained).ok());
  }
  SpillRef beyond{uint64_t{1} << 30, 10, 10, 1, 0};
  CHECK(file.read(beyond).error().code == Code::io);
}

TEST_CASE("a folder that cannot hold spilled rows is an error with its name and advice") {
  SpillFile file("/nowhere/at/all");
  Rng rng(3);
  const auto ref = file.append(text_block(rng, 100, true));
  CHECK(failure_of(ref).code == Code::full);
  CHECK(contains(ref.error().message, "/nowhere/at/all"));
  CHECK(contains(ref.error().message, "set TMPDIR"));
}

TEST_CASE("a spill file beyond the size limit is an error that asks for room") {
  const Scratch scratch;
  SpillFile file(scratch.path().string());
  Rng rng(4);
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 50000;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const auto fits = file.append(text_block(rng, 20000, false));
  const auto too_much = file.append(text_block(rng, 80000, false));
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, handler);
  CHECK(fits.ok());
  REQUIRE_FALSE(too_much.ok());
  CHECK(contains(too_much.error().message, scratch.path().string()));
  CHECK(contains(too_much.error().message, "free some room"));
}

TEST_CASE("threads spill and read back at the same time") {
  const Scratch scratch;
  SpillFile file(scratch.path().string());
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Rng rng(5, t);
      for (int i = 0; i < 100; ++i) {
        const auto block = text_block(rng, rng.below(20000), i % 2 == 0);
        const auto ref = file.append(block);
        const auto read = ref ? file.read(*ref) : Result<RowBlock>(ref.error());
        if (!read || read->bytes.view() != block.bytes.view()) ++wrong;
        if (ref) file.drop(*ref);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
}
