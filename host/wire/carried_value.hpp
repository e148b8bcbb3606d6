#pragma once
// A Lua value or a tensor on its way between nodes: nil, a tensor, or what bindings/vm/lua_codec.hpp wrote with the
// tensors beside it. Engines carry it and look into no part, but to add tensors up. Packed it is a small head and one
// block of bytes:
//
//   head   = 0                                    nil
//          | 1 layout                             a tensor; body: its elements
//          | 2 encoding                           a small Lua value without tensors; no body
//          | 3 size:u64 count:u32 *layout         any other; body: its encoding of that size, then its tensors
//   layout = dtype:u8 rank:u8 *dim:i64            (host/base/tensor.hpp)
//
// In a body each part begins at a multiple of 8 bytes. A row of map-reduce with tensors in it has all in one text:
//
//   row    = 0xff head:text body                  nothing that the codec writes for a value begins with that byte
//
// Any thread.

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "host/base/tensor.hpp"

namespace actorhost {

/// A value that only Lua understands.
struct LuaValue {
  Blob encoded;
  std::vector<Tensor> tensors;
};

/// The first is nil.
using CarriedValue = std::variant<std::monostate, Tensor, LuaValue>;

struct PackedValue {
  std::string head;
  Blob body;

  size_t bytes() const noexcept { return head.size() + body.size(); }
  static void fields(auto& m, auto&& field) { field(m.head, m.body); }
};

/// A tensor's elements become the body as they are; those of a LuaValue are copied.
PackedValue pack_value(CarriedValue value);
/// Of a small Lua value without tensors: its encoding alone.
PackedValue pack_small(std::string_view encoded);
/// Whether an encoding of so many bytes is small.
constexpr bool is_small(size_t bytes) noexcept { return bytes <= 1024; }

/// Code::bad_data when the bytes are no value. Blobs are slices of `whole`, whose bytes `body` are, or copies where
/// there is none.
Result<CarriedValue> unpack_value(std::string_view head, std::string_view body, const Blob* whole);
inline Result<CarriedValue> unpack_value(const PackedValue& value) {
  return unpack_value(value.head, value.body.view(), &value.body);
}
std::string pack_row(const PackedValue& value);
inline constexpr char kPackedRow = '\xff';  // its first byte
constexpr bool is_packed_row(std::string_view row) noexcept { return row.starts_with(kPackedRow); }
/// Copies of what is in the row. Code::bad_data when it is no packed one.
Result<CarriedValue> unpack_row(std::string_view row);

/// The encoding of what pack_small made, else nothing.
std::string_view small_encoding(const PackedValue& value) noexcept;

}  // namespace actorhost
