#include "host/mapreduce/files/value_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "host/base/printable.hpp"
#include "host/data/content/text_number.hpp"
#include "host/mapreduce/files/csv_rows.hpp"
#include "host/mapreduce/rows/plain_value.hpp"
#include "host/mapreduce/rows/tuple_key.hpp"
#include "host/wire/carried_value.hpp"

namespace actorhost {

namespace {

constexpr int kJsonDepth = 64;
constexpr double kWhole = 1e15;

Error damaged() { return {Code::bad_data, "a value of a row is damaged"}; }

void append_number(std::string& out, double number) {
  std::array<char, 32> text{};
  std::to_chars_result end{};
  if (std::isnan(number)) number = std::abs(number);  // a NaN's sign means nothing
  const bool is_plain = number != 0 || !std::signbit(number);
  if (is_plain && number == std::floor(number) && std::abs(number) < kWhole) {
    end = std::to_chars(text.data(), text.data() + text.size(), static_cast<int64_t>(number));
  } else {
    end = std::to_chars(text.data(), text.data() + text.size(), one_nan(number));  // "nan", never "-nan"
  }
  out.append(text.data(), end.ptr);
}

/// The beginning of a text for an error; bytes outside printable ASCII are shown as \xNN.
std::string shown(std::string_view text) {
  constexpr size_t kShown = 40;
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text.substr(0, kShown)) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out.append("\\x").append(1, kHex[byte >> 4]).append(1, kHex[byte & 15]);
    }
  }
  return out + (text.size() > kShown ? "\"..." : "\"");
}

bool is_plain_json(char c) { return static_cast<uint8_t>(c - 0x20) < 0x60 && c != '"' && c != '\\'; }

/// Appends a text as JSON. Code::unsupported when the text is not UTF-8, which JSON needs.
Status append_json_text(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  for (size_t at = 0; at < text.size();) {
    const size_t plain = at;
    while (at < text.size() && is_plain_json(text[at])) ++at;
    out.append(text, plain, at - plain);
    if (at == text.size()) break;
    const char c = text[at];
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
      ++at;
    } else if (static_cast<uint8_t>(c) < 0x20) {
      if (c == '\n')
        out += "\\n";
      else if (c == '\r')
        out += "\\r";
      else if (c == '\t')
        out += "\\t";
      else
        out.append("\\u00").append(1, kHex[static_cast<uint8_t>(c) >> 4]).append(1, kHex[static_cast<uint8_t>(c) & 15]);
      ++at;
    } else if (const size_t size = utf8_size(text.substr(at)); size != 0) {
      out.append(text.substr(at, size));
      at += size;
    } else {
      return Error{Code::unsupported, "JSON's texts are UTF-8, and byte " + std::to_string(at + 1) +
                                          " of this text is not: " + shown(text) +
                                          "; save it as text or CSV, or change it before"};
    }
  }
  out += '"';
  return {};
}

Status append_json_number(std::string& out, double number) {
  if (!std::isfinite(number)) {
    std::string text;
    append_number(text, number);
    return Error{Code::unsupported, "JSON has no number '" + text + "'; save it as text or CSV, or change it before"};
  }
  append_number(out, number);
  return {};
}

/// Reads through a value in the codec's encoding.
class Encoded {
 public:
  explicit Encoded(std::string_view bytes) : in_(bytes) {}

  Status json(std::string& out, int depth = 0);
  /// Enters an array with items, if one is next: its items are the next values.
  bool array(TableHead& head);
  /// Enters a table with keys, if one is next: its items and its pairs are the next values.
  bool record(TableHead& head);
  /// Reads a value that is not a table. Returns false for a table and reads nothing.
  Result<bool> plain(RowValue& value);
  Status finish() const { return in_.left() == 0 ? Status() : damaged(); }

 private:
  Status table(std::string& out, int depth);
  Status entries(uint32_t pairs, const std::vector<std::string>& items, std::string& out, int depth);
  Result<std::string> key(double& number);

  ValueReader in_;
};

