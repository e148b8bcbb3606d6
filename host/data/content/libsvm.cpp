#include "host/data/content/libsvm.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "host/data/content/text_number.hpp"

namespace actorhost {

namespace {

template <typename T>
Tensor array_of(Dtype dtype, const std::vector<T>& values) {
  return {{dtype, {static_cast<int64_t>(values.size())}}, Blob::copy_of(values.data(), values.size() * sizeof(T))};
}

template <typename T>
class LibsvmParser {
 public:
  LibsvmParser(const std::filesystem::path& path, const LibsvmOptions& options)
      : path_(path.string()), options_(options) {}

  /// Reads all complete lines of `text`, which starts at a line; with `last` also the rest. Returns the unread text.
  Result<std::string_view> read(std::string_view text, bool last) {
    while (!text.empty()) {
      const size_t end = text.find('\n');
      if (end == std::string_view::npos && !last) break;
      std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      ++line_;
      start_ = line.data();
      line = line.substr(0, line.find('#'));
      if (line.ends_with('\r')) line.remove_suffix(1);
      AH_TRY(row(line));
    }
    AH_TRY(check_room(data_bytes() + text.size(), "the data read so far needs"));
    return text;
  }

  Result<LibsvmData> finish() {
    starts_.push_back(values_.size());
    LibsvmData out;
    out.rows = labels_.size();
    out.width = options_.features != 0 ? options_.features : width_;
    AH_TRY(options_.sparse ? sparse(out) : dense(out));
    out.labels = array_of(options_.dtype, labels_);
    return out;
  }

 private:
  Error bad(std::string_view at, const std::string& what) const {
    return {Code::bad_data, path_ + ", line " + std::to_string(line_) + ", column " +
                                std::to_string(at.data() - start_ + 1) + ": " + what};
  }

  static bool next_word(std::string_view& line, std::string_view& word) {
    line = trimmed(line);
    const size_t end = std::min(line.find_first_of(" \t"), line.size());
    word = line.substr(0, end);
    line.remove_prefix(end);
    return !word.empty();
  }

  Status number(std::string_view word, std::string_view text, const char* otherwise, T& value) const {
    const NumberFault fault = parse_number(text, value);
    if (fault == NumberFault::none) return {};
    return bad(word,
               fault == NumberFault::no_number ? quoted_text(word) + otherwise : number_fault_text<T>(text, fault));
  }

  Status row(std::string_view line) {
    std::string_view word;
    if (!next_word(line, word)) return {};
    T label = 0;
    AH_TRY(number(word, word, " is not a label (a number)", label));
    starts_.push_back(values_.size());
    labels_.push_back(label);
    next_index_ = options_.zero_based ? 0 : 1;
    while (next_word(line, word)) {
      if (!word.starts_with("qid:")) AH_TRY(cell(word));
    }
    return {};
  }

  Status cell(std::string_view word) {
    const size_t colon = word.find(':');
    if (colon == std::string_view::npos) return bad(word, quoted_text(word) + " is not INDEX:VALUE");
    uint32_t index = 0;
    const char* colon_at = word.data() + colon;
    const auto [end, error] = std::from_chars(word.data(), colon_at, index);
    if (error != std::errc() || end != colon_at) {
      return bad(word, quoted_text(word) + " has no index (a whole number) before ':'");
    }
    if (index < next_index_) {
      return bad(word, quoted_text(word) + " has an index below " + std::to_string(next_index_) +
                           (next_index_ <= 1 ? "; the option `zero_based` sets the first index" : ": they must rise"));
    }
    next_index_ = uint64_t{index} + 1;
    const uint32_t column = options_.zero_based ? index : index - 1;
    if (options_.features != 0 && column >= options_.features) {
      return bad(word, quoted_text(word) + " has an index beyond the " + std::to_string(options_.features) +
                           " features (the option `features`)");
    }
    T value = 0;
    AH_TRY(number(word, word.substr(colon + 1), " has no number after ':'", value));
    width_ = std::max(width_, size_t{column} + 1);
    columns_.push_back(column);
    values_.push_back(value);
    return {};
  }

