#pragma once
// The input and output of the parsers of text files (csv_rows, json_rows). TextBlocks reads blocks of whole lines for a
// parser, and counts lines for its errors. RowBytes collects the rows that the parser makes. Used by the thread of the
// task; `more` blocks on the file or the network.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/mapreduce/files/text_input.hpp"

namespace actorhost {

/// Called for a row that cannot be parsed. True: skip the row and continue.
using SkipRow = std::function<bool(const Error&)>;

class TextBlocks {
 public:
  /// `name` is the name of the file or URL, for errors.
  TextBlocks(std::unique_ptr<TextInput> input, std::string name) : input_(std::move(input)), name_(std::move(name)) {}

  // [begin, end) is the text in memory that the parser has not taken.
  const char* begin() const noexcept { return at_; }
  const char* end() const noexcept { return end_; }
  /// Takes the text before `at`.
  void take(const char* at) noexcept { at_ = at; }
  /// Appends more whole lines to the remaining text, which may move. Returns false at the end of the input.
  Result<bool> more();
  /// Code::bad_data; the message names the file and the line number of `at`.
  Error error(const char* at, const std::string& what) const;

  uint64_t bytes() const noexcept { return input_->bytes(); }

 private:
  std::unique_ptr<TextInput> input_;
  const std::string name_;
  std::string partial_row_;  // the text in memory, if a row continues beyond the lines of one block
  const char* first_ = nullptr;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  uint64_t lines_ = 0;  // number of lines before first_ in this part of the file
};

/// Collects the rows of a batch. It stores offsets, because its bytes move while they grow.
class RowBytes {
 public:
  std::string& out() noexcept { return bytes_; }
  void clear() noexcept {
    bytes_.clear();
    rows_.clear();
  }
  size_t count() const noexcept { return rows_.size(); }
  /// Adds a row. The text or table of `value` is in `out()`, from byte `begin` to the end.
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
