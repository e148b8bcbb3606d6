#pragma once
// A Lua value or a tensor on its way between nodes, as the bindings pack it: the engine carries it and looks into
// neither part, but to add tensors up. A Blob that is shared is read-only.

#include <optional>
#include <string>

#include "host/base/blob.hpp"
#include "host/kernel/kernels.hpp"

namespace actorhost {

struct PackedValue {
  std::string head;  // small: what the body is
  Blob body;
};

/// The first byte of a tensor's head; behind it is its element type.
inline constexpr char kPackedTensor = 1;

/// Of a tensor; nothing for any other value.
inline std::optional<kernel::Dtype> tensor_type(const PackedValue& value) {
  if (value.head.size() < 2 || value.head[0] != kPackedTensor) return std::nullopt;
  if (value.head[1] == static_cast<char>(kernel::Dtype::f32)) return kernel::Dtype::f32;
  if (value.head[1] == static_cast<char>(kernel::Dtype::f64)) return kernel::Dtype::f64;
  return std::nullopt;
}

}  // namespace actorhost