  /// Bytes of the data read so far.
  size_t data_bytes() const {
    return labels_.size() * (sizeof(T) + sizeof(size_t)) + values_.size() * (sizeof(T) + sizeof(uint32_t));
  }

  Status check_room(size_t bytes, const std::string& what) const {
    if (bytes <= options_.max_bytes) return {};
    return Error{Code::bad_data, path_ + ": " + what + " more than the " + std::to_string(options_.max_bytes) +
                                     " bytes that a node may use (--memory)"};
  }

  Status dense(LibsvmData& out) const {
    size_t bytes = 0;
    size_t all = 0;
    if (__builtin_mul_overflow(out.rows, out.width, &bytes) || __builtin_mul_overflow(bytes, sizeof(T), &bytes) ||
        __builtin_add_overflow(bytes, data_bytes(), &all)) {
      all = bytes = SIZE_MAX;
    }
    AH_TRY(check_room(all, std::to_string(out.rows) + " rows of " + std::to_string(out.width) +
                               " features (sparse = true stores only the values of the file) need"));
    out.features = {{options_.dtype, {static_cast<int64_t>(out.rows), static_cast<int64_t>(out.width)}},
                    Blob::allocate(bytes)};
    if (bytes != 0) std::memset(out.features.data.data(), 0, bytes);
    T* values = reinterpret_cast<T*>(out.features.data.data());
    size_t cell = 0;
    for (size_t row = 0; row < out.rows; ++row, values += out.width) {
      for (; cell < starts_[row + 1]; ++cell) values[columns_[cell]] = values_[cell];
    }
    return {};
  }

  Status sparse(LibsvmData& out) const {
    const size_t bytes = values_.size() * (sizeof(T) + sizeof(int64_t)) + starts_.size() * sizeof(int64_t);
    AH_TRY(check_room(data_bytes() + bytes,
                      std::to_string(values_.size()) + " values in " + std::to_string(out.rows) + " rows need"));
    out.features = array_of(options_.dtype, values_);
    out.columns = positions(columns_);
    out.starts = positions(starts_);
    return {};
  }

  template <typename I>
  static Tensor positions(const std::vector<I>& from_0) {
    Tensor out{{Dtype::i64, {static_cast<int64_t>(from_0.size())}}, Blob::allocate(from_0.size() * sizeof(int64_t))};
    auto* to = reinterpret_cast<int64_t*>(out.data.data());
    for (size_t i = 0; i < from_0.size(); ++i) to[i] = static_cast<int64_t>(from_0[i]) + 1;
    return out;
  }

  const std::string path_;
  const LibsvmOptions& options_;
  const char* start_ = nullptr;  // of the current line
  size_t line_ = 0;
  size_t width_ = 0;
  uint64_t next_index_ = 0;
  std::vector<T> labels_;
  std::vector<size_t> starts_;  // of rows in columns_ and values_
  std::vector<uint32_t> columns_;
  std::vector<T> values_;
};

template <typename T>
Result<LibsvmData> read_from(ByteSource& source, const std::filesystem::path& path, const LibsvmOptions& options) {
  constexpr size_t kPiece = size_t{1} << 18;
  LibsvmParser<T> parser(path, options);
  std::string text;
  for (bool first = true, last = false; !last;) {
    const size_t rest = text.size();
    text.resize(rest + kPiece + rest);  // grows, so that a long line is not searched again for each piece
    AH_LET(auto got, read_fully(source, std::as_writable_bytes(std::span(text).subspan(rest))));
    last = got < text.size() - rest;
    text.resize(rest + got);
    if (first) text.erase(0, text.size() - without_mark(text).size());
    first = false;
    AH_LET(auto left, parser.read(text, last));
    text.erase(0, text.size() - left.size());
  }
  return parser.finish();
}

}  // namespace

Result<LibsvmData> read_libsvm(const std::filesystem::path& path, const LibsvmOptions& options) {
  AH_LET(auto source, open_source(path, options.read));
  if (options.dtype == Dtype::f64) return read_from<double>(*source, path, options);
  return read_from<float>(*source, path, options);
}

}  // namespace actorhost
