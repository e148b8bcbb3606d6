#pragma once
// A split tensor among peers. Its elements are stored in parts, each under a key and thus with an owner of its own;
// this description is stored under the tensor's key. It is stored and sent as a Lua value in a form that Lua's codec
// never writes. A set names new parts and writes them before the description, so the tensor changes atomically. The old
// parts, which no description names any longer, are removed.

#include <optional>

#include "host/engine/values/value.hpp"
#include "host/wire/message.hpp"

namespace actorhost {

struct SplitTensor {
  TensorLayout layout;
  uint32_t writer = 0;  // together with `number` unique among all values of the key
  uint64_t number = 0;
  uint64_t each = 1;  // elements of a part; the last part may have fewer
  static void fields(auto& m, auto&& field) { field(m.layout, m.writer, m.number, m.each); }
  bool is_valid() const noexcept;
  friend bool operator==(const SplitTensor&, const SplitTensor&) = default;

  uint32_t parts() const noexcept;
  ParamKey part_key(const ParamKey& key, uint32_t part) const { return ParamKey::of_part(key, writer, number, part); }
  /// The range of a part's elements within the tensor.
  ElementRange range(uint32_t part) const noexcept;

  LuaValue as_lua() const;
  /// nullopt if the value is no split tensor.
  static std::optional<SplitTensor> of(const LuaValue& value);
  static std::optional<SplitTensor> of(const ParamValue& value);
};

/// Appends entries for all parts of a tensor of this layout, sharing its bytes; nil entries if `tensor` is nullptr.
void add_parts(const ParamKey& key, const SplitTensor& split, const ParamTensor* tensor,
               std::vector<ParamEntry>& entries);

}  // namespace actorhost
