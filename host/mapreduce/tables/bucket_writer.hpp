#pragma once
// Writes rows by partition: by the hash of their key, or by the range of their key. The sink takes full blocks at once.
// One thread at a time.

#include <cstdint>
#include <optional>

#include "host/mapreduce/rows/bucket_blocks.hpp"
#include "host/mapreduce/rows/key.hpp"
#include "host/mapreduce/rows/key_ranges.hpp"
#include "host/mapreduce/rows/stream.hpp"
#include "host/mapreduce/rows/tuple_key.hpp"

namespace actorhost {

struct BucketOptions {
  uint32_t buckets = 1;
  KeyOf key = KeyOf::first;          // rows of KeyOf::row may be of any kind
  size_t memory = size_t{64} << 20;  // for the buffers: MemoryBudget::share()
  MemoryBudget* budget = nullptr;    // counts the memory; may be null
};

class BucketWriter final : public RowSink {
 public:
  /// By hash. With one bucket, takes rows of any kind without reading them.
  BucketWriter(const BucketOptions& options, BlockSink sink);
  /// By the range of the first value, into `ranges.ranges()` buckets.
  BucketWriter(const BucketOptions& options, KeyRanges ranges, BlockSink sink);

  // After an error all calls fail. Code::bad_argument for an invalid key, Code::bad_data for bytes without valid rows;
  // else the sink's error.

  Status put(const RowValue& first, const RowValue* second) override;
  Status put(const RowBatch& batch) override;
  Status put(const RowBlock& block);
  /// Sends the remaining rows.
  Status finish() { return status_.ok() ? out_.finish() : status_; }
  uint64_t rows() const noexcept { return rows_; }

 private:
  /// UINT32_MAX after a failure.
  uint32_t bucket_of_key(const RowValue& key);
  bool write(const RowValue& first, const RowValue* second);
  uint32_t refuse(const RowValue& key);
  template <typename Bucket>
  Status scatter(const RowBlock& block, Bucket bucket_of_row);
  Status failure() const { return status_.ok() ? out_.status() : status_; }

  const KeyOf key_;
  std::optional<KeyRanges> ranges_;
  BucketBlocks out_;
  std::string row_;  // for hashing whole rows
  TupleOf tuple_;
  uint64_t rows_ = 0;
  Status status_;
};

}  // namespace actorhost
