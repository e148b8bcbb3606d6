#pragma once
// Tables of plain values out of the codec's bytes without a Lua state: what a row's table most often is, a point, a
// record, a list. A table's shape is everything about it but the numbers and texts themselves; Lua makes a constructor
// for each shape, which the JIT compiles, and gets the numbers and texts from here. One for each Vm, used on its
// thread.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "host/mapreduce/rows/row.hpp"
#include "host/wire/value_bytes.hpp"

namespace actorhost {

inline constexpr uint32_t kFlatValues = 64;  // of a table, those of tables within it included

/// The layout is shared with Lua (bindings/modules/ffi_mapreduce.h). The values come in the order of the shape's text;
/// a list's value has its items' address in `bytes` and their number in `size`. They point into the bytes that were
/// read and into the reader, until it reads again.
struct FlatTable {
  uint32_t shape = 0;
  uint32_t count = 0;
  std::array<RowValue, kFlatValues> values;
};

class FlatReader {
 public:
  /// The shape's number, from 1, or 0 for what is no such table: with other keys than texts, tensors, 64-bit integers,
  /// too many values or tables within tables, one of too many shapes, or damaged. That is the codec's then.
  uint32_t read(std::string_view bytes, FlatTable& out);

  /// table = '{' items [ '|' { size ':' key-bytes item } ] '}'
  /// item  = 'n' number | 's' text | 't' | 'f' | 'z' nil | 'l' list of numbers, texts and booleans | table
  /// Only n, s and l have a value.
  std::string_view shape(uint32_t number) const { return shapes_.at(number - 1); }

 private:
  bool table(int depth);
  bool item(int depth);
  bool items(uint32_t count, int depth);
  bool list(uint32_t count);
  bool add(const RowValue& value);

  ValueReader in_;
  FlatTable* out_ = nullptr;
  std::string text_;  // of the shape that is being read
  std::vector<RowValue> list_items_;
  std::vector<std::string_view> shapes_;
  std::unordered_map<std::string, uint32_t> numbers_;
  uint32_t last_ = 0;
};

}  // namespace actorhost
