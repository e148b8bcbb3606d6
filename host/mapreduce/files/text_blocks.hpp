#pragma once
// The input of the row readers of text files (csv_rows, json_rows): some lines of a text at a time, with line numbers
// for errors. Used by the thread that works on the task.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/mapreduce/files/text_input.hpp"

namespace actorhost {

/// Called for an unreadable row: true skips the row and continues.
using SkipRow = std::function<bool(const Error&)>;

class TextBlocks {
 public:
  /// `name` is the name of the file or URL, for errors.
  TextBlocks(std::unique_ptr<TextInput> input, std::string name) : input_(std::move(input)), name_(std::move(name)) {}

  /// The text that is read and not yet taken.
  const char* begin() const noexcept { return at_; }
  const char* end() const noexcept { return end_; }
  /// Marks the text before `at` as taken.
  void take(const char* at) noexcept { at_ = at; }
  /// Appends more whole lines to the untaken text, which may move. Returns false at the end.
  Result<bool> more();
  /// Code::bad_data, with the file and the line of `at`.
  Error error(const char* at, const std::string& what) const;

  uint64_t bytes() const noexcept { return input_->bytes(); }

 private:
  std::unique_ptr<TextInput> input_;
  const std::string name_;
  std::string partial_row_;  // the start of a row that continues in the next lines
  const char* first_ = nullptr;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  uint64_t lines_ = 0;  // before first_, of this part
};

/// The rows of a batch under construction, as offsets into bytes that may still move.
class RowBytes {
 public:
  std::string& out() noexcept { return bytes_; }
  void clear() noexcept {
    bytes_.clear();
    rows_.clear();
  }
  size_t count() const noexcept { return rows_.size(); }
  /// Adds a row with the value `value`; its text or table is the bytes from `begin` on.
  void add(const RowValue& value, size_t begin) { rows_.push_back({value, begin, bytes_.size() - begin}); }
  /// Fills `batch` with views of the rows, which are valid until the next change.
  void give(RowBatch& batch) const;

 private:
  struct Row {
    RowValue value;
    size_t begin;
    size_t size;
  };

  std::string bytes_;
  std::vector<Row> rows_;
};

}  // namespace actorhost
