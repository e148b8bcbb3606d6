#pragma once
// Groups the rows of several inputs by equal keys when groups may not fit in memory: group_by_key of one input, joins
// and cogroups of two or more. Each input is sorted by SortOrder::hash. The rows of a key keep the order in which their
// sorter received them. One thread at a time.

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

  /// Moves to the next key and skips the unread rows of the current key. The key is valid until the next call. Returns
  /// false at the end and after an error; status() has the error.
  bool next_key(RowValue& key);
  /// Reads the next row of the current key from an input; the row is valid until the next call for this input. Returns
  /// false when the key has no more rows.
  bool next_row(size_t input, RowReader::Row& row);
  const Status& status() const noexcept { return status_; }

 private:
  struct Input {
    std::unique_ptr<SortedRows> rows;
    RowReader::Row row;
    uint64_t rank = 0;
    bool more = false;   // `row` is read and not yet returned
    bool given = false;  // `row` was returned, the next row is not yet read
  };

  void advance(Input& input);
  static int compare(const Input& a, const Input& b) noexcept;
  bool in_group(const Input& input) const noexcept;

  std::vector<Input> inputs_;
  std::string key_bytes_;
  RowValue key_;  // points into key_bytes_
  uint64_t rank_ = 0;
  bool any_ = false;
  Status status_;
};

}  // namespace actorhost
