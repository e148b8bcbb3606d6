#include "host/mapreduce/tables/bucket_writer.hpp"

#include <cstring>

namespace actorhost {

namespace {

/// Rows of up to this many bytes are copied as if they had this size: by two moves, without a call.
constexpr size_t kShortRow = 32;

}  // namespace

BucketWriter::BucketWriter(const BucketOptions& options, BlockSink sink)
    : key_(options.key), out_(options.buckets, options.memory, options.budget, std::move(sink)) {}

BucketWriter::BucketWriter(const BucketOptions& options, KeyRanges ranges, BlockSink sink)
    : key_(KeyOf::first),
      ranges_(std::move(ranges)),
      out_(ranges_->ranges(), options.memory, options.budget, std::move(sink)) {}

uint32_t BucketWriter::bucket_of_key(const RowValue& key) {
  if (ranges_) {
    const uint32_t range = ranges_->range_of(key);
    if (range == UINT32_MAX) status_ = ranges_->refused(key);
    return range;
  }
  return is_key(key) ? bucket_of(key_hash(key), out_.buckets()) : refuse(key);
}

uint32_t BucketWriter::refuse(const RowValue& key) {
  status_ = not_a_key(key);
  return UINT32_MAX;
}

bool BucketWriter::write(const RowValue& given, const RowValue* second) {
  const RowValue& first = key_ == KeyOf::first ? tuple_(given) : given;
  uint32_t bucket = 0;
  if (key_ == KeyOf::row && out_.buckets() > 1) {
    row_.clear();
    RowWriter(row_).value(first, second != nullptr);
    if (second != nullptr) RowWriter(row_).value(*second);
    bucket = bucket_of(row_hash(row_), out_.buckets());
  } else if (out_.buckets() > 1 || ranges_) {
    bucket = bucket_of_key(first);
    if (bucket == UINT32_MAX) [[unlikely]]
      return false;
  }
  const size_t size = written_size(first) + (second != nullptr ? written_size(*second) : 0);
  char* at = out_.room(bucket, size);
  if (at == nullptr) [[unlikely]]
    return false;
  at = write_value(at, first, second != nullptr);
  if (second != nullptr) write_value(at, *second, false);
  out_.added(bucket, size);
  return true;
}

template <typename Bucket>
Status BucketWriter::scatter(const RowBlock& block, Bucket bucket_of_row) {
  const std::string_view bytes = block.bytes.view();
  const char* const end = bytes.data() + bytes.size();
  RowReader reader(bytes);
  RowReader::Row row;
  uint64_t rows = 0;
  for (; reader.next(row); ++rows) {
    if (row.first.kind() == RowTag::value && key_ == KeyOf::first) [[unlikely]] {
      if (!write(row.first, row.pair ? &row.second : nullptr)) return failure();
      continue;
    }
    const uint32_t bucket = bucket_of_row(row);
    if (bucket == UINT32_MAX) [[unlikely]]
      return failure();
    const auto size = static_cast<size_t>(row.end - row.begin);
    const bool is_short = size <= kShortRow && static_cast<size_t>(end - row.begin) >= kShortRow;
    char* const at = out_.room(bucket, is_short ? kShortRow : size);
    if (at == nullptr) [[unlikely]]
      return failure();
    if (is_short) [[likely]] {
      std::memcpy(at, row.begin, kShortRow);
    } else {
      std::memcpy(at, row.begin, size);
    }
    out_.added(bucket, size);
  }
  rows_ += rows;
  if (!reader.ok()) status_ = Error{Code::bad_data, "a block of rows is broken"};
  return status_;
}

Status BucketWriter::put(const RowValue& first, const RowValue* second) {
  if (!status_.ok() || !write(first, second)) return failure();
  ++rows_;
  return {};
}

Status BucketWriter::put(const RowBatch& batch) {
  if (!status_.ok()) return status_;
  for (uint32_t i = 0; i < batch.count; ++i) {
    if (!write(batch.first[i], batch.pair[i] != 0 ? &batch.second[i] : nullptr)) return failure();
  }
  rows_ += batch.count;
  return {};
}

Status BucketWriter::put(const RowBlock& block) {
  if (!status_.ok()) return status_;
  if (out_.buckets() == 1 && !ranges_) {
    rows_ += block.rows;
    return out_.pass(0, block) ? Status() : failure();
  }
  const uint32_t buckets = out_.buckets();
  if (ranges_) {
    return scatter(block, [this](const RowReader::Row& row) { return bucket_of_key(row.first); });
  }
  if (key_ == KeyOf::row) {
    return scatter(block, [buckets](const RowReader::Row& row) { return bucket_of(row_hash(row.bytes()), buckets); });
  }
  return scatter(block, [this, buckets](const RowReader::Row& row) {
    return is_key(row.first) ? bucket_of(key_hash(row.first), buckets) : refuse(row.first);
  });
}

}  // namespace actorhost
