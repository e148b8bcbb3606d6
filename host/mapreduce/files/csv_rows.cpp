#include "host/mapreduce/files/csv_rows.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "host/data/content/text_number.hpp"
#include "host/wire/value_bytes.hpp"

namespace actorhost {

namespace {

struct Field {
  std::string_view text;
  bool quoted = false;
};

enum class Cut { record, open, bad };  // open: the record needs more lines

/// Cuts a record into its fields.
class CsvCutter {
 public:
  explicit CsvCutter(char separator) {
    for (const char stop : {separator, '\n', '\r'}) stops_[static_cast<uint8_t>(stop)] = true;
  }

  /// Cuts the record from `at` to before `end` and moves `at` after the record. The fields are valid as long as the
  /// text and until the next record. A record ends with a line; the `last` record ends with the text.
  Cut cut(const char*& at, const char* end, bool last) {
    fields_.clear();
    moved_.clear();
    unescaped_.clear();
    for (const char* here = at;;) {
      const Cut result = here != end && *here == '"' ? quoted(here, end) : plain(here, end);
      if (result == Cut::bad) at = line_end(here, end);
      if (result != Cut::record) return result;
      if (here == end && !last) return Cut::open;
      if (here == end || *here == '\n') {
        at = here == end ? end : here + 1;
        own_unescaped();
        return Cut::record;
      }
      ++here;
    }
  }
  const std::vector<Field>& fields() const noexcept { return fields_; }
  /// Describes the error of the last Cut::bad.
  const char* problem() const noexcept { return problem_; }
  bool blank() const noexcept { return fields_.size() == 1 && fields_[0].text.empty() && !fields_[0].quoted; }

 private:
  static const char* line_end(const char* at, const char* end) {
    const char* const found = std::find(at, end, '\n');
    return found == end ? end : found + 1;
  }

  /// Finds the end of an unquoted field: moves `at` to the separator or the line's end.
  Cut plain(const char*& at, const char* end) {
    const char* const from = at;
    while (at != end && !stops_[static_cast<uint8_t>(*at)]) ++at;
    fields_.push_back({{from, static_cast<size_t>(at - from)}, false});
    return behind_field(at, end);
  }

  /// Skips the carriage return of a line's end.
  Cut behind_field(const char*& at, const char* end) {
    if (at == end || *at != '\r') return Cut::record;
    problem_ = kLoneReturn;
    if (at + 1 != end && at[1] != '\n') return Cut::bad;
    ++at;
    return Cut::record;
  }

  Cut quoted(const char*& at, const char* end) {
    const char* const from = ++at;
    bool doubled = false;
    for (;; at += 2) {
      at = std::find(at, end, '"');
      if (at == end) return Cut::open;
      if (at + 1 == end || at[1] != '"') break;
      doubled = true;
    }
    const std::string_view text(from, static_cast<size_t>(at - from));
    fields_.push_back({doubled ? unescape(text) : text, true});
    ++at;
    problem_ = "text behind a closing quote (in a quoted field a quote is written twice)";
    return at == end || stops_[static_cast<uint8_t>(*at)] ? behind_field(at, end) : Cut::bad;
  }

  /// Unescapes a field into unescaped_, which may still reallocate: until the record's end the field has only its size.
  std::string_view unescape(std::string_view text) {
    const size_t begin = unescaped_.size();
    for (size_t i = 0; i < text.size(); ++i) {
      unescaped_ += text[i];
      if (text[i] == '"') ++i;
    }
    moved_.push_back(fields_.size());
    return {text.data(), unescaped_.size() - begin};
  }
  void own_unescaped() {
    size_t begin = 0;
    for (const size_t i : moved_) {
      fields_[i].text = std::string_view(unescaped_).substr(begin, fields_[i].text.size());
      begin += fields_[i].text.size();
    }
  }

  std::array<bool, 256> stops_{};
  const char* problem_ = "";
  std::vector<Field> fields_;
  std::vector<size_t> moved_;  // the numbers of the fields that are in unescaped_
  std::string unescaped_;
};

constexpr std::string_view kMultiline = "; multiline = true reads each file in one piece, where quotes go over lines";

std::optional<bool> boolean_of(std::string_view text) {
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  return std::nullopt;
}

/// Reads a number that does not begin with a digit: nan or inf.
std::optional<double> named_number(std::string_view text) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  if (text == "nan" || text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (text == "inf" || text == "Inf") return negative ? -kInfinite : kInfinite;
  return std::nullopt;
}

NumberFault number_of(std::string_view field, double& value) {
  const std::string_view text = trimmed(field);
  const size_t sign = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  const char first = text.size() > sign ? text[sign] : '\0';
  if ((first >= '0' && first <= '9') || first == '.') return parse_number(text, value);
  const auto named = named_number(text);
  if (named) value = *named;
  return named ? NumberFault::none : NumberFault::no_number;
}

struct Column {
  std::string name;
  std::string key;  // encoded; empty in arrays
  CsvKind kind = CsvKind::any;
};

/// Has the columns of a file, and writes its records as tables.
class CsvTables {
 public:
  explicit CsvTables(const CsvFormat& format) : format_(format) {}

