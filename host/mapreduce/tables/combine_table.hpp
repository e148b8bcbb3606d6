#pragma once
// A map from keys to values that combines all rows of a key. Uses open addressing with stored hashes. Keys of up to 8
// bytes are inside their slot; longer keys and non-numeric values are in an arena. When the table exceeds its share of
// memory, its entries go to disk as a run sorted by (hash, key) and the table starts empty; `finish` merges the runs.
// One thread at a time; calls may wait for the disk.
//
// Native combiners run in this class. For a combiner in Lua (Combine::script) the caller looks keys up, combines and
// sets values; `merge` then returns equal keys of different runs in sequence.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/result.hpp"
#include "host/mapreduce/rows/arena.hpp"
#include "host/mapreduce/rows/bucket_blocks.hpp"
#include "host/mapreduce/rows/combine_slot.hpp"
#include "host/mapreduce/rows/key.hpp"
#include "host/mapreduce/rows/memory_budget.hpp"
#include "host/mapreduce/rows/run_merge.hpp"
#include "host/mapreduce/rows/slot_array.hpp"
#include "host/mapreduce/rows/stream.hpp"
#include "host/mapreduce/rows/tuple_key.hpp"

namespace actorhost {

enum class Combine : uint8_t {
  script,  // the caller combines
  sum,     // of numbers; also counts: add 1 for each row
  product,
  min,
  max,
  first,  // the value that arrived first, of any kind
  row     // distinct rows: the key is the whole row, of any kind except rows with tables; there is no value
};

struct CombineOptions {
  Combine combine = Combine::script;
  size_t memory = size_t{64} << 20;  // MemoryBudget::share()
  MemoryBudget* budget = nullptr;    // counts the memory; may be null
  SpillFile* spill = nullptr;        // without a spill file the table grows as necessary
};

/// Rows in the order of (hash, key).
struct HashOrder {
  KeyOf key = KeyOf::first;
  uint64_t rank(const RowReader::Row& row) const noexcept { return hash_of(row, key); }
  int compare(const RowReader::Row& a, const RowReader::Row& b) const noexcept {
    return key_bytes_less(a, b, key) ? -1 : key_bytes_less(b, a, key) ? 1 : 0;
  }
};

class CombineTable {
 public:
  explicit CombineTable(CombineOptions options);

  // A call that returns false or nullptr has failed: `status()` has the error, and all later calls fail.
  // Code::bad_argument for a key that is_key refuses or a value that the combiner does not take.

  /// Adds pairs, for Combine::row any rows.
  bool add_rows(std::string_view rows);
  bool add_rows(const RowBatch& batch);
  /// For native combiners of numbers only, as is `add`.
  bool add_batch(const RowValue* keys, const double* numbers, size_t count);
  bool add(const RowValue& key, double number) { return add_batch(&key, &number, 1); }

  /// The slot of a key; valid until the next call of any kind. A fresh slot has the value nil.
  CombineSlot* find_or_insert(const RowValue& key, bool& fresh);
  /// Finds the slots of up to kMostKeys keys together, so that their cache misses overlap. Equal keys have the same
  /// slot; a slot without a value yet is nil.
  bool find_batch(const RowValue* keys, size_t count, CombineSlot** slots);
  static constexpr size_t kMostKeys = 64;
  /// Replaces a value; `value` may point into this table.
  bool set_value(CombineSlot& slot, const RowValue& value);
  static RowValue key_of(const CombineSlot& slot) noexcept;
  static RowValue value_of(const CombineSlot& slot) noexcept;

  /// The number of entries in memory: slots with a key_tag other than 0.
  size_t entries() const noexcept { return entries_; }
  std::span<const CombineSlot> slots() const noexcept { return {slots_.data(), slots_.count()}; }
  bool spilled() const noexcept { return !runs_.empty(); }
  size_t memory_bytes() const noexcept { return slots_.bytes() + arena_.bytes(); }
  const Status& status() const noexcept { return status_; }

