#pragma once
// Merges sorted runs into one sequence with a tree of losers: one comparison a level for each row. Equal rows keep the
// order of their runs. One thread at a time.

#include <cstdint>
#include <utility>
#include <vector>

#include "host/mapreduce/rows/sorted_run.hpp"

namespace actorhost {

/// Order has `uint64_t rank(row)`, which decides where ranks differ, and `int compare(a, b)` for rows of equal rank.
template <typename Order>
class RunMerge {
 public:
  RunMerge(std::vector<SortedRun> runs, Order order) : order_(order) {
    for (auto& run : runs) sources_.emplace_back(std::move(run));
    for (auto& source : sources_) advance(source);
    losers_.resize(sources_.size());
    if (!sources_.empty()) winner_ = play(1);
  }

  /// Returns false at the end and when a run cannot be read; see status(). The row is valid until the next call.
  bool next(RowReader::Row& row) {
    if (started_ && !sources_.empty()) {
      if (!advance(sources_[winner_]) && !status_.ok()) return false;
      replay();
    }
    started_ = true;
    if (sources_.empty() || !sources_[winner_].more) return false;
    row = sources_[winner_].row;
    return true;
  }
  /// The rank of the row that next() returned.
  uint64_t rank() const noexcept { return sources_[winner_].rank; }
  const Status& status() const noexcept { return status_; }

 private:
  struct Source {
    explicit Source(SortedRun run) : reader(std::move(run)) {}
    RunReader reader;
    RowReader::Row row;
    uint64_t rank = 0;
    bool more = false;
  };

  bool advance(Source& source) {
    source.more = source.reader.next(source.row);
    if (source.more) {
      source.rank = order_.rank(source.row);
    } else if (!source.reader.status().ok()) {
      status_ = source.reader.status();
    }
    return source.more;
  }
  bool beats(uint32_t a, uint32_t b) const {
    const Source& left = sources_[a];
    const Source& right = sources_[b];
    if (!left.more || !right.more) return left.more || (!right.more && a < b);
    if (left.rank != right.rank) return left.rank < right.rank;
    const int compared = order_.compare(left.row, right.row);
    return compared != 0 ? compared < 0 : a < b;
  }
  // Inner nodes are 1 .. n-1, source i is the leaf n + i.
  uint32_t play(size_t node) {
    const size_t n = sources_.size();
    if (node >= n) return static_cast<uint32_t>(node - n);
    const uint32_t left = play(2 * node);
    const uint32_t right = play(2 * node + 1);
    const bool first = beats(left, right);
    losers_[node] = first ? right : left;
    return first ? left : right;
  }
  void replay() {
    for (size_t node = (sources_.size() + winner_) / 2; node >= 1; node /= 2) {
      if (beats(losers_[node], winner_)) std::swap(losers_[node], winner_);
    }
  }

  Order order_;
  std::vector<Source> sources_;
  std::vector<uint32_t> losers_;
  uint32_t winner_ = 0;
  bool started_ = false;
  Status status_;
};

/// Merges adjacent runs until at most `fan_in` remain, so that a block of each run fits in memory.
template <typename Order>
Status merge_to_fan_in(std::vector<SortedRun>& runs, const RunSizes& sizes, SpillFile& file, Order order) {
  while (runs.size() > sizes.fan_in) {
    std::vector<SortedRun> fewer;
    for (size_t i = 0; i < runs.size(); i += sizes.fan_in) {
      const size_t end = std::min(i + sizes.fan_in, runs.size());
      std::vector<SortedRun> some;
      for (size_t k = i; k < end; ++k) some.push_back(std::move(runs[k]));
      RunMerge<Order> merge(std::move(some), order);
      RunWriter writer(file, sizes.block_bytes);
      RowReader::Row row;
      while (merge.next(row) && writer.add(row.bytes())) {
      }
      AH_TRY(Status(merge.status()));
      AH_LET(auto run, writer.finish());
      fewer.push_back(std::move(run));
    }
    runs = std::move(fewer);
  }
  return {};
}

}  // namespace actorhost