  /// Determines the columns from the file's first record.
  Status settle(const std::vector<Field>& first);
  size_t columns() const noexcept { return columns_.size(); }

  /// Whether there are as many fields as columns, not counting an empty field at the end. If not, sets `problem`.
  bool fits(const std::vector<Field>& fields);
  /// Appends the table of matching fields. Returns false for a wrong field and sets `problem`.
  bool write(const std::vector<Field>& fields, std::string& out);
  const std::string& problem() const noexcept { return problem_; }

 private:
  Status choose_kinds();
  /// Appends a field's value; nothing for a missing value.
  bool value(const Field& field, CsvKind kind, std::string& out);
  bool refuse(const std::string& problem) {
    problem_ = problem;
    return false;
  }

  const CsvFormat format_;
  std::vector<Column> columns_;
  std::string problem_;
};

Status CsvTables::settle(const std::vector<Field>& first) {
  std::vector<std::string> names = format_.names;
  if (format_.header && names.empty()) {
    for (const Field& field : first) names.emplace_back(field.text);
  }
  if (format_.header && names.size() != first.size()) {
    return Error{Code::bad_data, "the header has " + std::to_string(first.size()) + " names, `names` has " +
                                     std::to_string(names.size())};
  }
  columns_.resize(names.empty() ? first.size() : names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
        names.begin() + static_cast<std::ptrdiff_t>(i)) {
      return Error{Code::bad_data, "two columns have the name " + quoted_text(names[i]) + "; `names` gives others"};
    }
    columns_[i].name = names[i];
    value_writer::text(columns_[i].key, names[i]);
  }
  return choose_kinds();
}

Status CsvTables::choose_kinds() {
  for (Column& column : columns_) column.kind = format_.kind;
  for (const auto& [name, kind] : format_.kinds) {
    size_t i = 0;
    while (i < columns_.size() && name != (columns_[i].key.empty() ? std::to_string(i + 1) : columns_[i].name)) ++i;
    if (i < columns_.size()) {
      columns_[i].kind = kind;
      continue;
    }
    std::string known;
    for (const Column& column : columns_) known += (known.empty() ? "" : ", ") + quoted_text(column.name);
    return Error{Code::bad_argument,
                 "`types` has " + quoted_text(name) + ", and there are " +
                     (columns_.front().key.empty() ? std::to_string(columns_.size()) + " columns without names"
                                                   : "the columns " + known)};
  }
  return {};
}

bool CsvTables::fits(const std::vector<Field>& fields) {
  const bool has_empty_end =
      fields.size() == columns_.size() + 1 && fields.back().text.empty() && !fields.back().quoted;
  if (fields.size() == columns_.size() || has_empty_end) return true;
  return refuse(std::to_string(fields.size()) + " fields, " + std::to_string(columns_.size()) +
                " expected as in the file's first line");
}

bool CsvTables::write(const std::vector<Field>& fields, std::string& out) {
  const size_t begin = value_writer::begin_table(out);
  const bool named = !columns_.front().key.empty();
  uint32_t items = 0;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    const size_t before = out.size();
    out += column.key;
    const size_t middle = out.size();
    if (!value(fields[i], column.kind, out)) {
      problem_ =
          "column " + std::to_string(i + 1) + (named ? " (" + quoted_text(column.name) + ")" : "") + ": " + problem_;
      return false;
    }
    if (out.size() == middle && named) {
      out.resize(before);
      continue;
    }
    if (out.size() == middle) value_writer::nil(out);
    ++items;
  }
  value_writer::end_table(out, begin, named ? 0 : items, named ? items : 0);
  return true;
}

bool CsvTables::value(const Field& field, CsvKind kind, std::string& out) {
  const bool is_any = kind == CsvKind::any;
  const bool is_na = !field.quoted && std::find(format_.na.begin(), format_.na.end(), field.text) != format_.na.end();
  if (is_na) {
    out += format_.missing;
    return true;
  }
  if (kind == CsvKind::text || (is_any && field.quoted)) {
    value_writer::text(out, field.text);
    return true;
  }
  if (field.text.empty()) {
    out += format_.missing;
    return true;
  }
  double number = 0;
  const NumberFault fault = kind == CsvKind::boolean ? NumberFault::no_number : number_of(field.text, number);
  if (fault == NumberFault::none) {
    value_writer::number(out, number);
    return true;
  }
  if (kind == CsvKind::number) return refuse(number_fault_text<double>(field.text, fault));
  if (const auto yes = boolean_of(field.text)) {
    value_writer::boolean(out, *yes);
    return true;
  }
  if (kind == CsvKind::boolean) return refuse(quoted_text(field.text) + " is neither true nor false");
  value_writer::text(out, field.text);
  return true;
}

