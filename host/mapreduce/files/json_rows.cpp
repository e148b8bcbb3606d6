#include "host/mapreduce/files/json_rows.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>
#include <vector>

#include "host/base/printable.hpp"
#include "host/data/content/text_number.hpp"
#include "host/wire/value_bytes.hpp"

namespace actorhost {

namespace {

constexpr int kMaxDepth = 64;

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// Reads the value of a line into `out`, in the codec's encoding.
class JsonReader {
 public:
  explicit JsonReader(std::string& out) : out_(out) {}

  /// Reads the value between `at` and `end` as a row. The row's text or table is in `out`. Returns false for malformed
  /// JSON; `problem` describes the error and its place.
  bool read(const char* at, const char* end, RowValue& row) {
    at_ = at;
    end_ = end;
    skip_blanks();
    if (!top(row)) return false;
    skip_blanks();
    return at_ == end_ || unexpected("the line's end");
  }
  const char* at() const noexcept { return at_; }
  const std::string& problem() const noexcept { return problem_; }

 private:
  bool fail(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }
  bool unexpected(const char* wanted) {
    if (at_ == end_) return fail(std::string("the line ends where ") + wanted + " should be");
    const auto byte = static_cast<uint8_t>(*at_);
    const bool is_plain = byte > 0x20 && byte < 0x7f;
    return fail((is_plain ? std::string("'") + *at_ + "'" : "byte " + std::to_string(byte)) + " where " + wanted +
                " should be");
  }
  void skip_blanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }
  /// Skips blanks, and then `c` if it is next. Returns whether it was.
  bool consume(char c) {
    skip_blanks();
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  bool word(std::string_view text) {
    if (!std::string_view(at_, static_cast<size_t>(end_ - at_)).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }

  bool top(RowValue& row);
  bool value(int depth);
  bool array(int depth);
  bool object(int depth);
  bool key(size_t first);
  bool text(std::string_view& found);
  bool escape();
  bool code_unit(uint32_t& unit);
  bool number(double& found, bool& fits);
  bool whole(std::string_view digits);

  std::string& out_;
  std::string text_;               // the last text with escapes
  std::vector<std::string> keys_;  // of the unfinished objects
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::string problem_;
};

bool JsonReader::top(RowValue& row) {
  const auto is = [&row](RowTag tag, double number = 0) {
    row.tag = static_cast<uint32_t>(tag);
    row.number = number;
    return true;
  };
  const char first = at_ != end_ ? *at_ : '\0';
  if (first == '"') {
    std::string_view found;
    if (!text(found)) return false;
    out_ += found;
    return is(RowTag::text);
  }
  if (first == '-' || is_digit(first)) {
    double found = 0;
    bool fits = true;
    return number(found, fits) && is(fits ? RowTag::number : RowTag::value, found);
  }
  if (word("true")) return is(RowTag::yes, 1);
  if (word("false")) return is(RowTag::no);
  if (word("null")) return fail("null as a whole is no row");
  return value(1) && is(RowTag::value);
}

bool JsonReader::value(int depth) {
  skip_blanks();
  const char first = at_ != end_ ? *at_ : '\0';
  if (first == '"') {
    std::string_view found;
    if (!text(found)) return false;
    value_writer::text(out_, found);
    return true;
  }
  if (first == '-' || is_digit(first)) {
    double found = 0;
    bool fits = true;
    if (!number(found, fits)) return false;
    if (fits) value_writer::number(out_, found);
    return true;
  }
  if ((first == '[' || first == '{') && depth > kMaxDepth) {
    return fail("more than " + std::to_string(kMaxDepth) + " arrays and objects within each other");
  }
  if (first == '[') return array(depth);
  if (first == '{') return object(depth);
  if (word("null")) return value_writer::nil(out_), true;
  if (word("true")) return value_writer::boolean(out_, true), true;
  if (word("false")) return value_writer::boolean(out_, false), true;
  return unexpected("a value");
}

bool JsonReader::array(int depth) {
  ++at_;
  const size_t begin = value_writer::begin_table(out_);
  uint32_t items = 0;
  if (!consume(']')) {
    do {
      if (!value(depth + 1)) return false;
      ++items;
    } while (consume(','));
    if (!consume(']')) return unexpected("',' or ']'");
  }
  value_writer::end_table(out_, begin, items, 0);
  return true;
}

bool JsonReader::object(int depth) {
  ++at_;
  const size_t begin = value_writer::begin_table(out_);
  const size_t first = keys_.size();
  uint32_t pairs = 0;
  if (!consume('}')) {
    do {
      const size_t before = out_.size();
      if (!key(first)) return false;
      if (!consume(':')) return unexpected("':'");
      const size_t middle = out_.size();
      if (!value(depth + 1)) return false;
      if (out_[middle] == static_cast<char>(value_tag::kNil)) {
        out_.resize(before);  // null: the table does not get the key
      } else {
        ++pairs;
      }
    } while (consume(','));
    if (!consume('}')) return unexpected("',' or '}'");
  }
  keys_.resize(first);
  value_writer::end_table(out_, begin, 0, pairs);
  return true;
}

/// Reads a key of an object. The object's earlier keys are in keys_ from `first` on.
bool JsonReader::key(size_t first) {
  skip_blanks();
  if (at_ == end_ || *at_ != '"') return unexpected("a key");
  std::string_view found;
  if (!text(found)) return false;
  for (size_t i = first; i < keys_.size(); ++i) {
    if (keys_[i] == found) return fail("the key \"" + keys_[i] + "\" appears twice");
  }
  keys_.emplace_back(found);
  value_writer::text(out_, found);
  return true;
}

/// Reads the text that begins with the quote at at_; it is valid until the next text.
bool JsonReader::text(std::string_view& found) {
  const char* from = ++at_;
  bool is_plain = true;
  text_.clear();
  for (;;) {
    while (at_ != end_ && *at_ != '"' && *at_ != '\\' && static_cast<uint8_t>(*at_ - 0x20) < 0x60) ++at_;
    if (at_ == end_) return fail("the line ends within a text");
    if (*at_ == '"') break;
    if (*at_ == '\\') {
      text_.append(from, at_);
      if (!escape()) return false;
      from = at_;
      is_plain = false;
    } else if (static_cast<uint8_t>(*at_) < 0x20) {
      return fail("byte " + std::to_string(static_cast<uint8_t>(*at_)) +
                  " within a text, where \\u escapes have to be");
    } else if (const size_t size = utf8_size({at_, static_cast<size_t>(end_ - at_)}); size != 0) {
      at_ += size;
    } else {
      return fail("a text that is not UTF-8");
    }
  }
  if (is_plain) {
    found = {from, static_cast<size_t>(at_ - from)};
  } else {
    text_.append(from, at_);
    found = text_;
  }
  ++at_;
  return true;
}

/// Reads the four digits after "\u".
bool JsonReader::code_unit(uint32_t& unit) {
  if (end_ - at_ < 4) return fail("the line ends within a text");
  const auto [last, error] = std::from_chars(at_, at_ + 4, unit, 16);
  if (error != std::errc() || last != at_ + 4) return fail("four hexadecimal digits have to follow \\u");
  at_ += 4;
  return true;
}

bool JsonReader::escape() {
  constexpr std::string_view kNames = "\"\\/bfnrt";
  constexpr std::string_view kBytes = "\"\\/\b\f\n\r\t";
  if (++at_ == end_) return fail("the line ends within a text");
  const char name = *at_++;
  if (const size_t known = kNames.find(name); known != std::string_view::npos) {
    text_ += kBytes[known];
    return true;
  }
  if (name != 'u') return fail(std::string("no escape '\\") + name + "'");
  uint32_t unit = 0;
  if (!code_unit(unit)) return false;
  if (unit >= 0xd800 && unit < 0xdc00 && word("\\u")) {
    uint32_t low = 0;
    if (!code_unit(low)) return false;
    if (low < 0xdc00 || low > 0xdfff) return fail("half of a surrogate pair");
    unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
  } else if (unit >= 0xd800 && unit <= 0xdfff) {
    return fail("half of a surrogate pair");
  }
  append_utf8(text_, unit);
  return true;
}

/// Reads a number. For a number that does not `fit` a double, writes a 64-bit integer instead.
bool JsonReader::number(double& found, bool& fits) {
  const char* const from = at_;
  if (*at_ == '-') ++at_;
  const char* const digits = at_;
  while (at_ != end_ && is_digit(*at_)) ++at_;
  if (at_ == digits || (*digits == '0' && at_ - digits > 1))
    return fail("a number has to begin with its digits, without zeros");
  bool is_whole = true;
  if (at_ != end_ && *at_ == '.') {
    is_whole = false;
    if (++at_ == end_ || !is_digit(*at_)) return unexpected("a digit");
    while (at_ != end_ && is_digit(*at_)) ++at_;
  }
  if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
    is_whole = false;
    if (++at_ != end_ && (*at_ == '+' || *at_ == '-')) ++at_;
    if (at_ == end_ || !is_digit(*at_)) return unexpected("a digit");
    while (at_ != end_ && is_digit(*at_)) ++at_;
  }
  const std::string_view text(from, static_cast<size_t>(at_ - from));
  const NumberFault fault = parse_number(text, found);
  if (fault == NumberFault::too_large) return fail(std::string(text) + " is too large for a number");
  fits = fault != NumberFault::inexact || !is_whole;
  return fits || whole(text);
}

bool JsonReader::whole(std::string_view digits) {
  int64_t number = 0;
  uint64_t natural = 0;
  const char* const end = digits.data() + digits.size();
  if (std::from_chars(digits.data(), end, number).ec == std::errc()) {
    value_writer::whole(out_, number);
  } else if (std::from_chars(digits.data(), end, natural).ec == std::errc()) {
    value_writer::natural(out_, natural);
  } else {
    return fail(std::string(digits) + " does not fit into 64 bits; write it as a text or with an exponent");
  }
  return true;
}

class JsonRows final : public RowSource {
 public:
  JsonRows(std::unique_ptr<TextInput> input, std::string name, SkipRow skip)
      : text_(std::move(input), std::move(name)), skip_(std::move(skip)) {}

