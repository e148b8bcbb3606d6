#include "host/base/block_cache.hpp"

#include "tests/test.hpp"

namespace actorhost {

struct BlockCacheTest {
  static size_t cached_bytes(const BlockCache& cache) { return cache.cached_bytes_; }
};

}  // namespace actorhost

namespace {

constexpr size_t kMiB = size_t{1} << 20;

}  // namespace

TEST_CASE("a released block is reused for sizes down to an eighth below its own") {
  BlockCache cache;
  const auto first = cache.take(8 * kMiB);
  cache.give(first);
  CHECK(BlockCacheTest::cached_bytes(cache) == 8 * kMiB);
  const auto smaller = cache.take(8 * kMiB - 4096);
  CHECK(smaller.data == first.data);
  CHECK(smaller.size == 8 * kMiB);
  CHECK(BlockCacheTest::cached_bytes(cache) == 0);
  cache.give(smaller);
  const auto larger = cache.take(8 * kMiB + 1);
  CHECK(larger.data != first.data);
  const auto much_smaller = cache.take(4 * kMiB);
  CHECK(much_smaller.data != first.data);
  cache.give(larger);
  cache.give(much_smaller);
}

TEST_CASE("blocks are aligned and writable over their whole size") {
  BlockCache cache;
  for (const size_t size : {BlockCache::kMinBytes, kMiB + 1, 4 * kMiB, 9 * kMiB + 77}) {
    const auto block = cache.take(size);
    REQUIRE(block.size >= size);
    CHECK(reinterpret_cast<uintptr_t>(block.data) % 64 == 0);
    std::memset(block.data, 1, block.size);
    cache.give(block);
  }
}

TEST_CASE("the cache is bounded by floor, use and recent use, and reuses the newest block") {
  BlockCache cache(4 * kMiB);
  std::vector<BlockCache::Block> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(cache.take(kMiB));
  for (int i = 0; i < 5; ++i) cache.give(blocks[static_cast<size_t>(i)]);
  CHECK(BlockCacheTest::cached_bytes(cache) == 5 * kMiB);
  const auto again = cache.take(kMiB);
  CHECK(again.data == blocks[4].data);
  cache.give(again);
  for (size_t i = 5; i < 8; ++i) cache.give(blocks[i]);
  CHECK(BlockCacheTest::cached_bytes(cache) == 8 * kMiB);
  // All blocks that were in use together are available again.
  for (auto& block : blocks) block = cache.take(kMiB);
  CHECK(BlockCacheTest::cached_bytes(cache) == 0);
  for (const auto& block : blocks) cache.give(block);

  BlockCache roomy(kMiB);
  const auto in_use = roomy.take(10 * kMiB);
  std::vector<BlockCache::Block> others;
  for (int i = 0; i < 3; ++i) others.push_back(roomy.take(3 * kMiB));
  for (const auto& block : others) roomy.give(block);
  CHECK(BlockCacheTest::cached_bytes(roomy) == 9 * kMiB);
  roomy.give(in_use);
  CHECK(BlockCacheTest::cached_bytes(roomy) == 19 * kMiB);
}

TEST_CASE("the cache shrinks after a past peak, and respects its limit") {
  BlockCache cache(kMiB);
  cache.give(cache.take(100 * kMiB));
  CHECK(BlockCacheTest::cached_bytes(cache) == 100 * kMiB);
  for (uint32_t i = 0; i < 2 * BlockCache::kWindow; ++i) cache.give(cache.take(kMiB));
  CHECK(BlockCacheTest::cached_bytes(cache) <= kMiB);

  BlockCache limited(kMiB);
  limited.limit(3 * kMiB);
  std::vector<BlockCache::Block> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(limited.take(kMiB));
  for (const auto& block : blocks) limited.give(block);
  CHECK(BlockCacheTest::cached_bytes(limited) == 3 * kMiB);
}

TEST_CASE("concurrent threads never share a block") {
  BlockCache cache(kMiB);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        const auto block = cache.take(BlockCache::kMinBytes + static_cast<size_t>(i % 3) * 4096);
        std::memset(block.data, t, 512);
        std::this_thread::yield();
        for (int k = 0; k < 512; ++k) wrong[static_cast<size_t>(t)] += block.data[k] != std::byte(t);
        cache.give(block);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4, 0));
}
