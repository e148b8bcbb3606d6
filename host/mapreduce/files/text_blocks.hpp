#pragma once
// What readers of rows in text files (csv_rows, json_rows) go through: a text's lines some at a time, and which line of
// which file one is, for errors. Used by the thread that works on the task.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/mapreduce/files/text_input.hpp"

namespace actorhost {

/// Asked about a row that cannot be read: true leaves it out and goes on.
using SkipRow = std::function<bool(const Error&)>;

class TextBlocks {
 public:
  /// `name` is the file's or URL's, for errors.
  TextBlocks(std::unique_ptr<TextInput> input, std::string name) : input_(std::move(input)), name_(std::move(name)) {}

  /// What is there and has not been taken.
  const char* begin() const noexcept { return at_; }
  const char* end() const noexcept { return end_; }
  /// Goes on at `at`.
  void take(const char* at) noexcept { at_ = at; }
  /// Puts more whole lines behind what is there, which may move; false when there are none.
  Result<bool> more();
  /// Code::bad_data, with the file and the line that `at` is in.
  Error error(const char* at, const std::string& what) const;

  uint64_t bytes() const noexcept { return input_->bytes(); }

 private:
  std::unique_ptr<TextInput> input_;
  const std::string name_;
  std::string kept_;  // where a row goes on in the next lines
  const char* first_ = nullptr;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  uint64_t lines_ = 0;  // before first_, of this part
};

/// Where the rows of a batch that is being made lie: what has been written, at places that may still move.
class RowBytes {
 public:
  std::string& out() noexcept { return bytes_; }
  void clear() noexcept {
    bytes_.clear();
    rows_.clear();
  }
  size_t count() const noexcept { return rows_.size(); }
  /// A row: `value`, whose text or table is what was written from `begin` on.
  void add(const RowValue& value, size_t begin) { rows_.push_back({value, begin, bytes_.size() - begin}); }
  /// Gives the rows, which hold until the next change.
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
