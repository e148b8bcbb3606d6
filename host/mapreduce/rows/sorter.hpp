#pragma once
// Sorts rows by their key, the first value: ascending, descending, or by hash, which brings equal keys of any kind
// together. Stable: rows of equal keys keep the order of their arrival. When the rows in memory exceed the sorter's
// share, they go to disk as a sorted run; `finish` merges the runs. One thread at a time; calls may wait for the disk.
//
// In memory a row has an entry of 16 bytes: the rank of its key, which nearly always decides, and the row's place in
// the blocks. Blocks that a caller puts in are not copied.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/base/result.hpp"
#include "host/mapreduce/rows/block.hpp"
#include "host/mapreduce/rows/bucket_blocks.hpp"
#include "host/mapreduce/rows/memory_budget.hpp"
#include "host/mapreduce/rows/run_merge.hpp"
#include "host/mapreduce/rows/sort_key.hpp"
#include "host/mapreduce/rows/stream.hpp"
#include "host/mapreduce/rows/tuple_key.hpp"

namespace actorhost {

/// The part of each sorted row that the sorter returns.
enum class SortRows : uint8_t {
  row,     // the whole row
  second,  // of pairs of a sort key and a value: the value
  inner    // of pairs of a sort key and a text: the row that the text encodes
};

struct SortOptions {
  SortOrder order = SortOrder::ascending;
  SortRows rows = SortRows::row;
  size_t memory = size_t{64} << 20;  // MemoryBudget::share()
  MemoryBudget* budget = nullptr;    // counts the memory; may be null
  SpillFile* spill = nullptr;        // without a spill file the sorter takes as much memory as the rows need
};

/// The order of a sort, for merging runs.
struct SortedOrder {
  SortOrder order = SortOrder::ascending;
  uint64_t rank(const RowReader::Row& row) const noexcept { return key_rank(row.first, order); }
  int compare(const RowReader::Row& a, const RowReader::Row& b) const noexcept {
    return compare_ties(a.first, b.first, order);
  }
};

/// The rows of a RowSorter in order; can be read once.
class SortedRows final : public RowSource {
 public:
  /// Reads the next row, valid until the next call. Returns false at the end and after an error; status() has the
  /// error.
  bool next(RowReader::Row& row);
  Status next(RowBatch& batch) override;
  /// Writes all remaining rows into blocks of bucket 0.
  Status write(BlockSink sink);
  const Status& status() const noexcept { return status_; }

 private:
  friend class RowSorter;
  struct Entry {
    uint64_t rank;
    uint64_t where;  // the block and the offset in it: ascending in order of arrival
  };
  static constexpr unsigned kOffsetBits = 40;

  SortedRows(const SortOptions& options) : options_(options), memory_(options.budget) {}
  const char* bytes_at(uint64_t where) const noexcept {
    return starts_[where >> kOffsetBits] + (where & ((uint64_t{1} << kOffsetBits) - 1));
  }
  bool next_in_memory(RowReader::Row& row);
  bool unwrap(RowReader::Row& row);

  SortOptions options_;
  RowBlocks blocks_;
  std::vector<const char*> starts_;  // of blocks
  std::vector<Entry> entries_;
  size_t at_ = 0;
  std::unique_ptr<RunMerge<SortedOrder>> merge_;  // used instead of entries_ when rows were spilled
  std::string batch_;                             // the merged rows of a batch
  Reservation memory_;
  Status status_;
};

class RowSorter final : public RowSink {
 public:
  explicit RowSorter(const SortOptions& options);
  ~RowSorter() override;

  // Code::bad_argument for keys that cannot be compared with each other ("cannot compare text 'x' with number 3"),
  // Code::bad_data for bytes that are not rows, Code::io from spilling. After an error all calls fail.

  Status put(const RowValue& first, const RowValue* second) override;
  Status put(const RowBatch& batch) override;
  Status put(RowBlock block);

  /// Ends the input and returns the sorted rows. The sorter must not be used afterwards.
  Result<std::unique_ptr<SortedRows>> finish();

  uint64_t rows() const noexcept { return rows_; }
  bool spilled() const noexcept { return !runs_.empty(); }

 private:
  using Entry = SortedRows::Entry;

  Status take(RowBlock block);
  Status take_tables(const RowBlock& block);
  bool write(const RowValue& first, const RowValue* second);
  RowValue key_at(const Entry& entry) const noexcept;
  bool before(const Entry& a, const Entry& b) const noexcept;
  void sort();
  void sort_texts(Entry* first, size_t count, size_t depth);
  Status spill();
  void count_memory();

  SortOptions options_;
  std::unique_ptr<SortedRows> sorted_;  // the rows in memory
  size_t block_bytes_ = 0;
  KeyKinds kinds_;
  bool texts_ = false;  // some key is a text or a tuple: ranks may not decide
  TupleOf tuple_;
  BucketBlocks open_;  // rows that arrived one at a time
  std::vector<SortedRun> runs_;
  uint64_t rows_ = 0;
  Status status_;
};

}  // namespace actorhost
