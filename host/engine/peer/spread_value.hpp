#pragma once
// A large tensor among peers: its elements lie in parts, each under a key of its own and so with an owner of its own;
// under the tensor's key there is this description instead. It is stored and sent as a Lua value of a form that Lua's
// codec does not write. Who sets the tensor names the parts anew, and writes them before the description: the tensor
// changes at once, and its old parts, which nobody names any longer, are removed.

#include <optional>

#include "host/engine/param/value.hpp"
#include "host/wire/message.hpp"

namespace actorhost {

struct SpreadValue {
  TensorLayout layout;
  uint32_t writer = 0;  // with its number: no other value of the key has these
  uint64_t number = 0;
  uint64_t each = 1;  // elements of a part; the last may have less
  static void fields(auto& m, auto&& field) { field(m.layout, m.writer, m.number, m.each); }
  bool sound() const noexcept;
  friend bool operator==(const SpreadValue&, const SpreadValue&) = default;

  uint32_t parts() const noexcept;
  ParamKey part_key(const ParamKey& key, uint32_t part) const { return ParamKey::of_part(key, writer, number, part); }
  /// The elements of a part within the tensor.
  ElementRange range(uint32_t part) const noexcept;

  LuaValue as_lua() const;
  /// Nothing when the value is another one.
  static std::optional<SpreadValue> of(const LuaValue& value);
  static std::optional<SpreadValue> of(const ParamValue& value);
};

/// Entries of all parts of a tensor of that layout, sharing its bytes; without data they are nil.
void add_parts(const ParamKey& key, const SpreadValue& spread, const ParamTensor* tensor,
               std::vector<ParamEntry>& entries);

}  // namespace actorhost
