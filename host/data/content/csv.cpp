#include "host/data/content/csv.hpp"

#include <algorithm>
#include <limits>

#include "host/data/content/text_number.hpp"

namespace actorhost {

namespace {

/// Splits text into lines and fields.
class CsvFields {
 public:
  CsvFields(std::string_view text, const CsvOptions& options)
      : at_(without_mark(text).data()),
        end_(text.data() + text.size()),
        delimiter_(options.delimiter),
        comment_(options.comment) {}

  /// The number, from 1, of the current line.
  size_t line() const { return line_; }
  /// Whether the last field has an unclosed quote; such a field extends to the end of the text.
  bool unclosed() const { return unclosed_; }
  /// Whether the last field is unquoted and contains a carriage return.
  bool has_return() const { return has_return_; }
  /// Whether the last field was also the last of its line.
  bool at_end() const { return !more_; }

  void skip_line() {
    at_ = std::find(at_, end_, '\n');
    next_line();
  }

  /// Starts the next line with fields; false at the end of the text.
  bool begin_line() {
    for (; at_ != end_; skip_line()) {
      line_ = lines_ + 1;
      const char* first = at_;
      while (first != end_ && (*first == ' ' || *first == '\t')) ++first;
      more_ = !at_line_end(first);
      if (more_) return true;
    }
    return false;
  }

  /// The next field of the line, without surrounding blanks and quotes; false at the end of the line.
  bool next(std::string_view& field) {
    if (!more_) return false;
    skip_blanks();
    const char* first = at_;
    has_return_ = false;
    if (at_ != end_ && *at_ == '"' && quoted(field)) return finish();
    at_ = first;
    if (delimiter_ == ' ') {
      while (!at_line_end(at_) && *at_ != ' ' && *at_ != '\t') ++at_;
    } else {
      while (at_ != end_ && *at_ != delimiter_ && *at_ != '\n' && !begins_comment(at_)) ++at_;
    }
    field = std::string_view(first, static_cast<size_t>(at_ - first));
    if (field.ends_with('\r') && at_line_end(at_)) field.remove_suffix(1);
    has_return_ = field.find('\r') != std::string_view::npos;
    field = trimmed(field);
    return finish();
  }

 private:
  bool begins_comment(const char* at) const { return comment_ != '\0' && *at == comment_; }
  bool at_line_end(const char* at) const {
    return at == end_ || *at == '\n' || begins_comment(at) || (*at == '\r' && (at + 1 == end_ || at[1] == '\n'));
  }
  void skip_blanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t') && (*at_ != delimiter_ || delimiter_ == ' ')) ++at_;
  }
  void next_line() {
    if (at_ == end_) return;
    ++at_;
    ++lines_;
  }

  /// Reads the quoted field that starts at at_; false if anything but blanks follows the closing quote.
  bool quoted(std::string_view& field) {
    const char* first = ++at_;
    for (;;) {
      at_ = std::find(at_, end_, '"');
      if (at_ == end_ || at_ + 1 == end_ || at_[1] != '"') break;
      at_ += 2;
    }
    unclosed_ = at_ == end_;
    field = trimmed({first, static_cast<size_t>(at_ - first)});
    if (!unclosed_) ++at_;
    skip_blanks();
    if (!at_line_end(at_) && *at_ != delimiter_ && delimiter_ != ' ') return false;
    lines_ += static_cast<size_t>(std::count(first, at_, '\n'));
    return true;
  }

  /// Advances past the delimiter, or to the next line.
  bool finish() {
    if (delimiter_ == ' ') skip_blanks();
    more_ = !at_line_end(at_);
    if (!more_) {
      skip_line();
    } else if (delimiter_ != ' ') {
      ++at_;
    }
    return true;
  }

  const char* at_;
  const char* end_;
  const char delimiter_;
  const char comment_;
  bool more_ = false;
  bool unclosed_ = false;
  bool has_return_ = false;
  size_t lines_ = 0;  // completed lines
  size_t line_ = 0;
};

template <typename T>
class CsvParser {
 public:
  CsvParser(const std::filesystem::path& path, const CsvOptions& options, std::string_view text)
      : path_(path.string()), options_(options), fields_(text, options), bytes_(text.size()) {}

  Result<CsvTable> parse() {
    for (size_t i = 0; i < options_.skip; ++i) fields_.skip_line();
    CsvTable table;
    if (options_.header && fields_.begin_line()) AH_TRY(header());
    AH_TRY(choose());
    values_.reserve(options_.columns.empty() ? bytes_ / 8 : 0);
    while (fields_.begin_line()) AH_TRY(row());
    for (size_t i = 0; i < (names_.empty() ? 0 : width()); ++i) {
      table.names.push_back(names_[chosen_.empty() ? i : chosen_[i]]);
    }
    table.values = {{options_.dtype, {static_cast<int64_t>(rows_), static_cast<int64_t>(width())}},
                    Blob::copy_of(values_.data(), values_.size() * sizeof(T))};
    return table;
  }

 private:
  static constexpr size_t kNowhere = SIZE_MAX;

  size_t width() const { return options_.columns.empty() ? cols_ : options_.columns.size(); }

  Error bad(size_t column, const std::string& what) const {
    std::string message = path_ + ", line " + std::to_string(fields_.line());
    if (column != 0) message += ", column " + std::to_string(column);
    return {Code::bad_data, message + ": " + what};
  }

