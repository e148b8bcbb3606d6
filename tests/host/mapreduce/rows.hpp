#pragma once
// Random rows for the tests of this folder, and rows as plain values for comparison.

#include <utility>
#include <variant>

#include "host/base/random.hpp"
#include "host/mapreduce/rows/block.hpp"
#include "host/mapreduce/rows/memory_budget.hpp"
#include "host/mapreduce/rows/row.hpp"
#include "host/mapreduce/rows/sort_key.hpp"
#include "host/mapreduce/rows/stream.hpp"
#include "tests/test.hpp"

namespace actorhost {

/// A value of a row that owns its bytes. RowTag distinguishes values of other kinds.
struct Plain {
  RowTag tag = RowTag::nil;
  double number = 0;
  std::string text;

  static Plain of(double number) { return {RowTag::number, canonical(number), {}}; }
  static Plain of(std::string_view text) { return {RowTag::text, 0, std::string(text)}; }
  static Plain of(const char* text) { return of(std::string_view(text)); }
  static Plain of(bool value) { return {value ? RowTag::yes : RowTag::no, value ? 1.0 : 0.0, {}}; }
  static Plain from(const RowValue& value) {
    const bool bytes = value.kind() == RowTag::text || value.kind() == RowTag::value;
    return {value.kind(), value.kind() == RowTag::nil || bytes ? 0 : value.number,
            std::string(bytes ? value.text() : "")};
  }
  /// Points into this value.
  RowValue view() const { return {static_cast<uint32_t>(tag), 0, number, text.data(), text.size()}; }
  auto operator<=>(const Plain&) const = default;
};

struct PlainRow {
  Plain first;
  std::optional<Plain> second;

  static PlainRow from(const RowReader::Row& row) {
    return {Plain::from(row.first), row.pair ? std::optional(Plain::from(row.second)) : std::nullopt};
  }
  void write(std::string& out) const {
    RowWriter writer(out);
    writer.value(first.view(), second.has_value());
    if (second) writer.value(second->view());
  }
  auto operator<=>(const PlainRow&) const = default;
};

inline std::string random_text(Rng& rng, uint64_t longest) {
  std::string text(rng.below(longest + 1), 0);
  for (auto& c : text) c = static_cast<char>(rng.below(4) == 0 ? rng.below(256) : 'a' + rng.below(3));
  return text;
}

inline RowBlock block_of(const std::vector<PlainRow>& rows) {
  std::string bytes;
  for (const auto& row : rows) row.write(bytes);
  return {Blob::copy_of(bytes), rows.size()};
}

/// In blocks of up to `each` rows.
inline RowBlocks blocks_of(const std::vector<PlainRow>& rows, size_t each) {
  RowBlocks blocks;
  for (size_t i = 0; i < rows.size(); i += each) {
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(i);
    blocks.push_back(block_of({begin, begin + static_cast<std::ptrdiff_t>(std::min(each, rows.size() - i))}));
  }
  return blocks;
}

inline std::vector<PlainRow> rows_of(const RowBlock& block) {
  std::vector<PlainRow> rows;
  RowReader reader(block.bytes.view());
  RowReader::Row row;
  while (reader.next(row)) rows.push_back(PlainRow::from(row));
  if (!reader.ok() || rows.size() != block.rows) rows.assign(1, {Plain::of(std::string_view("broken block")), {}});
  return rows;
}

inline std::vector<PlainRow> rows_of(const RowBlocks& blocks) {
  std::vector<PlainRow> rows;
  for (const auto& block : blocks) {
    auto more = rows_of(block);
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

/// Views of the rows, which must outlive them.
inline std::vector<RowBatch> batches_of(const std::vector<PlainRow>& rows) {
  std::vector<RowBatch> batches;
  for (const auto& row : rows) {
    if (batches.empty() || batches.back().count == kBatchRows) batches.emplace_back();
    RowBatch& batch = batches.back();
    batch.first[batch.count] = row.first.view();
    if (row.second) batch.second[batch.count] = row.second->view();
    batch.pair[batch.count++] = row.second ? 1 : 0;
  }
  return batches;
}

/// Puts rows into a RowSorter or a BucketWriter in one of the three ways.
template <typename Sink>
Status put_rows(Sink& sink, const std::vector<PlainRow>& rows, uint64_t way) {
  if (way == 0) return sink.put(block_of(rows));
  if (way == 1) {
    for (const auto& batch : batches_of(rows)) AH_TRY(sink.put(batch));
    return {};
  }
  for (const auto& row : rows) {
    const RowValue second = row.second ? row.second->view() : RowValue{};
    AH_TRY(sink.put(row.first.view(), row.second ? &second : nullptr));
  }
  return {};
}

/// The order of a sort of keys of one kind.
inline bool comes_before(const Plain& a, const Plain& b, SortOrder order) {
  if (order == SortOrder::descending) return comes_before(b, a, SortOrder::ascending);
  if (order == SortOrder::hash) {
    const uint64_t x = key_hash(a.view());
    const uint64_t y = key_hash(b.view());
    return x != y ? x < y : a < b;
  }
  return a.tag == RowTag::text ? a.text < b.text : a.number < b.number;
}

/// `size` bytes in one row of text, compressible or not.
inline RowBlock text_block(Rng& rng, size_t size, bool compressible) {
  std::string text(size, 'x');
  for (auto& c : text) c = static_cast<char>(compressible ? 'a' + rng.below(2) : rng.below(256));
  return block_of({{Plain::of(std::string_view(text)), {}}});
}

}  // namespace actorhost
