#include "host/mapreduce/tasks/block_store.hpp"

#include "tests/host/data/scratch.hpp"
#include "tests/host/mapreduce/rows.hpp"
#include "tests/test.hpp"

namespace {

struct StoreWorld {
  explicit StoreWorld(size_t limit) : budget(limit) {}
  Scratch scratch;
  MemoryBudget budget;
  SpillFile spill{scratch.path().string()};
  BlockStore store{budget, spill};
};

std::vector<PlainRow> some_rows(Rng& rng, uint64_t most) {
  std::vector<PlainRow> rows(rng.below(most + 1));
  for (auto& row : rows) row = {Plain::of(random_text(rng, 30)), Plain::of(static_cast<double>(rng.below(100)))};
  return rows;
}

std::vector<PlainRow> all_rows(const BlockStore& store, OutputId id) {
  std::vector<PlainRow> rows;
  const auto count = store.blocks(id);
  REQUIRE(count.has_value());
  for (size_t i = 0; i < *count; ++i) {
    const auto block = required(store.block(id, i));
    const auto more = rows_of(*block);
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

}  // namespace

TEST_CASE("an output without rows exists with no blocks, an output never put does not exist") {
  StoreWorld w(1 << 20);
  CHECK_FALSE(w.store.blocks({1, 0, 0}).has_value());
  REQUIRE(w.store.put({1, 0, 2}, {}).ok());
  CHECK(w.store.blocks({1, 0, 2}) == 0);
  CHECK_FALSE(w.store.blocks({1, 0, 1}).has_value());
  CHECK_FALSE(w.store.blocks({1, 1, 2}).has_value());
  REQUIRE_FALSE(w.store.block({1, 0, 2}, 0).ok());
  CHECK(contains(w.store.block({1, 0, 2}, 0).error().message, "no block 0 of bucket 2 of task 0 of stage 1"));
  REQUIRE(w.store.put({1, 0, 2}, {RowBlock{}, block_of({{Plain::of(1.0), {}}})}).ok());
  CHECK(w.store.blocks({1, 0, 2}) == 1);
}

TEST_CASE("an attempt is invisible until it is committed, and leaves nothing without a commit") {
  StoreWorld w(1 << 20);
  Rng rng(1);
  {
    auto attempt = w.store.begin(3, 7, 2);
    REQUIRE(attempt.append(1, text_block(rng, 1000, true)).ok());
    CHECK_FALSE(w.store.blocks({3, 7, 1}).has_value());
    CHECK(w.budget.used() > 1000);
  }
  CHECK(w.budget.used() == 0);
  CHECK(w.store.figures().blocks == 0);
  for (const size_t bytes : {1000U, 500U}) {
    auto attempt = w.store.begin(3, 7, 2);
    REQUIRE(attempt.append(1, text_block(rng, bytes, true)).ok());
    CHECK(attempt.figures().rows == 1);
    attempt.commit();
  }
  CHECK(w.store.blocks({3, 7, 0}) == 0);
  CHECK(w.store.blocks({3, 7, 1}) == 1);
  CHECK(w.store.output({3, 7, 1})->bytes == w.budget.used());
  CHECK(w.budget.used() < 600);
  CHECK(w.store.figures().outputs == 2);
}

TEST_CASE("beyond the budget blocks go to disk, large ones first, and read as before") {
  StoreWorld w(200000);
  Rng rng(2);
  auto attempt = w.store.begin(1, 0, 2);
  std::vector<RowBlock> large;
  for (int i = 0; i < 10; ++i) {
    REQUIRE(attempt.append(0, text_block(rng, 100, false)).ok());
    large.push_back(text_block(rng, 50000, true));
    REQUIRE(attempt.append(1, large.back()).ok());
    CHECK_FALSE(w.budget.exceeded());
  }
  attempt.commit();
  const auto before = w.store.figures();
  CHECK(before.spilled_bytes == 7 * large[0].bytes.size());
  CHECK(before.memory_bytes == w.budget.used());
  CHECK(before.rows == 20);
  for (size_t i = 0; i < large.size(); ++i) {
    CHECK(w.store.block({1, 0, 1}, i)->bytes.view() == large[i].bytes.view());
  }
  CHECK(w.store.figures().memory_bytes == before.memory_bytes);
  w.store.forget(1, 0);
  CHECK(w.budget.used() == 0);
  CHECK(w.store.figures().spilled_bytes == 0);
}

TEST_CASE("small blocks are spilled when no large blocks are left") {
  StoreWorld w(1000);
  Rng rng(3);
  RowBlocks blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(text_block(rng, 100, true));
  REQUIRE(w.store.put({1, 0, 0}, blocks).ok());
  CHECK(w.budget.used() <= 1000);
  for (size_t i = 0; i < blocks.size(); ++i) {
    CHECK(w.store.block({1, 0, 0}, i)->bytes.view() == blocks[i].bytes.view());
  }
}

TEST_CASE("a read-only disk is an error of the put, and the rows stay") {
  MemoryBudget budget(1000);
  SpillFile spill("/nowhere/at/all");
  BlockStore store(budget, spill);
  Rng rng(4);
  const auto block = text_block(rng, 5000, true);
  CHECK(failure_of(store.put({1, 0, 0}, {block})).code == Code::full);
  CHECK(store.block({1, 0, 0}, 0)->bytes.view() == block.bytes.view());
  store.clear();
  CHECK(budget.used() == 0);
}

TEST_CASE("blocks for disk take no memory, however much is free, and their room on disk is freed") {
  StoreWorld w(1 << 20);
  Rng rng(3);
  const auto rows = some_rows(rng, 500);
  {
    auto attempt = w.store.begin(1, 0, 1, BlockPlace::disk);
    for (auto& block : blocks_of(rows, 50)) REQUIRE(attempt.append(0, block).ok());
    CHECK(w.budget.used() == 0);
    CHECK(attempt.figures().rows == rows.size());
    attempt.commit();
  }
  CHECK(w.budget.used() == 0);
  CHECK(w.store.figures().memory_bytes == 0);
  CHECK(w.store.figures().spilled_bytes == w.store.output({1, 0, 0})->bytes);
  CHECK(all_rows(w.store, {1, 0, 0}) == rows);
  w.store.forget(1);
  CHECK(w.store.figures().spilled_bytes == 0);
  {
    auto given_up = w.store.begin(1, 0, 1, BlockPlace::disk);
    REQUIRE(given_up.append(0, block_of({{Plain::of(1.0), {}}})).ok());
  }
  CHECK(w.store.figures().spilled_bytes == 0);
}

TEST_CASE("random puts, attempts and forgets leave the rows of a map") {
  const uint64_t seed = GENERATE(1U, 2U, 3U, 4U);
  CAPTURE(seed);
  Rng rng(seed, 1);
  StoreWorld w(seed % 2 == 0 ? 1 << 20 : 3000);
  std::map<OutputId, std::vector<PlainRow>> model;
  for (int step = 0; step < 600; ++step) {
    const OutputId id{static_cast<StageId>(1 + rng.below(3)), static_cast<uint32_t>(rng.below(4)),
                      static_cast<uint32_t>(rng.below(3))};
    const uint64_t action = rng.below(20);
    if (action < 8) {
      model[id] = some_rows(rng, 40);
      REQUIRE(w.store.put(id, blocks_of(model[id], 1 + rng.below(10))).ok());
    } else if (action < 12) {
      auto attempt = w.store.begin(id.stage, id.task, 2, action % 2 == 0 ? BlockPlace::disk : BlockPlace::memory);
      std::vector<PlainRow> rows[2] = {some_rows(rng, 30), some_rows(rng, 30)};
      for (uint32_t bucket = 0; bucket < 2; ++bucket) {
        for (auto& block : blocks_of(rows[bucket], 7)) REQUIRE(attempt.append(bucket, block).ok());
      }
      if (action == 8) continue;
      attempt.commit();
      model.erase({id.stage, id.task, 2});
      for (uint32_t bucket = 0; bucket < 2; ++bucket) model[{id.stage, id.task, bucket}] = rows[bucket];
    } else if (action == 12) {
      w.store.forget(id.stage);
      std::erase_if(model, [&](const auto& entry) { return entry.first.stage == id.stage; });
    } else if (action == 13) {
      w.store.forget(id.stage, id.task);
      std::erase_if(model,
                    [&](const auto& entry) { return entry.first.stage == id.stage && entry.first.task == id.task; });
    } else {
      const auto expected = model.find(id);
      CHECK(w.store.blocks(id).has_value() == (expected != model.end()));
      if (expected != model.end()) CHECK(all_rows(w.store, id) == expected->second);
    }
    CHECK_FALSE(w.budget.exceeded());
  }
  uint64_t rows = 0;
  for (const auto& [id, expected] : model) {
    CHECK(all_rows(w.store, id) == expected);
    rows += expected.size();
  }
  const auto figures = w.store.figures();
  CHECK(figures.outputs == model.size());
  CHECK(figures.rows == rows);
  CHECK(figures.memory_bytes == w.budget.used());
  w.store.clear();
  CHECK(w.budget.used() == 0);
  CHECK(w.store.figures().blocks == 0);
}

TEST_CASE("threads put, read and forget at the same time while blocks are spilled") {
  StoreWorld w(20000);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (uint32_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      Rng rng(9, t);
      for (uint32_t i = 0; i < 200; ++i) {
        auto attempt = w.store.begin(1 + i % 2, t, 1);
        const auto block = text_block(rng, 3000, true);
        for (int n = 0; n < 4; ++n) wrong += attempt.append(0, block).ok() ? 0 : 1;
        attempt.commit();
        const auto read = w.store.block({1 + i % 2, (t + i) % 3, 0}, i % 4);
        if (!read) wrong += read.error().code == Code::bad_argument ? 0 : 1;
        if (i % 5 == 0) w.store.forget(1 + i % 2);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
  w.store.clear();
  CHECK(w.budget.used() == 0);
}
