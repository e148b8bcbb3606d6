#include "host/mapreduce/tables/bucket_writer.hpp"

#include "tests/host/data/scratch.hpp"
#include "tests/host/mapreduce/rows.hpp"
#include "tests/test.hpp"

namespace {

struct FilledBuckets {
  explicit FilledBuckets(uint32_t count) : blocks(count) {}
  std::vector<RowBlocks> blocks;
  BlockSink sink() {
    return [this](uint32_t bucket, RowBlock block) {
      blocks[bucket].push_back(std::move(block));
      return Status();
    };
  }
};

Plain random_bucket_key(Rng& rng) {
  switch (rng.below(4)) {
    case 0: return Plain::of(rng.below(2) == 0);
    case 1: return Plain::of(rng.uniform() - 0.5);
    default: return Plain::of(random_text(rng, rng.below(20) == 0 ? 500 : 30));
  }
}

std::vector<PlainRow> random_bucket_rows(Rng& rng, size_t most) {
  std::vector<PlainRow> rows(rng.below(most + 1));
  for (auto& row : rows) {
    row.first = random_bucket_key(rng);
    if (rng.below(3) != 0) row.second = rng.below(2) == 0 ? Plain{} : random_bucket_key(rng);
  }
  return rows;
}

}  // namespace

TEST_CASE("each row is in the bucket of its hash, in order of arrival") {
  const uint32_t buckets = GENERATE(1U, 2U, 7U, 300U);
  const KeyOf key = GENERATE(KeyOf::first, KeyOf::row);
  CAPTURE(buckets, static_cast<int>(key));
  Rng rng(buckets, static_cast<uint64_t>(key));
  FilledBuckets out(buckets);
  MemoryBudget budget(size_t{1} << 30);
  std::vector<std::vector<PlainRow>> model(buckets);
  BucketWriter writer({buckets, key, size_t{4} << 20, &budget}, out.sink());
  uint64_t count = 0;
  for (uint64_t n = 0; n < 60; ++n) {
    const auto rows = random_bucket_rows(rng, 2000);
    REQUIRE(put_rows(writer, rows, n % 3).ok());
    for (const auto& row : rows) {
      std::string bytes;
      row.write(bytes);
      model[bucket_of(key == KeyOf::first ? key_hash(row.first.view()) : row_hash(bytes), buckets)].push_back(row);
    }
    count += rows.size();
  }
  CHECK(budget.used() <= size_t{8} << 20);
  REQUIRE(writer.finish().ok());
  CHECK(budget.used() == 0);
  CHECK(writer.rows() == count);
  size_t largest = 0;
  for (uint32_t bucket = 0; bucket < buckets; ++bucket) {
    CHECK(rows_of(out.blocks[bucket]) == model[bucket]);
    for (const auto& block : out.blocks[bucket]) largest = std::max(largest, block.bytes.size());
  }
  CHECK(largest <= kBlockBytes);
}

TEST_CASE("hashes spread keys evenly over buckets") {
  constexpr uint32_t kBuckets = 16;
  FilledBuckets out(kBuckets);
  BucketWriter writer({kBuckets}, out.sink());
  for (int n = 0; n < 16000; ++n) REQUIRE(writer.put(Plain::of(n * 1.0).view(), nullptr).ok());
  for (int n = 0; n < 16000; ++n) REQUIRE(writer.put(Plain::of("key " + std::to_string(n)).view(), nullptr).ok());
  REQUIRE(writer.finish().ok());
  for (const auto& blocks : out.blocks) {
    const double rows = static_cast<double>(rows_of(blocks).size());
    // Six standard deviations.
    CHECK(std::abs(rows - 2000) < 6 * std::sqrt(2000));
  }
}

TEST_CASE("the partition of a key never changes") {
  // Fixed values: nodes of different builds must agree, and cached outputs must fit new outputs.
  CHECK(key_hash(Plain::of("word").view()) == text_hash("word"));
  CHECK(text_hash("word") == XXH3_64bits("word", 4));
  const double one = 1;
  CHECK(key_hash(Plain::of(1.0).view()) == XXH3_64bits_withSeed(&one, 8, 3));
  CHECK(bucket_of(0, 5) == 0);
  CHECK(bucket_of(UINT64_MAX, 5) == 4);
  CHECK(bucket_of(uint64_t{1} << 63, 2) == 1);
  CHECK(text_hash("word") == 0xe3ce369cf66c5c55);
}

TEST_CASE("one bucket passes blocks on unchanged") {
  FilledBuckets out(1);
  BucketWriter writer({1}, out.sink());
  const auto block = block_of({{Plain{}, {}}, {Plain{RowTag::value, 0, "table"}, {}}});
  REQUIRE(writer.put(Plain::of(1.0).view(), nullptr).ok());
  REQUIRE(writer.put(block).ok());
  REQUIRE(writer.finish().ok());
  REQUIRE(out.blocks[0].size() == 2);
  CHECK(out.blocks[0][1].bytes.data() == block.bytes.data());
}

