#pragma once
// Rows of several inputs by equal keys, for groups that may not fit in memory: group_by_key of one input, joins and
// cogroups of two or more. Each input is sorted by SortOrder::hash; rows of a key come in the order in which they were
// put into their sorter. One thread at a time.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/base/result.hpp"
#include "host/mapreduce/rows/sorter.hpp"

namespace actorhost {

class RowGroups {
 public:
  explicit RowGroups(std::vector<std::unique_ptr<SortedRows>> inputs);

  /// On to the next key, past the rows of this one that were not read. The key is valid until the next call. False at
  /// the end and after an error, which status() has.
  bool next_key(RowValue& key);
  /// The next row of this key of an input, valid until the next one of it. False when there are no more.
  bool next_row(size_t input, RowReader::Row& row);
  const Status& status() const noexcept { return status_; }

 private:
  struct Input {
    std::unique_ptr<SortedRows> rows;
    RowReader::Row row;
    uint64_t rank = 0;
    bool more = false;   // `row` is there and was not given out
    bool given = false;  // `row` was given out, the next one was not read
  };

  void advance(Input& input);
  static int compare(const Input& a, const Input& b) noexcept;
  bool in_group(const Input& input) const noexcept;

  std::vector<Input> inputs_;
  std::string key_bytes_;
  RowValue key_;  // into key_bytes_
  uint64_t rank_ = 0;
  bool any_ = false;
  Status status_;
};

}  // namespace actorhost