  Status next(RowBatch& batch) override {
    rows_.clear();
    while (rows_.count() < kBatchRows) {
      if (text_.begin() == text_.end()) {
        AH_LET(const auto more, text_.more());
        if (!more) break;
      }
      AH_TRY(line());
    }
    rows_.give(batch);
    return {};
  }
  uint64_t bytes_read() const noexcept override { return text_.bytes(); }

 private:
  Status line() {
    const char* const from = text_.begin();
    const size_t left = static_cast<size_t>(text_.end() - from);
    const auto* found = static_cast<const char*>(std::memchr(from, '\n', left));
    const char* const line_end = found != nullptr ? found : text_.end();
    text_.take(found != nullptr ? found + 1 : line_end);
    if (std::all_of(from, line_end, [](char c) { return c == ' ' || c == '\t' || c == '\r'; })) return {};
    const size_t begin = rows_.out().size();
    JsonReader reader(rows_.out());
    RowValue row;
    if (reader.read(from, line_end, row)) {
      rows_.add(row, begin);
      return {};
    }
    rows_.out().resize(begin);
    Error error = text_.error(from, "column " + std::to_string(reader.at() - from + 1) + ": " + reader.problem());
    if (skip_ && skip_(error)) return {};
    return error;
  }

  TextBlocks text_;
  RowBytes rows_;
  const SkipRow skip_;
};

}  // namespace

std::unique_ptr<RowSource> json_rows(std::unique_ptr<TextInput> input, std::string name, SkipRow skip) {
  return std::make_unique<JsonRows>(std::move(input), std::move(name), std::move(skip));
}

}  // namespace actorhost
