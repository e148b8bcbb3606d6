#pragma once
// A sample of rows for choosing a sort's splitters: the rows with the smallest hashes, each with its number of
// occurrences. The choice depends neither on the order of rows nor on chance, so a rerun task finds the same sample.
// Samples of different tasks can be reduced to one rate, the rate of the largest task. One thread at a time.

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
  /// `most`: the greatest number of rows.
  explicit RowSample(size_t most) : most_(most) {}

  /// `hash`: of the row's key and its place, so that rows with equal keys have different hashes.
  void add(const RowValue& key, uint64_t hash) {
    if (hash < below_) [[unlikely]]
      keep(key, hash);
  }
  /// Writes rows: first the bound below which every row is in the sample, then the sampled rows.
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

/// Chooses from the samples of all tasks at most `ranges` - 1 keys that split the rows into ranges of about equal size.
/// Writes the keys into `sink` in order. Code::bad_argument when keys cannot be compared.
Status choose_splitters(RowSource& samples, uint32_t ranges, SortOrder order, RowSink& sink);

}  // namespace actorhost
