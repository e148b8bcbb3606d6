#include "host/data/libsvm.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace actorhost {

namespace {

struct Cell {
  uint32_t column;
  float value;
};

class LibsvmParser {
 public:
  LibsvmParser(const std::filesystem::path& path, const LibsvmOptions& options, std::string_view text)
      : path_(path.string()), options_(options), left_(text) {}

  Result<LibsvmData> parse() {
    while (!left_.empty()) {
      const size_t end = std::min(left_.find('\n'), left_.size());
      std::string_view line = left_.substr(0, end);
      left_.remove_prefix(std::min(end + 1, left_.size()));
      ++line_;
      start_ = line.data();
      line = line.substr(0, line.find('#'));
      if (line.ends_with('\r')) line.remove_suffix(1);
      AH_TRY(row(line));
    }
    row_ends_.push_back(cells_.size());
    return dense();
  }

 private:
  Error bad(std::string_view at, const std::string& what) const {
    return {Code::bad_data, path_ + ", line " + std::to_string(line_) + ", column " +
                                std::to_string(at.data() - start_ + 1) + ": " + quoted_text(at) + " " + what};
  }

  static bool next_word(std::string_view& line, std::string_view& word) {
    line = trimmed(line);
    const size_t end = std::min(line.find_first_of(" \t"), line.size());
    word = line.substr(0, end);
    line.remove_prefix(end);
    return !word.empty();
  }

  Status row(std::string_view line) {
    std::string_view word;
    if (!next_word(line, word)) return {};
    float label = 0;
    if (parse_float(word, label) != NumberFault::none) return bad(word, "is not a label (a number)");
    if (!labels_.empty()) row_ends_.push_back(cells_.size());
    labels_.push_back(label);
    next_index_ = options_.zero_based ? 0 : 1;
    while (next_word(line, word)) {
      if (!word.starts_with("qid:")) AH_TRY(cell(word));
    }
    return {};
  }

  Status cell(std::string_view word) {
    const size_t colon = word.find(':');
    if (colon == std::string_view::npos) return bad(word, "is not INDEX:VALUE");
    uint32_t index = 0;
    const char* colon_at = word.data() + colon;
    const auto [end, error] = std::from_chars(word.data(), colon_at, index);
    if (error != std::errc() || end != colon_at) return bad(word, "has no index (a whole number) before ':'");
    if (index < next_index_) {
      return bad(word,
                 "has an index below " + std::to_string(next_index_) +
                     (next_index_ <= 1 ? "; the option `zero_based` tells where they start" : ": they must rise"));
    }
    next_index_ = uint64_t{index} + 1;
    const uint32_t column = options_.zero_based ? index : index - 1;
    if (options_.features != 0 && column >= options_.features) {
      return bad(word, "has an index beyond the " + std::to_string(options_.features) + " features asked for");
    }
    float value = 0;
    if (parse_float(word.substr(colon + 1), value) != NumberFault::none) return bad(word, "has no number after ':'");
    columns_ = std::max(columns_, size_t{column} + 1);
    cells_.push_back({column, value});
    return {};
  }

  Result<LibsvmData> dense() const {
    LibsvmData out;
    const size_t cols = options_.features != 0 ? options_.features : columns_;
    size_t bytes = 0;
    if (__builtin_mul_overflow(labels_.size(), cols, &bytes) || __builtin_mul_overflow(bytes, sizeof(float), &bytes) ||
        bytes > options_.max_bytes) {
      return Error{Code::bad_data, path_ + ": " + std::to_string(labels_.size()) + " rows of " + std::to_string(cols) +
                                       " features need more than the " + std::to_string(options_.max_bytes) +
                                       " bytes that are allowed (max_bytes)"};
    }
    out.labels = {labels_.size(), 1, Blob::copy_of(labels_.data(), labels_.size() * sizeof(float))};
    out.features = {labels_.size(), cols, Blob::allocate(bytes)};
    if (bytes != 0) std::memset(out.features.data.data(), 0, bytes);
    size_t cell = 0;
    for (size_t row = 0; row < labels_.size(); ++row) {
      float* values = out.features.values() + row * cols;
      for (; cell < row_ends_[row]; ++cell) values[cells_[cell].column] = cells_[cell].value;
    }
    return out;
  }

  std::string path_;
  const LibsvmOptions& options_;
  std::string_view left_;
  const char* start_ = nullptr;  // of the current line
  size_t line_ = 0;
  size_t columns_ = 0;
  uint64_t next_index_ = 0;
  std::vector<float> labels_;
  std::vector<Cell> cells_;
  std::vector<size_t> row_ends_;
};

}  // namespace

Result<LibsvmData> read_libsvm(const std::filesystem::path& path, const LibsvmOptions& options) {
  auto file = read_file(path, options.read);
  if (!file) return std::move(file).error();
  return LibsvmParser(path, options, file->view()).parse();
}

}  // namespace actorhost
