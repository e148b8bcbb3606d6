#include "host/mapreduce/rows/key.hpp"

#include <cstdio>

namespace actorhost {

namespace {

/// What an encoded value is, by its first byte (bindings/vm/lua_codec.cpp, host/wire/carried_value.hpp).
std::string describe_encoded(const RowValue& value) {
  switch (value.size != 0 ? static_cast<unsigned char>(value.bytes[0]) : 0) {
    case 0x10:
    case 0x11: return "a 64-bit integer";
    case 0x12:
    case 0xff: return "a tensor, or a table with tensors";
    default: return "a table";
  }
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
    case RowTag::value: return describe_encoded(value);
  }
  return "a broken row";
}

Error not_a_key(const RowValue& value) {
  std::string message = "a key must be a text, a number or a boolean, not " + describe(value);
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
