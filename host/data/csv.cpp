#include "host/data/csv.hpp"

#include <algorithm>
#include <cstring>

namespace actorhost {

namespace {

class CsvParser {
 public:
  CsvParser(const std::filesystem::path& path, const CsvOptions& options, std::string_view text)
      : path_(path.string()), options_(options), left_(text) {
    if (left_.starts_with("\xef\xbb\xbf")) left_.remove_prefix(3);
  }

  Result<CsvTable> parse() {
    std::string_view line;
    CsvTable table;
    if (options_.header && next_line(line)) {
      std::string_view field;
      while (next_field(line, field)) table.names.emplace_back(field);
      cols_ = table.names.size();
    }
    values_.reserve(left_.size() / 8);
    while (next_line(line)) AH_TRY(row(line));
    table.values.rows = rows_;
    table.values.cols = cols_;
    table.values.data = Blob::copy_of(values_.data(), values_.size() * sizeof(float));
    return table;
  }

 private:
  Error bad(size_t column, const std::string& what) const {
    std::string message = path_ + ", line " + std::to_string(line_);
    if (column != 0) message += ", column " + std::to_string(column);
    return {Code::bad_data, message + ": " + what};
  }

  /// The next line that is not empty.
  bool next_line(std::string_view& line) {
    while (!left_.empty()) {
      const size_t end = std::min(left_.find('\n'), left_.size());
      line = left_.substr(0, end);
      left_.remove_prefix(std::min(end + 1, left_.size()));
      ++line_;
      if (line.ends_with('\r')) line.remove_suffix(1);
      more_fields_ = !trimmed(line).empty();
      if (more_fields_) return true;
    }
    return false;
  }

  /// Cuts the next field off `line`, without blanks and quotes around it.
  bool next_field(std::string_view& line, std::string_view& field) {
    if (!more_fields_) return false;
    size_t end = 0;
    if (options_.delimiter == ' ') {
      line = trimmed(line);
      end = line.find_first_of(" \t");
    } else {
      end = line.find(options_.delimiter);
    }
    field = trimmed(line.substr(0, end));
    more_fields_ = end != std::string_view::npos;
    if (more_fields_) line.remove_prefix(end + 1);
    if (field.size() >= 2 && field.front() == '"' && field.back() == '"') {
      field = trimmed(field.substr(1, field.size() - 2));
    }
    return true;
  }

  Status row(std::string_view line) {
    std::string_view field;
    size_t column = 0;
    while (next_field(line, field)) {
      ++column;
      float value = 0;
      if (field.empty() && options_.missing) {
        value = *options_.missing;
      } else if (const NumberFault fault = parse_float(field, value); fault != NumberFault::none) {
        if (field.empty()) return bad(column, "empty field; the option `missing` gives such fields a value");
        return bad(column, quoted_text(field) +
                               (fault == NumberFault::too_large ? " is too large for float32" : " is not a number"));
      }
      values_.push_back(value);
    }
    if (cols_ == 0) cols_ = column;
    if (column != cols_) {
      return bad(
          0, std::to_string(column) + " fields found, " + std::to_string(cols_) + " expected as in the lines before");
    }
    ++rows_;
    return {};
  }

  std::string path_;
  const CsvOptions& options_;
  std::string_view left_;
  bool more_fields_ = false;
  std::vector<float> values_;
  size_t line_ = 0;
  size_t rows_ = 0;
  size_t cols_ = 0;
};

}  // namespace

Result<CsvTable> read_csv(const std::filesystem::path& path, const CsvOptions& options) {
  const char d = options.delimiter;
  if (d == '\n' || d == '\r' || d == '"' || d == '.' || d == '-' || d == '+' || (d >= '0' && d <= '9')) {
    return Error{Code::bad_argument, "delimiter " + quoted_text({&d, 1}) + " cannot separate numbers"};
  }
  auto file = read_file(path, options.read);
  if (!file) return std::move(file).error();
  return CsvParser(path, options, file->view()).parse();
}

}  // namespace actorhost
