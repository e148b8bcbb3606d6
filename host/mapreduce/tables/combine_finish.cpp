// How a CombineTable writes its entries: as a sorted run, or as rows by bucket, merged with the earlier runs.

#include <algorithm>
#include <cstring>

#include "host/mapreduce/rows/radix_sort.hpp"
#include "host/mapreduce/tables/combine_table.hpp"

namespace actorhost {

namespace {

/// A key's bytes as in a row, for HashOrder, which compares them only when hashes are equal.
std::string key_bytes(const CombineSlot& slot) {
  std::string bytes;
  const RowValue key = CombineTable::key_of(slot);
  if (slot.key_tag == kRowKey) return std::string(key.text());
  RowWriter(bytes).value(key);
  return bytes;
}

}  // namespace

void CombineTable::clear() {
  std::memset(static_cast<void*>(slots_.data()), 0, slots_.bytes());
  arena_.clear();
  entries_ = 0;
  garbage_ = 0;
  full_ = false;
  memory_.resize(memory_bytes());
}

bool CombineTable::write(const CombineSlot& slot, BucketBlocks& out, uint32_t bucket) const {
  const RowValue key = key_of(slot);
  if (options_.combine == Combine::row) {
    char* at = out.room(bucket, key.size);
    if (at == nullptr) return false;
    std::copy_n(key.bytes, key.size, at);
    out.added(bucket, key.size);
    return true;
  }
  const RowValue value = value_of(slot);
  const size_t size = written_size(key) + written_size(value);
  char* at = out.room(bucket, size);
  if (at == nullptr) return false;
  write_value(write_value(at, key, true), value, false);
  out.added(bucket, size);
  return true;
}

std::span<const CombineSlot> CombineTable::in_order() {
  // Sorts in place: there may be no memory for another array, and the slots are cleared afterwards anyway.
  CombineSlot* const first = slots_.data();
  CombineSlot* const end =
      std::partition(first, first + slots_.count(), [](const CombineSlot& slot) { return slot.key_tag != 0; });
  const auto less = [](const CombineSlot& a, const CombineSlot& b) {
    return a.hash != b.hash ? a.hash < b.hash : key_bytes(a) < key_bytes(b);
  };
  radix_sort(
      first, static_cast<size_t>(end - first), [](const CombineSlot& slot) { return slot.hash; }, less,
      [&](CombineSlot* part, size_t count) { std::sort(part, part + count, less); });
  return {first, end};
}

bool CombineTable::spill() {
  if (!status_.ok()) return false;
  SortedRun run(*options_.spill);
  BucketBlocks blocks(1, RunSizes::of(options_.memory).block_bytes, nullptr,
                      [&](uint32_t, const RowBlock& block) { return run.append(block); });
  for (const CombineSlot& slot : in_order()) {
    if (!write(slot, blocks, 0)) break;
  }
  status_ = blocks.finish();
  runs_.push_back(std::move(run));
  clear();
  return status_.ok();
}

Status CombineTable::finish(uint32_t buckets, BlockSink sink) {
  if (!status_.ok()) return status_;
  BucketBlocks out(buckets, options_.memory / 2, options_.budget, std::move(sink));
  AH_TRY(runs_.empty() ? finish_memory(out) : finish_runs(out));
  return out.finish();
}

Status CombineTable::finish_memory(BucketBlocks& out) {
  // With one bucket this is the final result: it has the order of runs, so that the result does not depend on spilling.
  // Several buckets are combined once more.
  const std::span<const CombineSlot> slots = out.buckets() == 1 ? in_order() : this->slots();
  for (const CombineSlot& slot : slots) {
    if (slot.key_tag != 0 && !write(slot, out, bucket_of(slot.hash, out.buckets()))) return out.status();
  }
  slots_ = SlotArray();
  arena_.clear();
  entries_ = 0;
  rehash(kFirstSlots);
  return {};
}

Result<CombineTable::Merge> CombineTable::merge() {
  if (!status_.ok()) return status_.error();
  if (entries_ != 0) {
    if (options_.spill == nullptr) return Error{Code::internal, "a table without a spill file has nothing to merge"};
    if (!spill()) return status_.error();
  }
  slots_ = SlotArray();  // merging needs the memory
  rehash(kFirstSlots);
  const HashOrder order{key_kind()};
  if (!runs_.empty()) AH_TRY(merge_to_fan_in(runs_, RunSizes::of(options_.memory), *options_.spill, order));
  return Merge(std::exchange(runs_, {}), order);
}

bool CombineTable::Merge::next(RowReader::Row& row, bool& same) {
  if (!rows_.next(row)) return false;
  const auto end = order_.key == KeyOf::row ? row.end : row.middle;
  const std::string_view key(row.begin, static_cast<size_t>(end - row.begin));
  same = rows_.rank() == hash_ && key == key_;
  if (!same) {
    hash_ = rows_.rank();
    key_.assign(key);
  }
  return true;
}

bool CombineTable::write_open(const std::string& row, uint64_t hash, double number, BucketBlocks& out) const {
  const uint32_t bucket = bucket_of(hash, out.buckets());
  const size_t size = row.size() + (numbers() ? 9 : 0);
  char* at = out.room(bucket, size);
  if (at == nullptr) return false;
  row.copy(at, row.size());
  if (numbers()) write_value(at + row.size(), {static_cast<uint32_t>(RowTag::number), 0, number}, false);
  out.added(bucket, size);
  return true;
}

Status CombineTable::finish_runs(BucketBlocks& out) {
  AH_LET(auto merged, merge());
  RowReader::Row row;
  std::string open;  // the row, or only its key's bytes when numbers are combined
  double number = 0;
  bool same = false;
  uint64_t hash = 0;
  for (bool any = false; merged.next(row, same); any = true) {
    if (same && numbers()) number = combined(number, row.second.number);
    if (same && options_.combine != Combine::script) continue;
    if (any && !write_open(open, hash, number, out)) return out.status();
    hash = merged.hash_;
    open.assign(row.begin, numbers() ? row.middle : row.end);
    number = row.second.number;
  }
  AH_TRY(Status(merged.status()));
  if (!open.empty() && !write_open(open, hash, number, out)) return out.status();
  return {};
}

}  // namespace actorhost
