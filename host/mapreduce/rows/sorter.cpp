#include "host/mapreduce/rows/sorter.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "host/mapreduce/rows/radix_sort.hpp"

namespace actorhost {

namespace {

/// Prefetches memory this many rows ahead, since sorted rows are at random places.
constexpr size_t kAhead = 16;
/// A batch of merged rows ends at this size, so that memory never holds 256 rows of 100 MB at once.
constexpr size_t kBatchBytes = size_t{1} << 20;

}  // namespace

bool SortedRows::next_in_memory(RowReader::Row& row) {
  if (at_ == entries_.size()) return false;
  if (at_ + kAhead < entries_.size()) __builtin_prefetch(bytes_at(entries_[at_ + kAhead].where));
  const uint64_t where = entries_[at_++].where;
  const char* const begin = bytes_at(where);
  const char* const end = starts_[where >> kOffsetBits] + blocks_[where >> kOffsetBits].bytes.size();
  RowReader reader({begin, static_cast<size_t>(end - begin)});
  return reader.next(row);
}

bool SortedRows::unwrap(RowReader::Row& row) {
  if (options_.rows == SortRows::row) return true;
  if (!row.pair || (options_.rows == SortRows::inner && row.second.kind() != RowTag::text)) {
    status_ = Error{Code::bad_data, "a row to be sorted has no sort key"};
    return false;
  }
  if (options_.rows == SortRows::inner) {
    RowReader reader(row.second.text());
    if (reader.next(row) && reader.left() == 0) return true;
    status_ = Error{Code::bad_data, "a row within a row is broken"};
    return false;
  }
  row.first = row.second;
  row.pair = false;
  row.begin = row.middle;
  row.middle = row.end;
  return true;
}

bool SortedRows::next(RowReader::Row& row) {
  if (!status_.ok()) return false;
  if (!merge_) return next_in_memory(row) && unwrap(row);
  if (merge_->next(row)) return unwrap(row);
  status_ = merge_->status();
  return false;
}

Status SortedRows::next(RowBatch& batch) {
  batch.count = 0;
  RowReader::Row row;
  if (!merge_) {
    while (batch.count < kBatchRows && next(row)) batch.add(row);
    return status_;
  }
  // A merged row is valid only until the next row, while a batch needs several rows at once.
  batch_.clear();
  for (uint32_t count = 0; count < kBatchRows && batch_.size() < kBatchBytes && next(row); ++count) {
    batch_.append(row.bytes());
  }
  RowReader reader(batch_);
  while (reader.next(row)) batch.add(row);
  return status_;
}

Status SortedRows::write(BlockSink sink) {
  BucketBlocks out(1, options_.memory, options_.budget, std::move(sink));
  RowReader::Row row;
  while (next(row)) {
    const std::string_view bytes = row.bytes();
    char* at = out.room(0, bytes.size());
    if (at == nullptr) return out.status();
    std::memcpy(at, bytes.data(), bytes.size());
    out.added(0, bytes.size());
  }
  AH_TRY(status_);
  return out.finish();
}

RowSorter::RowSorter(const SortOptions& options)
    : options_(options),
      kinds_(options.order),
      open_(1, options.memory / 8, nullptr, [this](uint32_t, RowBlock block) { return take(std::move(block)); }) {
  options_.memory = std::max(options_.memory, kLeastMemory);
  sorted_.reset(new SortedRows(options_));
}

RowSorter::~RowSorter() = default;

void RowSorter::count_memory() { sorted_->memory_.resize(block_bytes_ + sorted_->entries_.capacity() * sizeof(Entry)); }

Status RowSorter::put(RowBlock block) {
  if (status_.ok()) status_ = open_.finish();  // these rows arrived earlier
  if (status_.ok()) status_ = take(std::move(block));
  return status_;
}

Status RowSorter::take(RowBlock block) {
  auto& entries = sorted_->entries_;
  const size_t added = block.bytes.size() + block.rows * sizeof(Entry);
  if (options_.spill != nullptr && !entries.empty() && sorted_->memory_.bytes() + added > options_.memory) {
    AH_TRY(spill());
  }
  const std::string_view bytes = block.bytes.view();
  const uint64_t base = uint64_t{sorted_->blocks_.size()} << SortedRows::kOffsetBits;
  if (entries.size() + block.rows > entries.capacity()) {
    // Grows by half instead of doubling, since both arrays exist for a moment.
    entries.reserve(std::max(entries.size() + block.rows, entries.capacity() + entries.capacity() / 2));
  }
  RowReader reader(bytes);
  RowReader::Row row;
  const size_t before = entries.size();
  while (reader.next(row)) {
    if (row.first.kind() == RowTag::value) [[unlikely]] {
      rows_ -= entries.size() - before;
      entries.resize(before);
      return take_tables(block);
    }
    if (!kinds_.takes(row.first)) [[unlikely]]
      return kinds_.refused(row.first);
    texts_ = texts_ || is_bytes(row.first.kind());
    entries.push_back({key_rank(row.first, options_.order), base + static_cast<uint64_t>(row.begin - bytes.data())});
    ++rows_;
  }
  if (!reader.ok()) return Error{Code::bad_data, "a block of rows is broken"};
  block_bytes_ += bytes.size();
  sorted_->starts_.push_back(bytes.data());
  sorted_->blocks_.push_back(std::move(block));
  count_memory();
  return {};
}

/// Takes the rows of a block with tables among the keys.
Status RowSorter::take_tables(const RowBlock& block) {
  RowReader reader(block.bytes.view());
  RowReader::Row row;
  std::string bytes;
  while (reader.next(row)) {
    const RowValue& key = tuple_(row.first);
    if (!is_key(key)) return kinds_.refused(row.first);
    RowWriter(bytes).value(key, row.pair);
    if (row.pair) RowWriter(bytes).value(row.second);
  }
  if (!reader.ok()) return Error{Code::bad_data, "a block of rows is broken"};
  return take({Blob::copy_of(bytes.data(), bytes.size()), block.rows});
}

bool RowSorter::write(const RowValue& first, const RowValue* second) {
  const size_t size = written_size(first) + (second != nullptr ? written_size(*second) : 0);
  char* at = open_.room(0, size);
  if (at == nullptr) return false;
  at = write_value(at, first, second != nullptr);
  if (second != nullptr) write_value(at, *second, false);
  open_.added(0, size);
  return true;
}

Status RowSorter::put(const RowValue& first, const RowValue* second) {
  if (!status_.ok()) return status_;
  const RowValue& key = tuple_(first);
  if (!kinds_.takes(key)) return status_ = kinds_.refused(key);  // checked now, while the caller knows the row
  if (!write(key, second)) status_ = open_.status();
  return status_;
}

Status RowSorter::put(const RowBatch& batch) {
  for (uint32_t i = 0; i < batch.count; ++i) {
    AH_TRY(put(batch.first[i], batch.pair[i] != 0 ? &batch.second[i] : nullptr));
  }
  return status_;
}

RowValue RowSorter::key_at(const Entry& entry) const noexcept {
  const RowBlock& block = sorted_->blocks_[entry.where >> SortedRows::kOffsetBits];
  const char* const begin = sorted_->bytes_at(entry.where);
  const char* const end = sorted_->starts_[entry.where >> SortedRows::kOffsetBits] + block.bytes.size();
  RowReader reader({begin, static_cast<size_t>(end - begin)});
  RowReader::Row row;
  [[maybe_unused]] const bool read = reader.next(row);
  assert(read);
  return row.first;
}

bool RowSorter::before(const Entry& a, const Entry& b) const noexcept {
  if (a.rank != b.rank) return a.rank < b.rank;
  const int compared = compare_ties(key_at(a), key_at(b), options_.order);
  return compared != 0 ? compared < 0 : a.where < b.where;
}

void RowSorter::sort() {
  auto& entries = sorted_->entries_;
  const auto by_place = [](const Entry& a, const Entry& b) { return a.where < b.where; };
  const auto rank = [](const Entry& entry) { return entry.rank; };
  const bool ranks_decide = !texts_ && options_.order != SortOrder::hash;
  if (ranks_decide) {
    radix_sort(
        entries.data(), entries.size(), rank,
        [](const Entry& a, const Entry& b) { return a.rank != b.rank ? a.rank < b.rank : a.where < b.where; },
        [&](Entry* first, size_t count) { std::sort(first, first + count, by_place); });
    return;
  }
  const auto less = [this](const Entry& a, const Entry& b) { return before(a, b); };
  radix_sort(entries.data(), entries.size(), rank, less,
             [this](Entry* first, size_t count) { sort_texts(first, count, sizeof(uint64_t)); });
}

void RowSorter::sort_texts(Entry* first, size_t count, size_t depth) {
  // Many keys have the same first `depth` bytes. Mostly they are all equal, or they are long and the next bytes decide.
  const RowValue some = key_at(*first);
  size_t longest = 0;
  bool alike = true;
  for (size_t i = 0; i < count; ++i) {
    if (i + kAhead < count) __builtin_prefetch(sorted_->bytes_at(first[i + kAhead].where));
    const RowValue key = key_at(first[i]);
    longest = std::max<size_t>(longest, key.size);
    alike = alike && key.tag == some.tag && key.number == some.number && key.text() == some.text();
  }
  if (alike) {
    std::sort(first, first + count, [](const Entry& a, const Entry& b) { return a.where < b.where; });
    return;
  }
  const auto less = [this](const Entry& a, const Entry& b) { return before(a, b); };
  if (longest <= depth || options_.order == SortOrder::hash) {
    std::sort(first, first + count, less);
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    const std::string_view text = key_at(first[i]).text();
    const uint64_t rank = text_rank(text.substr(std::min(depth, text.size())));
    first[i].rank = options_.order == SortOrder::descending ? ~rank : rank;
  }
  radix_sort(
      first, count, [](const Entry& entry) { return entry.rank; }, less,
      [this, depth](Entry* part, size_t left) { sort_texts(part, left, depth + sizeof(uint64_t)); });
}

Status RowSorter::spill() {
  sort();
  RunWriter writer(*options_.spill, RunSizes::of(options_.memory).block_bytes);
  RowReader::Row row;
  while (sorted_->next_in_memory(row)) {
    if (!writer.add(row.bytes())) break;
  }
  AH_LET(auto run, writer.finish());
  runs_.push_back(std::move(run));
  sorted_->blocks_.clear();
  sorted_->starts_.clear();
  sorted_->entries_.clear();  // retains the memory for the next run
  sorted_->at_ = 0;
  block_bytes_ = 0;
  texts_ = false;
  count_memory();
  return {};
}

Result<std::unique_ptr<SortedRows>> RowSorter::finish() {
  if (status_.ok()) status_ = open_.finish();
  AH_TRY(status_);
  if (runs_.empty()) {
    sort();
    return std::move(sorted_);
  }
  if (!sorted_->entries_.empty()) AH_TRY(spill());
  sorted_->entries_ = {};
  sorted_->memory_.release();
  const SortedOrder order{options_.order};
  const RunSizes sizes = RunSizes::of(options_.memory);
  AH_TRY(merge_to_fan_in(runs_, sizes, *options_.spill, order));
  sorted_->memory_.resize(runs_.size() * sizes.block_bytes);
  sorted_->merge_ = std::make_unique<RunMerge<SortedOrder>>(std::exchange(runs_, {}), order);
  return std::move(sorted_);
}

}  // namespace actorhost