class CsvRows final : public RowSource {
 public:
  CsvRows(TextBlocks text, const CsvFormat& format, SkipRow skip)
      : text_(std::move(text)),
        cutter_(format.separator),
        tables_(format),
        hint_(format.whole ? std::string_view() : kMultiline),
        header_(format.header),
        skip_(std::move(skip)) {}

  /// Determines the columns before the first row, from the first record of the file. `start` or the text begins with
  /// that record.
  Status begin(TextBlocks* start);
  Status next(RowBatch& batch) override;
  uint64_t bytes_read() const noexcept override { return text_.bytes(); }

 private:
  enum class Found { record, none, bad };

  /// Cuts the next record that is not blank and moves `at` to its end. Sets problem_ for a bad record.
  Result<Found> record(TextBlocks& text, const char*& at);
  Status bad(const std::string& problem);

  TextBlocks text_;
  CsvCutter cutter_;
  CsvTables tables_;
  RowBytes rows_;
  const std::string_view hint_;
  const bool header_;
  bool behind_ = false;  // not the file's first part: the part before may have ended within quotes
  const SkipRow skip_;
  std::string problem_;
};

Result<CsvRows::Found> CsvRows::record(TextBlocks& text, const char*& at) {
  bool last = false;
  for (;;) {
    at = text.begin();
    const Cut cut = at == text.end() ? Cut::open : cutter_.cut(at, text.end(), last);
    if (cut == Cut::record && !cutter_.blank()) return Found::record;
    if (cut == Cut::record) {
      text.take(at);
    } else if (cut == Cut::bad) {
      problem_ = cutter_.problem();
      return Found::bad;
    } else if (last) {
      at = text.end();
      problem_ = "a quote that does not end";
      return at == text.begin() ? Found::none : Found::bad;
    } else {
      AH_LET(auto more, text.more());
      last = !more;
    }
  }
}

Status CsvRows::begin(TextBlocks* start) {
  TextBlocks& text = start != nullptr ? *start : text_;
  behind_ = start != nullptr;
  AH_TRY(text.more());
  const char* at = nullptr;
  AH_LET(auto found, record(text, at));
  if (found == Found::none) return {};
  if (found == Found::bad) return text.error(text.begin(), problem_ + std::string(hint_));
  if (const Status status = tables_.settle(cutter_.fields()); !status) {
    Error error = text.error(text.begin(), status.error().message);
    error.code = status.error().code;
    return error;
  }
  if (header_ && start == nullptr) text_.take(at);
  return {};
}

Status CsvRows::next(RowBatch& batch) {
  rows_.clear();
  RowValue table;
  table.tag = static_cast<uint32_t>(RowTag::value);
  while (rows_.count() < kBatchRows) {
    const char* at = nullptr;
    AH_LET(auto found, record(text_, at));
    if (found == Found::none) break;
    const size_t begin = rows_.out().size();
    if (found == Found::bad) {
      AH_TRY(bad(problem_ + std::string(hint_)));
    } else if (!tables_.fits(cutter_.fields())) {
      AH_TRY(bad(tables_.problem() + std::string(behind_ ? hint_ : std::string_view())));
    } else if (tables_.write(cutter_.fields(), rows_.out())) {
      rows_.add(table, begin);
    } else {
      rows_.out().resize(begin);
      AH_TRY(bad(tables_.problem()));
    }
    text_.take(at);
  }
  rows_.give(batch);
  return {};
}

/// Returns the error of the record at the text's current position; none when bad records are skipped.
Status CsvRows::bad(const std::string& problem) {
  Error error = text_.error(text_.begin(), problem);
  return skip_ && skip_(error) ? Status() : Status(std::move(error));
}

}  // namespace

bool is_csv_value(std::string_view field) {
  double number = 0;
  return field.empty() || number_of(field, number) == NumberFault::none || boolean_of(field).has_value();
}

Result<std::unique_ptr<RowSource>> csv_rows(std::unique_ptr<TextInput> input, std::string name, const CsvFormat& format,
                                            std::unique_ptr<TextInput> start, SkipRow skip) {
  std::optional<TextBlocks> front;
  if (start) front.emplace(std::move(start), name);
  auto rows = std::make_unique<CsvRows>(TextBlocks(std::move(input), std::move(name)), format, std::move(skip));
  AH_TRY(rows->begin(front ? &*front : nullptr));
  return std::unique_ptr<RowSource>(std::move(rows));
}

}  // namespace actorhost
