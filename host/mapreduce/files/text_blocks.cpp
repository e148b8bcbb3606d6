#include "host/mapreduce/files/text_blocks.hpp"

#include <algorithm>

namespace actorhost {

namespace {

uint64_t lines_in(const char* from, const char* to) { return static_cast<uint64_t>(std::count(from, to, '\n')); }

/// Returns the number of lines before a byte of a file; 0 when the file cannot be read any more.
uint64_t lines_before(const std::string& path, uint64_t byte) {
  if (byte == 0) return 0;
  auto input = TextInput::open_whole(path);
  uint64_t lines = 0;
  for (uint64_t read = 0; input && read < byte;) {
    const auto block = (*input)->next();
    if (!block || block->empty()) break;
    const size_t size = std::min<uint64_t>(block->size(), byte - read);
    lines += lines_in(block->data(), block->data() + size);
    read += size;
  }
  return lines;
}

}  // namespace

Result<bool> TextBlocks::more() {
  lines_ += lines_in(first_, at_);
  const bool has_rest = at_ != end_;
  if (has_rest) partial_row_ = std::string(at_, end_);
  AH_LET(const auto lines, input_->next());
  if (has_rest) partial_row_ += lines;
  const std::string_view text = has_rest ? std::string_view(partial_row_) : lines;
  first_ = at_ = text.data();
  end_ = at_ + text.size();
  return !lines.empty();
}

Error TextBlocks::error(const char* at, const std::string& what) const {
  const uint64_t line = lines_before(name_, input_->first()) + lines_ + lines_in(first_, at) + 1;
  return {Code::bad_data, name_ + ", line " + std::to_string(line) + ": " + what};
}

void RowBytes::give(RowBatch& batch) const {
  batch.count = 0;
  for (const Row& row : rows_) {
    RowValue value = row.value;
    value.bytes = bytes_.data() + row.begin;
    value.size = row.size;
    batch.add(value);
  }
}

}  // namespace actorhost