  /// Checks the form of the last field.
  Status whole(size_t column) const {
    if (fields_.unclosed()) return bad(column, "a quote that does not end");
    return fields_.has_return() ? Status(bad(column, kLoneReturn)) : Status();
  }

  Status header() {
    std::string_view field;
    while (fields_.next(field)) {
      AH_TRY(whole(names_.size() + 1));
      if (field.empty() && fields_.at_end() && !names_.empty()) break;  // a delimiter at the end of the line
      std::string& name = names_.emplace_back(field);
      for (size_t at = 0; (at = name.find("\"\"", at)) != std::string::npos; ++at) name.erase(at, 1);
    }
    cols_ = names_.size();
    return {};
  }

  Error unknown(const std::string& what) const { return {Code::bad_argument, path_ + ": `columns` has " + what}; }

  /// Resolves `columns`: for each column of the file its position in a row, or kNowhere.
  Status choose() {
    for (const CsvColumn& column : options_.columns) {
      size_t index = 0;
      if (const auto* name = std::get_if<std::string>(&column)) {
        if (!options_.header)
          return unknown("the name " + quoted_text(*name) + ", but there is no header (`header = true`)");
        const auto found = std::find(names_.begin(), names_.end(), *name);
        if (found == names_.end())
          return unknown(quoted_text(*name) + ", which is not in the header (" + known() + ")");
        index = static_cast<size_t>(found - names_.begin());
      } else {
        index = std::get<size_t>(column) - 1;
      }
      if (cols_ != 0 && index >= cols_) return beyond(index);
      place_.resize(std::max(place_.size(), index + 1), kNowhere);
      if (place_[index] != kNowhere) return unknown("column " + std::to_string(index + 1) + " twice");
      place_[index] = chosen_.size();
      chosen_.push_back(index);
    }
    return {};
  }

  std::string known() const {
    std::string all;
    for (const std::string& name : names_) all += (all.empty() ? "" : ", ") + quoted_text(name);
    return all;
  }
  Error beyond(size_t index) const {
    return unknown("column " + std::to_string(index + 1) + ", but lines have " + std::to_string(cols_) + " fields");
  }

  Status row() {
    if (!chosen_.empty()) values_.resize(values_.size() + chosen_.size());
    std::string_view field;
    size_t column = 0;
    while (fields_.next(field)) {
      // A delimiter at the end of the line ends its last field. An empty field follows this delimiter only if the row
      // is still short of a field, or if the number of fields is unknown and `missing` allows empty fields.
      if (field.empty() && fields_.at_end() && column != 0 && (cols_ != 0 ? column == cols_ : !options_.missing)) break;
      AH_TRY(take(field, column++));
    }
    if (cols_ == 0) {
      cols_ = column;
      if (place_.size() > cols_) return beyond(place_.size() - 1);
    }
    if (column != cols_) {
      return bad(
          0, std::to_string(column) + " fields found, " + std::to_string(cols_) + " expected as in the lines before");
    }
    ++rows_;
    return {};
  }

  Status take(std::string_view field, size_t column) {
    AH_TRY(whole(column + 1));
    T value = 0;
    if (!chosen_.empty() && (column >= place_.size() || place_[column] == kNowhere)) return {};
    const bool is_na = std::find(options_.na.begin(), options_.na.end(), field) != options_.na.end();
    if (is_na || (field.empty() && options_.missing)) {
      value = static_cast<T>(options_.missing.value_or(std::numeric_limits<double>::quiet_NaN()));
    } else if (const NumberFault fault = parse_number(field, value); fault != NumberFault::none) {
      if (field.empty()) return bad(column + 1, "empty field; the option `missing` gives such fields a value");
      const bool is_more = chosen_.empty() && fault != NumberFault::too_large;
      return bad(column + 1, number_fault_text<T>(field, fault) + (is_more ? kOthers : ""));
    }
    if (chosen_.empty()) {
      values_.push_back(value);
    } else {
      values_[values_.size() - chosen_.size() + place_[column]] = value;
    }
    return {};
  }

  static constexpr const char* kOthers = "; `columns` reads some columns only";

  const std::string path_;
  const CsvOptions& options_;
  CsvFields fields_;
  const size_t bytes_;
  std::vector<std::string> names_;
  std::vector<size_t> place_;   // position in a row, by column of the file
  std::vector<size_t> chosen_;  // columns of the file, by position; empty: all
  std::vector<T> values_;
  size_t rows_ = 0;
  size_t cols_ = 0;  // of the file; 0 until the first line is read
};

}  // namespace

Result<CsvTable> read_csv(const std::filesystem::path& path, const CsvOptions& options) {
  for (const char d : {options.delimiter, options.comment}) {
    const bool is_blank = d == options.comment && (d == ' ' || d == '\t' || d == options.delimiter);
    if (is_blank || d == '\n' || d == '\r' || d == '"' || d == '.' || d == '-' || d == '+' || (d >= '0' && d <= '9')) {
      return Error{Code::bad_argument, (d == options.delimiter ? "delimiter " : "comment ") + quoted_text({&d, 1}) +
                                           " cannot separate numbers"};
    }
  }
  AH_LET(auto file, read_file(path, options.read));
  if (options.dtype == Dtype::f64) return CsvParser<double>(path, options, file.view()).parse();
  return CsvParser<float>(path, options, file.view()).parse();
}

}  // namespace actorhost
