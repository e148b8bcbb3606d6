#pragma once
// A sample of rows for a sort's splitters: the rows with the smallest hashes, each with how often it came. The choice
// depends neither on the order of rows nor on chance, so a task that runs again finds the same sample, and the samples
// of tasks of different sizes can be brought to one rate: that of the largest. One thread at a time.

#include <cstdint>
#include <queue>
#include <string>
#include <unordered_map>

#include "host/base/result.hpp"
#include "host/mapreduce/rows/sort_key.hpp"
#include "host/mapreduce/rows/stream.hpp"

namespace actorhost {

class RowSample {
 public:
  /// At most so many rows.
  explicit RowSample(size_t most) : most_(most) {}

  /// `hash`: of its key and its place, so that rows of one key are many.
  void add(const RowValue& key, uint64_t hash) {
    if (hash < below_) [[unlikely]]
      keep(key, hash);
  }
  /// As rows: first the hash that all rows were below that have been sampled, then these.
  Status write(RowSink& sink) const;

 private:
  struct Sampled {
    std::string key;  // a row of one value
    uint64_t count = 0;
  };
  void keep(const RowValue& key, uint64_t hash);

  size_t most_;
  uint64_t below_ = UINT64_MAX;
  std::unordered_map<uint64_t, Sampled> rows_;  // by hash
  std::priority_queue<uint64_t> hashes_;
};

/// From the samples of all tasks, at most `ranges` - 1 keys that part the rows into ranges of about the same size, into
/// `sink` in order. Code::bad_argument when keys cannot be compared.
Status choose_splitters(RowSource& samples, uint32_t ranges, SortOrder order, RowSink& sink);

}  // namespace actorhost
