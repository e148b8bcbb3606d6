#pragma once
// Reads values other than tables from an encoding (host/wire/value_bytes.hpp). Pure functions, thread-safe.

#include "host/mapreduce/rows/row.hpp"
#include "host/wire/value_bytes.hpp"

namespace actorhost {

/// Reads a value that a row stores without the codec: nil, a boolean, a number or a text. A text is a view into the
/// bytes. Returns false for all other values and for truncated bytes; the position of `in` is then unspecified.
inline bool read_plain(ValueReader& in, RowValue& value) noexcept {
  const auto plain = [&value](RowTag tag, double number) {
    value.tag = static_cast<uint32_t>(tag);
    value.number = number;
    return true;
  };
  switch (in.tag()) {
    case value_tag::kNil: return in.skip(1) && plain(RowTag::nil, 0);
    case value_tag::kFalse: return in.skip(1) && plain(RowTag::no, 0);
    case value_tag::kTrue: return in.skip(1) && plain(RowTag::yes, 1);
    case value_tag::kInteger: {
      int32_t number = 0;
      return in.take_tagged(number) && plain(RowTag::number, number);
    }
    case value_tag::kDouble: value.tag = static_cast<uint32_t>(RowTag::number); return in.take_tagged(value.number);
    default: {
      std::string_view text;
      if (!in.text(text)) return false;
      value.bytes = text.data();
      value.size = text.size();
      return plain(RowTag::text, 0);
    }
  }
}

/// Reads a 64-bit integer and passes it to `use`. Returns false, with nothing read, for other values.
template <typename Use>
bool read_whole(ValueReader& in, Use&& use) {
  int64_t whole = 0;
  uint64_t natural = 0;
  if (in.tag() == value_tag::kSigned && in.take_tagged(whole)) return use(whole), true;
  if (in.tag() == value_tag::kUnsigned && in.take_tagged(natural)) return use(natural), true;
  return false;
}

}  // namespace actorhost
