#include "host/mapreduce/rows/groups.hpp"

namespace actorhost {

RowGroups::RowGroups(std::vector<std::unique_ptr<SortedRows>> inputs) {
  for (auto& rows : inputs) {
    inputs_.emplace_back().rows = std::move(rows);
    advance(inputs_.back());
  }
}

void RowGroups::advance(Input& input) {
  input.given = false;
  input.more = input.rows->next(input.row);
  if (input.more) {
    input.rank = key_hash(input.row.first);
  } else if (!input.rows->status().ok()) {
    status_ = input.rows->status();
  }
}

int RowGroups::compare(const Input& a, const Input& b) noexcept {
  if (a.rank != b.rank) return a.rank < b.rank ? -1 : 1;
  return compare_ties(a.row.first, b.row.first, SortOrder::hash);
}

bool RowGroups::in_group(const Input& input) const noexcept {
  return any_ && input.more && input.rank == rank_ && compare_ties(input.row.first, key_, SortOrder::hash) == 0;
}

bool RowGroups::next_key(RowValue& key) {
  const Input* least = nullptr;
  for (auto& input : inputs_) {
    if (input.given) advance(input);
    while (in_group(input)) advance(input);
    if (input.more && (least == nullptr || compare(input, *least) < 0)) least = &input;
  }
  if (!status_.ok() || least == nullptr) return false;
  // Copies the key: it outlives its rows.
  key_bytes_.clear();
  RowWriter(key_bytes_).value(least->row.first);
  RowReader::Row copy;
  RowReader reader(key_bytes_);
  reader.next(copy);
  key_ = copy.first;
  rank_ = least->rank;
  any_ = true;
  key = key_;
  return true;
}

bool RowGroups::next_row(size_t input, RowReader::Row& row) {
  Input& from = inputs_[input];
  if (from.given) advance(from);
  if (!status_.ok() || !in_group(from)) return false;
  row = from.row;
  from.given = true;
  return true;
}

}  // namespace actorhost
