#pragma once
// Tuples: arrays of numbers, texts and booleans as keys. A tuple's bytes have the order of its elements, so that it is
// hashed, compared and sorted like a text:
//
//   tuple   = element...
//   element = 0x01 (false) | 0x02 (true) | 0x03 rank:u64 of a number, big-endian | 0x04 text 0x00
//   text    = its bytes, with 0x00 0xff for each 0x00
//
// The order of tuples is the order of their first different elements: false, true, numbers (NaN last), texts by their
// bytes; {1} precedes {1, 2}. Equal tuples have equal bytes on every machine, however Lua stores the array. Pure
// functions, thread-safe.

#include <string>
#include <string_view>

#include "host/mapreduce/rows/row.hpp"

namespace actorhost {

/// Appends the tuple of an encoded array (host/wire/value_bytes.hpp). Returns null, or why a value is
/// no tuple ("it is empty", "it has a table in it"); `out` is then unspecified.
const char* encode_tuple(std::string_view encoded, std::string& out);

/// Appends the encoded array of a tuple; false for damaged bytes.
bool decode_tuple(std::string_view tuple, std::string& encoded);

/// Makes the tuple of a key. One thread at a time.
class TupleOf {
 public:
  /// The key; for an array its tuple, which is valid until the next call. Any other table stays a table.
  const RowValue& operator()(const RowValue& key) { return key.kind() != RowTag::value ? key : made(key); }

 private:
  const RowValue& made(const RowValue& key);

  RowValue tuple_;
  std::string bytes_;
};

/// The encoded array of a tuple, which `bytes` holds; an empty table for damaged bytes.
RowValue array_of(const RowValue& tuple, std::string& bytes);

}  // namespace actorhost