TEST_CASE("a row larger than a block is a block") {
  FilledBuckets out(2);
  BucketWriter writer({2}, out.sink());
  const std::string text(3 * kBlockBytes, 'x');
  for (int i = 0; i < 3; ++i) {
    REQUIRE(writer.put(Plain::of(text).view(), nullptr).ok());
    REQUIRE(writer.put(block_of({{Plain::of(text), Plain::of(1.0)}})).ok());
  }
  REQUIRE(writer.finish().ok());
  CHECK(rows_of(out.blocks[bucket_of(text_hash(text), 2)]).size() == 6);
}

TEST_CASE("thousands of buckets of few rows take little memory") {
  constexpr uint32_t kBuckets = 5000;
  FilledBuckets out(kBuckets);
  MemoryBudget budget(size_t{1} << 30);
  BucketWriter writer({kBuckets, KeyOf::first, size_t{64} << 20, &budget}, out.sink());
  for (int n = 0; n < 20000; ++n) REQUIRE(writer.put(Plain::of(n * 1.0).view(), nullptr).ok());
  REQUIRE(writer.finish().ok());
  CHECK(budget.peak() <= size_t{32} << 20);
}

TEST_CASE("rows are ranged by splitters as by std::upper_bound") {
  const SortOrder order = GENERATE(SortOrder::ascending, SortOrder::descending);
  const bool texts = GENERATE(true, false);
  const uint32_t count = GENERATE(0U, 1U, 2U, 37U);
  CAPTURE(static_cast<int>(order), texts, count);
  Rng rng(count, texts ? 1 : 0);
  const auto key = [&] {
    // Texts with a common prefix, so that many have the same rank.
    return texts ? Plain::of("common" + random_text(rng, 6)) : Plain::of(static_cast<double>(rng.below(60)) - 30);
  };
  const auto before = [&](const Plain& a, const Plain& b) { return comes_before(a, b, order); };
  std::vector<Plain> splitters(count);
  for (auto& splitter : splitters) splitter = key();
  std::sort(splitters.begin(), splitters.end(), before);
  std::string bytes;
  for (const auto& splitter : splitters) RowWriter(bytes).value(splitter.view());
  auto ranges = required(KeyRanges::make(bytes, order));
  CHECK(ranges->ranges() == count + 1);
  FilledBuckets out(count + 1);
  std::vector<std::vector<PlainRow>> model(count + 1);
  BucketWriter writer({}, *std::move(ranges), out.sink());
  for (uint64_t n = 0; n < 9; ++n) {
    std::vector<PlainRow> rows(rng.below(300));
    for (auto& row : rows) {
      row = {key(), Plain::of(rng.uniform())};
      const auto at = std::upper_bound(splitters.begin(), splitters.end(), row.first, before);
      model[static_cast<size_t>(at - splitters.begin())].push_back(row);
    }
    REQUIRE(put_rows(writer, rows, n % 3).ok());
  }
  REQUIRE(writer.finish().ok());
  for (uint32_t i = 0; i <= count; ++i) CHECK(rows_of(out.blocks[i]) == model[i]);
}

TEST_CASE("keys that cannot be partitioned are refused, as are splitters out of order") {
  FilledBuckets out(2);
  const auto refused = [&](const Plain& key) {
    BucketWriter writer({2}, out.sink());
    const auto status = writer.put(key.view(), nullptr);
    CHECK_FALSE(status.ok());
    CHECK_FALSE(writer.finish().ok());
    return status.ok() ? "" : status.error().message;
  };
  CHECK(contains(refused(Plain{}), "a key must be a text, a number, a boolean or an array of these, not nil"));
  CHECK(contains(refused(Plain{RowTag::value, 0, "x"}), "not a table"));
  std::string splitters;
  RowWriter(splitters).value(Plain::of("b").view());
  BucketWriter writer({}, *KeyRanges::make(splitters, SortOrder::ascending), out.sink());
  CHECK(failure_of(writer.put(Plain::of(3.0).view(), nullptr)).message == "cannot compare number 3 with text 'b'");
  RowWriter(splitters).value(Plain::of("a").view());
  CHECK(contains(KeyRanges::make(splitters, SortOrder::ascending).error().message, "splitters must be in order"));
  CHECK(KeyRanges::make(splitters, SortOrder::descending).ok());
  BucketWriter broken({2}, out.sink());
  CHECK(broken.put(RowBlock{Blob::copy_of("\x07zz"), 1}).error().code == Code::bad_data);
}

TEST_CASE("an error of the sink ends the writing") {
  BucketWriter writer({4, KeyOf::first, size_t{64} << 10}, [](uint32_t, const RowBlock&) -> Status {
    return Error{Code::io, "no room"};
  });
  Status status;
  for (int n = 0; n < 10000 && status.ok(); ++n) status = writer.put(Plain::of(n * 1.0).view(), nullptr);
  CHECK(failure_of(status).message == "no room");
  CHECK_FALSE(writer.finish().ok());
}