Result<bool> Encoded::plain(RowValue& value) {
  if (value_tag::is_table(in_.tag())) return false;
  if (in_.tag() == value_tag::kTensor) return Error{Code::unsupported, "a tensor cannot be written as text"};
  value.tag = static_cast<uint32_t>(RowTag::number);
  if (read_whole(in_, [&value](auto whole) { value.number = static_cast<double>(whole); })) return true;
  return read_plain(in_, value) ? Result<bool>(true) : damaged();
}

bool Encoded::array(TableHead& head) {
  const uint32_t tag = in_.tag();
  return value_tag::has_items(tag) && !value_tag::has_pairs(tag) && in_.table(head);
}

bool Encoded::record(TableHead& head) { return value_tag::has_pairs(in_.tag()) && in_.table(head); }

Status Encoded::json(std::string& out, int depth) {
  if (depth > kJsonDepth) return damaged();
  if (read_whole(in_, [&out](auto whole) { out += std::to_string(whole); })) return {};  // 64-bit integers
  RowValue value;
  const auto is_plain = plain(value);
  if (!is_plain) return is_plain.error();
  return *is_plain ? append_json(out, value) : table(out, depth);
}

Status Encoded::table(std::string& out, int depth) {
  TableHead head;
  if (!in_.table(head)) return damaged();
  if (head.pairs == 0) {
    out += '[';
    for (uint32_t i = 0; i < head.items; ++i) {
      if (i > 0) out += ',';
      AH_TRY(json(out, depth + 1));
    }
    out += ']';
    return {};
  }
  std::vector<std::string> texts;
  for (uint32_t i = 0; i < head.items; ++i) AH_TRY(json(texts.emplace_back(), depth + 1));
  return entries(head.pairs, texts, out, depth);
}

/// Reads a key as JSON's text; `number` is NaN for other keys.
Result<std::string> Encoded::key(double& number) {
  RowValue value;
  AH_LET(const auto is_plain, plain(value));
  if (!is_plain) return damaged();
  number = value.kind() == RowTag::number ? value.number : std::nan("");
  std::string text;
  AH_TRY(append_text(text, value));
  std::string quoted;
  AH_TRY(append_json_text(quoted, text));
  return quoted;
}

/// Writes a table with keys.
Status Encoded::entries(uint32_t pairs, const std::vector<std::string>& items, std::string& out, int depth) {
  struct Entry {
    double number;
    std::string key;
    std::string value;
  };
  std::vector<Entry> all;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i] == "null") continue;  // a hole
    all.push_back({static_cast<double>(i + 1), '"' + std::to_string(i + 1) + '"', items[i]});
  }
  for (uint32_t i = 0; i < pairs; ++i) {
    double number = 0;
    AH_LET(auto text, key(number));
    Entry& entry = all.emplace_back(Entry{number, std::move(text), {}});
    AH_TRY(json(entry.value, depth + 1));
  }
  std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) {
    const bool a_is = a.number == a.number;
    const bool b_is = b.number == b.number;
    if (a_is != b_is) return a_is;
    return a_is ? a.number < b.number : a.key < b.key;
  });
  bool is_array = true;
  for (size_t i = 0; i < all.size(); ++i) is_array = is_array && all[i].number == static_cast<double>(i + 1);
  out += is_array ? '[' : '{';
  for (size_t i = 0; i < all.size(); ++i) {
    if (i > 0) out += ',';
    if (!is_array) out.append(all[i].key).append(1, ':');
    out += all[i].value;
  }
  out += is_array ? ']' : '}';
  return {};
}

/// Appends a CSV field. With `is_text` the field is quoted if a reader would take it for another value.
void append_field(std::string& out, std::string_view text, char separator, bool first, bool is_text) {
  if (!first) out += separator;
  const auto is_special = [separator](char c) { return c == separator || c == '"' || c == '\r' || c == '\n'; };
  // A reader drops a byte order mark at the front of a file, but not within quotes.
  const bool quoted = std::any_of(text.begin(), text.end(), is_special) || (first && text.starts_with(kByteOrderMark));
  if (!quoted && !(is_text && is_csv_value(text))) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

}  // namespace

