#pragma once
// Reads tables of plain values (points, records, lists) from the codec's bytes without a Lua state. The shape of a
// table is everything except its numbers, texts and booleans. Lua generates a constructor for each shape, which the JIT
// compiles; this reader provides the values. Each Vm owns one reader and uses it on its thread.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "host/mapreduce/rows/row.hpp"
#include "host/wire/value_bytes.hpp"

namespace actorhost {

inline constexpr uint32_t kFlatValues = 64;  // of a table, including its nested tables

/// The layout is shared with Lua (bindings/modules/mapreduce/ffi_mapreduce.h). The values follow the order of the
/// shape's text. The value of a list has the items' address in `bytes` and their number in `size`. Pointers refer to
/// the bytes that were read and to the reader; they are valid until the next `read`.
struct FlatTable {
  uint32_t shape = 0;
  uint32_t count = 0;
  std::array<RowValue, kFlatValues> values;
};

class FlatReader {
 public:
  /// Returns the shape's number, from 1. Returns 0 for tables that only the codec can read: tables with keys other than
  /// texts, tensors, 64-bit integers, or too many values or nested tables; tables beyond the limit of shapes; and
  /// damaged bytes.
  uint32_t read(std::string_view bytes, FlatTable& out);

  /// table = '{' items [ '|' { size ':' key-bytes item } ] '}'
  /// item  = 'n' number | 's' text | 'b' boolean | 'z' nil | 'l' list of numbers, texts and booleans | table
  /// Only n, s, b and l have a value.
  std::string_view shape(uint32_t number) const { return shapes_.at(number - 1); }

 private:
  bool table(int depth);
  bool item(int depth);
  bool items(uint32_t count, int depth);
  bool list(uint32_t count);
  bool add(const RowValue& value);

  ValueReader in_;
  FlatTable* out_ = nullptr;
  std::string text_;  // of the shape that `read` builds
  std::vector<RowValue> list_items_;
  std::vector<std::string_view> shapes_;
  std::unordered_map<std::string, uint32_t> numbers_;
  uint32_t last_ = 0;
};

}  // namespace actorhost
