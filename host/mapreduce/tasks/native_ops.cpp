#include "host/mapreduce/tasks/native_ops.hpp"

#include <cctype>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "host/mapreduce/files/words.hpp"
#include "host/mapreduce/rows/key.hpp"
#include "host/mapreduce/rows/plain_value.hpp"

namespace actorhost {

namespace {

Error not_a_text(const char* operation, const RowValue& value) {
  return {Code::bad_argument, std::string(operation) + " takes texts, got " + describe(value)};
}

/// Adds the next words of `cutter` to `batch` until the batch is full.
void add_words(WordCutter& cutter, RowBatch& batch) {
  RowValue value;
  value.tag = static_cast<uint32_t>(RowTag::text);
  std::string_view word;
  while (batch.count < kBatchRows && cutter.next(word)) {
    value.bytes = word.data();
    value.size = word.size();
    batch.add(value);
  }
}

class WordsOfFile final : public RowSource {
 public:
  explicit WordsOfFile(std::unique_ptr<TextInput> input) : input_(std::move(input)) {}
  Status next(RowBatch& batch) override {
    batch.count = 0;
    for (;;) {
      add_words(cutter_, batch);
      if (batch.count > 0) return {};
      AH_LET(auto lines, input_->next());
      if (lines.empty()) return {};
      cutter_.begin(lines);
    }
  }
  uint64_t bytes_read() const noexcept override { return input_->bytes(); }

 private:
  std::unique_ptr<TextInput> input_;
  WordCutter cutter_;
};

class WordsOfRows final : public RowsThrough {
 public:
  using RowsThrough::RowsThrough;
  Status next(RowBatch& batch) override {
    batch.count = 0;
    for (;;) {
      add_words(cutter_, batch);
      if (batch.count == kBatchRows) return {};
      if (++row_ < texts_.count) {
        const RowValue& text = texts_.first[row_];
        if (text.kind() != RowTag::text) return not_a_text("words", text);
        cutter_.begin(text.text());
        continue;
      }
      if (batch.count > 0) {  // these rows point into the current batch
        --row_;
        return {};
      }
      AH_TRY(rows_->next(texts_));
      if (texts_.count == 0) return {};
      row_ = 0;
      if (texts_.first[0].kind() != RowTag::text) return not_a_text("words", texts_.first[0]);
      cutter_.begin(texts_.first[0].text());
    }
  }

 private:
  RowBatch texts_;
  uint32_t row_ = 0;
  WordCutter cutter_;
};

class InCase final : public RowsThrough {
 public:
  InCase(std::unique_ptr<RowSource> rows, LetterCase letters)
      : RowsThrough(std::move(rows)), first_(letters == LetterCase::lower ? 'A' : 'a') {}
  Status next(RowBatch& batch) override {
    AH_TRY(rows_->next(batch));
    size_t total = 0;
    for (uint32_t i = 0; i < batch.count; ++i) {
      if (batch.first[i].kind() != RowTag::text) return not_a_text(first_ == 'A' ? "lower" : "upper", batch.first[i]);
      total += batch.first[i].size;
    }
    if (bytes_.size() < total) bytes_.resize(2 * total);
    char* at = bytes_.data();
    for (uint32_t i = 0; i < batch.count; ++i) {
      RowValue& text = batch.first[i];
      const char* const from = std::exchange(text.bytes, at);
      for (uint64_t k = 0; k < text.size; ++k) {
        const char c = from[k];
        *at++ = static_cast<char>(static_cast<unsigned char>(c - first_) < 26 ? c ^ 0x20 : c);
      }
      batch.pair[i] = 0;  // like string.lower, which uses only its first argument
    }
    return {};
  }

