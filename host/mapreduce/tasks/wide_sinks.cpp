#include "host/mapreduce/tasks/wide_sinks.hpp"

#include "host/mapreduce/rows/key.hpp"
#include "host/mapreduce/rows/pair_rows.hpp"
#include "host/mapreduce/rows/tuple_key.hpp"

namespace actorhost {

// ---- by key or range ----

Status WriterSink::put(const RowValue& first, const RowValue* second) {
  if (!keyed_) return writer_.put(first, second);
  if (second == nullptr) return no_pair(first);
  const RowValue& key = tuple_(first);
  return is_key(key) ? writer_.put(key, second) : not_a_key(first);
}

Status WriterSink::put(const RowBatch& batch) {
  bool is_plain = true;
  for (uint32_t i = 0; keyed_ && i < batch.count; ++i) {
    is_plain = is_plain && batch.pair[i] != 0 && is_key(batch.first[i]);
  }
  return is_plain ? writer_.put(batch) : TaskSink::put(batch);  // row by row, for the checks and the tuples
}

// ---- into a bucket of choice ----

bool PlacedSink::into(uint32_t bucket) noexcept {
  if (bucket >= blocks_.buckets()) return false;
  bucket_ = bucket;
  return true;
}

Status PlacedSink::put(const RowValue& first, const RowValue* second) {
  const size_t size = written_size(first) + (second != nullptr ? written_size(*second) : 0);
  char* const begin = blocks_.room(bucket_, size);
  if (begin == nullptr) return blocks_.status();
  char* at = write_value(begin, first, second != nullptr);
  if (second != nullptr) write_value(at, *second, false);
  blocks_.added(bucket_, size);
  written_ = {begin, size};
  return {};
}

Status SampledSink::put(const RowValue& given, const RowValue* second) {
  const RowValue& first = tuple_(given);
  if (first.kind() == RowTag::value) return not_a_key(first);  // now, while the caller knows the row
  AH_TRY(PlacedSink::put(first, second));
  // The hash does not use the row's bytes, since the bytes of a table differ between VMs.
  sample_.add(first, XXH3_64bits_withSeed(&rows_, sizeof rows_, key_hash(first)));
  ++rows_;
  return {};
}

Status SampledSink::finish() {
  struct Into final : RowSink {
    explicit Into(SampledSink& sink) : sink_(sink) {}
    Status put(const RowValue& first, const RowValue* second) override { return sink_.PlacedSink::put(first, second); }
    SampledSink& sink_;
  } into_sample(*this);
  into(1);
  AH_TRY(sample_.write(into_sample));
  return PlacedSink::finish();
}

// ---- sorted ----

Status SorterSink::put(const RowValue& first, const RowValue* second) {
  if (!wrapped_) return sorter_.put(first, second);
  AH_TRY(check_comparable(first, second));
  row_.clear();
  RowWriter writer(row_);
  writer.value(first, second != nullptr);
  if (second != nullptr) writer.value(*second);
  RowValue whole;
  whole.tag = static_cast<uint32_t>(RowTag::text);
  whole.bytes = row_.data();
  whole.size = row_.size();
  return sorter_.put(whole, nullptr);
}

Status SorterSink::put(const RowBatch& batch) { return wrapped_ ? TaskSink::put(batch) : sorter_.put(batch); }

}  // namespace actorhost
