#include "host/mapreduce/rows/key.hpp"

#include <cstdio>

#include "host/mapreduce/rows/tuple_key.hpp"
#include "host/wire/carried_value.hpp"
#include "host/wire/value_bytes.hpp"

namespace actorhost {

namespace {

std::string describe_encoded(std::string_view value) {
  const uint32_t tag = ValueReader(value).tag();
  if (tag == value_tag::kSigned || tag == value_tag::kUnsigned) return "a 64-bit integer";
  if (tag == value_tag::kTensor || is_packed_row(value)) return "a tensor, or a table with tensors";
  return "a table";
}

}  // namespace

std::string describe(const RowValue& value) {
  switch (value.kind()) {
    case RowTag::nil: return "nil";
    case RowTag::no: return "false";
    case RowTag::yes: return "true";
    case RowTag::number: {
      char text[40];
      std::snprintf(text, sizeof text, "number %.14g", value.number);
      return text;
    }
    case RowTag::text: {
      constexpr size_t kShown = 40;
      std::string text = "text '";
      for (const char c : value.text().substr(0, kShown)) {
        text += static_cast<unsigned char>(c) < ' ' || c == 127 ? '?' : c;
      }
      return text + (value.size > kShown ? "'..." : "'");
    }
    case RowTag::value: return describe_encoded(value.text());
    case RowTag::tuple: return "a tuple";
  }
  return "a broken row";
}

Error not_a_key(const RowValue& value) {
  std::string message = "a key must be a text, a number, a boolean or an array of these, not " + describe(value);
  std::string tuple;
  if (message.ends_with("a table")) {
    if (const char* fault = encode_tuple(value.text(), tuple)) message += std::string(": ") + fault;
  }
  if (message.ends_with("integer")) message += " (tonumber() or tostring() makes a key of it)";
  return {Code::bad_argument, message};
}

Status check_comparable(const RowValue& first, const RowValue* second) {
  const bool is_first = first.kind() == RowTag::value;
  if (!is_first && (second == nullptr || second->kind() != RowTag::value)) return {};
  const std::string what = describe(is_first ? first : *second);
  return Error{
      Code::bad_argument,
      (what == "a table" ? "tables" : what) +
          " cannot be compared: rows that are to be distinct are texts, numbers, booleans or pairs of these (a "
          "function gives a pair as two results, not as {a, b})"};
}

}  // namespace actorhost
