// The cost of map-reduce's data structures, each beside plain C++ that computes the same result without them.
// Usage: mapreduce_bench [words [FILE] | sort [RECORDS] | buckets | all]

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/base/random.hpp"
#include "host/mapreduce/files/words.hpp"
#include "host/mapreduce/rows/sorter.hpp"
#include "host/mapreduce/tables/bucket_writer.hpp"
#include "host/mapreduce/tables/combine_table.hpp"

using namespace actorhost;

namespace {

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Processor seconds, which other programs on the machine disturb little (there is one thread); the best of some runs.
double seconds_of(const std::function<void()>& run, int times = 3) {
  double best = 1e9;
  for (int i = 0; i < times; ++i) {
    const double begin = cpu_seconds();
    run();
    best = std::min(best, cpu_seconds() - begin);
  }
  return best;
}

void must(bool ok, const Status& status) {
  if (ok && status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ok() ? "failed" : status.error().message.c_str());
  std::exit(1);
}

/// Words distributed as in a text: few words very often, many words once or twice.
std::string made_text(size_t bytes) {
  Rng rng(1);
  std::vector<std::string> words(400000);
  for (size_t i = 0; i < words.size(); ++i) {
    words[i].resize(1 + rng.below(3) + rng.below(i < 100 ? 3 : 9));
    for (auto& c : words[i]) c = static_cast<char>('a' + rng.below(26));
  }
  std::string text;
  while (text.size() < bytes) {
    const double u = rng.uniform();
    text += words[static_cast<size_t>(std::exp(u * std::log(static_cast<double>(words.size()))) - 1)];
    text += rng.below(12) == 0 ? '\n' : ' ';
  }
  return text;
}

std::vector<std::string_view> words_of(const std::string& text) {
  std::vector<std::string_view> words;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    while (at < end && static_cast<unsigned char>(*at) <= ' ') ++at;
    const char* const begin = at;
    while (at<end&& static_cast<unsigned char>(*at)> ' ') ++at;
    if (at > begin) words.emplace_back(begin, static_cast<size_t>(at - begin));
  }
  return words;
}

/// Counts words as in handwritten code: an entry points into the text.
class PlainCounts {
 public:
  /// Counts all words of a text and computes their hashes in the same scan.
  void scan(std::string_view text) {
    const char* at = text.data();
    const char* const end = at + text.size();
    for (;;) {
      while (at < end && static_cast<unsigned char>(*at) <= ' ') ++at;
      if (at == end) return;
      const char* const begin = at;
      uint64_t hash = kHash;
      for (; at<end&& static_cast<unsigned char>(*at)> ' '; ++at) hash = step(hash, *at);
      add({begin, static_cast<size_t>(at - begin)}, hash ^ hash >> 32);
    }
  }
  void add(std::string_view word) {
    uint64_t hash = kHash;
    for (const char c : word) hash = step(hash, c);
    add(word, hash ^ hash >> 32);
  }
  size_t used() const { return used_; }