  /// Writes all entries as rows into blocks, partitioned by the hash of the key; the table is empty afterwards. With
  /// one bucket the rows are in the order of (hash, key), spilled or not. Where runs of a Combine::script were spilled,
  /// equal keys are adjacent in their bucket, not yet combined.
  Status finish(uint32_t buckets, BlockSink sink);

  /// Returns the rows of all runs and of memory in the order of (hash, key), for a Combine::script that has spilled.
  /// Rows of equal keys are adjacent, oldest first. The table is empty afterwards.
  class Merge {
   public:
    /// `same`: the row has the key of the previous row. The row is valid until the next call. Returns false at the end
    /// and when a run cannot be read.
    bool next(RowReader::Row& row, bool& same);
    const Status& status() const noexcept { return rows_.status(); }

   private:
    friend class CombineTable;
    explicit Merge(std::vector<SortedRun> runs, HashOrder order) : rows_(std::move(runs), order), order_(order) {}

    RunMerge<HashOrder> rows_;
    HashOrder order_;
    uint64_t hash_ = 0;
    std::string key_;  // of the last row, if there was one
  };
  Result<Merge> merge();

 private:
  struct Key {
    uint64_t hash;
    union {
      uint64_t word;
      const char* bytes;
    };
    uint32_t size;
    uint8_t tag;

    // In place: a key made elsewhere and copied would wait for the stores of its halves.
    void set(std::string_view text, uint8_t of, uint64_t hashed) noexcept {
      hash = hashed;
      size = static_cast<uint32_t>(text.size());
      tag = of;
      if (text.size() <= 8) {
        word = load_word(text.data(), text.size());
      } else {
        bytes = text.data();
      }
    }
  };

  static constexpr size_t kFirstSlots = 256;

  KeyOf key_kind() const noexcept { return options_.combine == Combine::row ? KeyOf::row : KeyOf::first; }
  bool numbers() const noexcept { return options_.combine >= Combine::sum && options_.combine <= Combine::max; }
  bool fail(Error error);
  bool make_key(const RowValue& value, Key& key);
  size_t place(uint64_t hash) const noexcept { return (hash * salt_) >> shift_; }
  void prefetch(const Key& key) const noexcept { __builtin_prefetch(slots_.data() + place(key.hash)); }

  CombineSlot* locate(const Key& key, bool& fresh);
  CombineSlot* insert(const Key& key, size_t at, size_t distance);
  template <typename Op>
  bool combine(const Key* keys, const double* numbers, size_t count, Op op);
  bool combine(const Key* keys, const double* numbers, size_t count);
  bool add_first(const RowValue& key, const RowValue& value);
  void write_comparable(const RowValue& first, const RowValue* second);
  std::string_view comparable(const RowReader::Row& row);
  bool add_whole(std::string_view row);
  bool add_pairs(RowReader& reader);
  bool make_pair(const RowValue& first, const RowValue* second, Key& key, double& number);
  bool script_cannot();
  double combined(double a, double b) const noexcept;

  bool make_room();
  void rehash(size_t count);
  bool spill();
  std::span<const CombineSlot> in_order();
  void compact();
  void count_memory();
  void clear();
  bool write(const CombineSlot& slot, BucketBlocks& out, uint32_t bucket) const;
  Status finish_memory(BucketBlocks& out);
  Status finish_runs(BucketBlocks& out);
  bool write_open(const std::string& row, uint64_t hash, double number, BucketBlocks& out) const;

  CombineOptions options_;
  std::array<TupleOf, kMostKeys> tuples_;  // of the keys of a batch
  size_t turn_ = 0;                        // the newest of tuples_
  SlotArray slots_;
  int shift_ = 0;  // of 64 bits, to a place
  uint64_t salt_;
  int salts_ = 0;  // tried at this size
  size_t entries_ = 0;
  size_t grow_at_ = 0;
  Arena arena_;
  size_t garbage_ = 0;  // bytes of the arena that no entry uses
  bool full_ = false;   // above its share: the next call spills first
  bool held_ = false;   // find_batch collects slots: no spilling now
  std::string row_;     // a row rewritten for comparison
  std::vector<SortedRun> runs_;
  Reservation memory_;
  Status status_;
};

}  // namespace actorhost