 private:
  const char first_;
  std::string bytes_;
};

/// Reads the binary digits after "0b", as LuaJIT does. Returns false for other digits.
bool parse_binary(std::string_view digits, double& number) {
  if (digits.empty() || digits.find_first_not_of("01") != std::string_view::npos) return false;
  number = 0;
  for (const char c : digits) number = 2 * number + (c - '0');
  return true;
}

/// The value of a number that is too large or too small for a double: infinite or 0.
double beyond(std::string_view text) { return std::strtod(std::string(text).c_str(), nullptr); }

/// Reads a text as LuaJIT's tonumber does.
bool parse_lua_number(std::string_view text, double& number) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text.front() == '-' || text.back() == ')') return false;
  const char kind = text.size() > 2 && text.front() == '0' ? static_cast<char>(text[1] | 0x20) : '\0';
  std::string_view digits = text;
  if (kind == 'x' || kind == 'b') digits.remove_prefix(2);
  if (kind == 'b') {
    if (!parse_binary(digits, number)) return false;
  } else {
    const char* const end = digits.data() + digits.size();
    const auto format = kind == 'x' ? std::chars_format::hex : std::chars_format::general;
    if (kind == 'x' && !std::isxdigit(static_cast<unsigned char>(digits.front())) && digits.front() != '.')
      return false;
    const auto [last, error] = std::from_chars(digits.data(), end, number, format);
    if (last != end || error == std::errc::invalid_argument) return false;
    if (error == std::errc::result_out_of_range) number = beyond(text);
  }
  if (negative) number = -number;
  return true;
}

/// Reads a row's value as tonumber does.
bool lua_number(const RowValue& value, double& number) {
  if (value.kind() == RowTag::text) return parse_lua_number(value.text(), number);
  ValueReader in(value.text());
  const auto use = [&number](auto whole) { number = static_cast<double>(whole); };
  return value.kind() == RowTag::value && read_whole(in, use) && in.left() == 0;
}

class AsNumbers final : public RowsThrough {
 public:
  using RowsThrough::RowsThrough;
  Status next(RowBatch& batch) override {
    AH_TRY(rows_->next(batch));
    for (uint32_t i = 0; i < batch.count; ++i) {
      RowValue& value = batch.first[i];
      if (batch.pair[i] != 0) return Error{Code::bad_argument, "tonumber takes single values here, got a pair"};
      if (value.kind() == RowTag::number) continue;
      double number = 0;
      if (!lua_number(value, number)) {
        return Error{Code::bad_argument,
                     "tonumber gives nothing for " + describe(value) + " (filter and flatmap leave rows out)"};
      }
      value.tag = static_cast<uint32_t>(RowTag::number);
      value.number = number;
    }
    return {};
  }
};

class WithOne final : public RowsThrough {
 public:
  using RowsThrough::RowsThrough;
  Status next(RowBatch& batch) override {
    AH_TRY(rows_->next(batch));
    RowValue one;
    one.tag = static_cast<uint32_t>(RowTag::number);
    one.number = 1;
    for (uint32_t i = 0; i < batch.count; ++i) {
      batch.second[i] = one;
      batch.pair[i] = 1;
    }
    return {};
  }
  bool only_pairs() const noexcept override { return true; }
};

}  // namespace

std::unique_ptr<RowSource> words_of(std::unique_ptr<RowSource> rows) {
  if (auto* lines = dynamic_cast<LineSource*>(rows.get())) {
    return std::make_unique<WordsOfFile>(std::move(*lines).take_input());
  }
  return std::make_unique<WordsOfRows>(std::move(rows));
}

std::unique_ptr<RowSource> in_case(std::unique_ptr<RowSource> rows, LetterCase letters) {
  return std::make_unique<InCase>(std::move(rows), letters);
}

std::unique_ptr<RowSource> as_numbers(std::unique_ptr<RowSource> rows) {
  return std::make_unique<AsNumbers>(std::move(rows));
}

std::unique_ptr<RowSource> with_one(std::unique_ptr<RowSource> rows) {
  return std::make_unique<WithOne>(std::move(rows));
}

}  // namespace actorhost
