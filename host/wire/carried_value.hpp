#pragma once
// A Lua value or a tensor in transit between nodes: nil, a tensor, or an encoding by bindings/vm/lua_codec.hpp with its
// tensors. Engines transport it unread, except that they add up tensors. It is packed as a small head and one block of
// bytes:
//
//   head   = 0                                    nil
//          | 1 layout                             a tensor; body: its elements
//          | 2 encoding                           a small Lua value without tensors; no body
//          | 3 size:u64 count:u32 *layout         any other; body: its encoding of that size, then its tensors
//   layout = dtype:u8 rank:u8 *dim:i64            (host/base/tensor.hpp)
//
// In a body each part begins at a multiple of 8 bytes. A map-reduce row with tensors is one text:
//
//   row    = 0xff head:text body                  no encoding of a value begins with this byte
//
// Thread-safe.

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "host/base/tensor.hpp"

namespace actorhost {

/// An encoded Lua value; only Lua decodes it.
struct LuaValue {
  Blob encoded;
  std::vector<Tensor> tensors;
};

/// std::monostate is nil.
using CarriedValue = std::variant<std::monostate, Tensor, LuaValue>;

struct PackedValue {
  std::string head;
  Blob body;

  size_t bytes() const noexcept { return head.size() + body.size(); }
  static void fields(auto& m, auto&& field) { field(m.head, m.body); }
};

/// Uses a tensor's elements as the body without a copy; copies the tensors of a LuaValue.
PackedValue pack_value(CarriedValue value);
/// Packs the encoding of a small Lua value without tensors.
PackedValue pack_small(std::string_view encoded);
/// Whether an encoding of this size is small.
constexpr bool is_small(size_t bytes) noexcept { return bytes <= 1024; }

/// Code::bad_data if the bytes are no value. Blobs become slices of `whole`, which holds the bytes of `body`; without
/// it, copies.
Result<CarriedValue> unpack_value(std::string_view head, std::string_view body, const Blob* whole);
inline Result<CarriedValue> unpack_value(const PackedValue& value) {
  return unpack_value(value.head, value.body.view(), &value.body);
}
std::string pack_row(const PackedValue& value);
inline constexpr char kPackedRow = '\xff';  // its first byte
constexpr bool is_packed_row(std::string_view row) noexcept { return row.starts_with(kPackedRow); }
/// Copies the contents of the row. Code::bad_data if it is no packed row.
Result<CarriedValue> unpack_row(std::string_view row);

/// The encoding in a value of pack_small; empty for other values.
std::string_view small_encoding(const PackedValue& value) noexcept;

}  // namespace actorhost