Status append_text(std::string& out, const RowValue& value) {
  switch (value.kind()) {
    case RowTag::nil: out += "nil"; return {};
    case RowTag::no: out += "false"; return {};
    case RowTag::yes: out += "true"; return {};
    case RowTag::number: append_number(out, value.number); return {};
    case RowTag::text: out += value.text(); return {};
    case RowTag::value:
    case RowTag::tuple: return append_json(out, value);
  }
  return damaged();
}

Status append_json(std::string& out, const RowValue& value) {
  switch (value.kind()) {
    case RowTag::nil: out += "null"; return {};
    case RowTag::number: return append_json_number(out, value.number);
    case RowTag::text: return append_json_text(out, value.text());
    case RowTag::value: {
      if (is_packed_row(value.text())) {
        return Error{Code::unsupported, "a tensor cannot be written as text"};
      }
      Encoded encoded(value.text());
      AH_TRY(encoded.json(out));
      return encoded.finish();
    }
    case RowTag::tuple: {
      std::string bytes;
      return append_json(out, array_of(value, bytes));
    }
    default: return append_text(out, value);
  }
}

namespace {

/// Reads the next value as the text of a CSV field, and whether the value is a text.
Status field_text(Encoded& encoded, std::string& text, bool& is_text) {
  RowValue item;
  AH_LET(const auto is_plain, encoded.plain(item));
  is_text = !is_plain || item.kind() == RowTag::text;
  if (!is_plain) return encoded.json(text, 1);
  return item.kind() == RowTag::nil ? Status() : append_text(text, item);
}

}  // namespace

Status append_csv(std::string& out, const RowValue& value, char separator, bool& first, bool spread) {
  std::string text;
  if (value.kind() == RowTag::tuple) {
    std::string bytes;
    return append_csv(out, array_of(value, bytes), separator, first, spread);
  }
  const auto field = [&](const RowValue& one) -> Status {
    const bool is_text = one.kind() == RowTag::text;
    text.clear();
    if (one.kind() != RowTag::nil && !is_text) AH_TRY(append_text(text, one));
    append_field(out, is_text ? one.text() : text, separator, std::exchange(first, false), is_text);
    return {};
  };
  TableHead head;
  Encoded encoded(value.text());
  if (!spread || value.kind() != RowTag::value || !encoded.array(head)) return field(value);
  for (uint32_t i = 0; i < head.items; ++i) {
    bool is_text = false;
    text.clear();
    AH_TRY(field_text(encoded, text, is_text));
    append_field(out, text, separator, std::exchange(first, false), is_text);
  }
  return encoded.finish();
}

bool is_record(const RowValue& value) {
  TableHead head;
  return value.kind() == RowTag::value && Encoded(value.text()).record(head);
}

Status append_csv_record(std::string& out, const RowValue& value, char separator,
                         const std::vector<std::string>& names) {
  struct Field {
    std::string text;
    bool is_text = false;
  };
  std::vector<Field> fields(names.size());
  TableHead head;
  Encoded encoded(value.text());
  if (!encoded.record(head)) return damaged();
  const auto no_column = [](const std::string& key) {
    return Error{Code::bad_argument, "a row has the field '" + key + "', which is not a name in `header`"};
  };
  if (head.items > 0) return no_column("1");
  for (uint32_t i = 0; i < head.pairs; ++i) {
    std::string name;
    bool is_text = false;
    AH_TRY(field_text(encoded, name, is_text));
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end() || !is_text) return no_column(name);
    Field& field = fields[static_cast<size_t>(found - names.begin())];
    AH_TRY(field_text(encoded, field.text, field.is_text));
  }
  for (size_t i = 0; i < fields.size(); ++i) append_field(out, fields[i].text, separator, i == 0, fields[i].is_text);
  return encoded.finish();
}

std::string csv_header(const std::vector<std::string>& names, char separator) {
  std::string line;
  for (const std::string& name : names) append_field(line, name, separator, &name == &names.front(), false);
  return line + "\n";
}

}  // namespace actorhost