 private:
  static constexpr uint64_t kHash = 0x9E3779B97F4A7C15;
  static uint64_t step(uint64_t hash, char c) { return (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3; }
  void add(std::string_view word, uint64_t hash) {
    for (size_t i = hash & mask_;; i = (i + 1) & mask_) {
      Entry& entry = entries_[i];
      if (entry.count == 0) {
        entry = {hash, word, 1};
        if (++used_ * 2 > mask_) grow();
        return;
      }
      if (entry.hash == hash && entry.word == word) {
        ++entry.count;
        return;
      }
    }
  }
  struct Entry {
    uint64_t hash = 0;
    std::string_view word;
    uint64_t count = 0;
  };
  void grow() {
    std::vector<Entry> old(2 * entries_.size());
    old.swap(entries_);
    mask_ = entries_.size() - 1;
    for (const auto& entry : old) {
      if (entry.count == 0) continue;
      size_t i = entry.hash & mask_;
      while (entries_[i].count != 0) i = (i + 1) & mask_;
      entries_[i] = entry;
    }
  }

  std::vector<Entry> entries_ = std::vector<Entry>(size_t{1} << 16);
  size_t mask_ = entries_.size() - 1;
  size_t used_ = 0;
};

/// Counts words as flatmap(words) and reduce_by_key(sum) do.
void count_words(CombineTable& counts, std::string_view text) {
  constexpr size_t kBatch = 256;
  std::array<RowValue, kBatch> keys;
  std::array<double, kBatch> ones;
  ones.fill(1);
  size_t n = 0;
  const auto add = [&] { must(counts.add_batch(keys.data(), ones.data(), std::exchange(n, 0)), counts.status()); };
  WordCutter cutter;
  cutter.begin(text);
  for (std::string_view word; cutter.next(word);) {
    keys[n].tag = static_cast<uint32_t>(RowTag::text);
    keys[n].bytes = word.data();
    keys[n++].size = word.size();
    if (n == kBatch) add();
  }
  add();
}

void bench_words(const char* file) {
  std::string text;
  if (file != nullptr) {
    std::ifstream in(file, std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(in), {});
  } else {
    text = made_text(size_t{256} << 20);
  }
  const auto words = words_of(text);
  size_t distinct = 0;
  const double plain = seconds_of([&] {
    PlainCounts counts;
    for (const auto word : words) counts.add(word);
    distinct = counts.used();
  });
  const double scanned = seconds_of([&] {
    PlainCounts counts;
    counts.scan(text);
  });
  size_t entries = 0;
  const double split = seconds_of([&] {
    CombineTable counts({Combine::sum, size_t{4} << 30, nullptr, nullptr});
    count_words(counts, text);
    entries = counts.entries();
  });
  size_t blocks = 0;
  const double finished = seconds_of([&] {
    CombineTable counts({Combine::sum, size_t{4} << 30, nullptr, nullptr});
    count_words(counts, text);
    must(true, counts.finish(8, [&](uint32_t, const RowBlock&) {
      ++blocks;
      return Status();
    }));
  });
  must(entries == distinct, {});
  const double millions = static_cast<double>(words.size()) / 1e6;
  const double bytes = static_cast<double>(text.size()) / 1e9;
  std::printf("%.0f M words, %zu distinct, MB of text: %.0f\n", millions, distinct,
              static_cast<double>(text.size()) / 1e6);
  std::printf("  plain open addressing    %6.1f M words/s\n", millions / plain);
  std::printf("  plain, from the text     %6.1f M words/s, %.2f GB/s\n", millions / scanned, bytes / scanned);
  std::printf("  cut, into a CombineTable  %5.1f M words/s, %.2f GB/s  (%.2fx)\n", millions / split, bytes / split,
              scanned / split);
  std::printf("  ... and rows in 8 buckets %5.1f M words/s  (%.2fx)\n", millions / finished, scanned / finished);
}

/// Pairs of an 8-byte key and an 8-byte value.
void bench_buckets() {
  constexpr size_t kRows = 20'000'000;
  Rng rng(2);
  RowBlocks blocks;
  BucketWriter made({}, [&](uint32_t, RowBlock block) {
    blocks.push_back(std::move(block));
    return Status();
  });
  for (size_t i = 0; i < kRows; ++i) {
    const RowValue key{static_cast<uint32_t>(RowTag::number), 0, rng.uniform()};
    const RowValue value{static_cast<uint32_t>(RowTag::number), 0, static_cast<double>(i)};
    must(true, made.put(key, &value));
  }
  must(true, made.finish());
  const std::string plain(16 * kRows, 'x');
  std::string copy(plain.size(), 'y');
  const double copied = seconds_of([&] { std::memcpy(copy.data(), plain.data(), plain.size()); });
  const double bytes = static_cast<double>(plain.size());
  std::printf("%zu M pairs of numbers\n", kRows / 1'000'000);
  std::printf("  memcpy of 16 bytes each   %6.2f GB/s\n", bytes / copied / 1e9);
  for (const uint32_t buckets : {2U, 16U, 256U}) {
    RowBlocks out;
    const double seconds = seconds_of([&] {
      out.clear();
      BucketWriter writer({buckets}, [&](uint32_t, RowBlock block) {
        out.push_back(std::move(block));
        return Status();
      });
      for (const auto& block : blocks) must(true, writer.put(block));
      must(true, writer.finish());
    });
    std::printf("  BucketWriter, %3u buckets  %6.2f GB/s  (%.2fx), %.1f M rows/s\n", buckets, bytes / seconds / 1e9,
                copied / seconds, static_cast<double>(kRows) / seconds / 1e6);
  }
}

/// Records of 100 random printable bytes, which LZ4 can hardly compress.
void bench_sort(size_t records) {
  Rng rng(3);
  std::string text(100 * records, 0);
  for (auto& c : text) c = static_cast<char>(' ' + rng.below(95));
  RowBlocks blocks;
  BucketWriter made({}, [&](uint32_t, RowBlock block) {
    blocks.push_back(std::move(block));
    return Status();
  });
  for (size_t i = 0; i < records; ++i) {
    must(true, made.put({static_cast<uint32_t>(RowTag::text), 0, 0, text.data() + 100 * i, 100}, nullptr));
  }
  must(true, made.finish());
  std::string sorted(text.size(), 0);
  const double plain = seconds_of(
      [&] {
        std::vector<std::string_view> views(records);
        for (size_t i = 0; i < records; ++i) views[i] = {text.data() + 100 * i, 100};
        std::sort(views.begin(), views.end());
        char* at = sorted.data();
        for (const auto view : views) {
          std::memcpy(at, view.data(), view.size());
          at += view.size();
        }
      },
      1);
  const double bytes = static_cast<double>(text.size());
  std::printf("%.1f M records of 100 bytes\n", static_cast<double>(records) / 1e6);
  std::printf("  std::sort of string_view and a copy  %6.2f s, %5.2f GB/s\n", plain, bytes / plain / 1e9);
  const auto sort = [&](const SortOptions& options) {
    return seconds_of(
        [&] {
          RowSorter sorter(options);
          for (const auto& block : blocks) must(true, sorter.put(block));
          const auto rows = sorter.finish();
          must(rows.ok(), {});
          uint64_t count = 0;
          must(true, (*rows)->write([&](uint32_t, const RowBlock& block) {
            count += block.rows;
            return Status();
          }));
          must(count == records, {});
        },
        1);
  };
  const double memory = sort({SortOrder::ascending, SortRows::row, size_t{16} << 30, nullptr, nullptr});
  SpillFile spill;
  const double disk = sort({SortOrder::ascending, SortRows::row, size_t{128} << 20, nullptr, &spill});
  std::printf("  RowSorter in memory                  %6.2f s, %5.2f GB/s  (%.2fx)\n", memory, bytes / memory / 1e9,
              plain / memory);
  std::printf("  RowSorter with 128 MiB, %4.1f GB out  %6.2f s, %5.2f GB/s  (%.2fx)\n",
              static_cast<double>(spill.raw_bytes()) / 1e9, disk, bytes / disk / 1e9, plain / disk);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "all";
  if (what == "words" || what == "all") bench_words(argc > 2 ? argv[2] : nullptr);
  if (what == "sort" || what == "all") bench_sort(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 10'000'000);
  if (what == "buckets" || what == "all") bench_buckets();
}
