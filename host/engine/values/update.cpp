#include "host/engine/values/update.hpp"

#include <algorithm>
#include <cstring>

namespace actorhost {

namespace {

// Finds values whose exponent has all bits set. The test uses integers, so no compiler option removes it and the
// compiler vectorises it. Adding the lowest bit of the exponent carries into the sign bit only if all exponent bits are
// set.
template <typename Bits, Bits kExponent>
bool any_non_finite(uint64_t count, const void* data) noexcept {
  const auto* bytes = static_cast<const std::byte*>(data);
  constexpr uint64_t kBlock = 1024;
  constexpr Bits kSign = ~(~Bits{0} >> 1);
  constexpr Bits kLowest = kExponent & -kExponent;
  for (uint64_t at = 0; at < count; at += kBlock) {
    const uint64_t n = std::min(kBlock, count - at);
    Bits found = 0;
    for (uint64_t i = 0; i < n; ++i) {
      Bits bits;
      std::memcpy(&bits, bytes + (at + i) * sizeof bits, sizeof bits);
      found |= (bits & kExponent) + kLowest;
    }
    if ((found & kSign) != 0) return true;
  }
  return false;
}

}  // namespace

const char* update_name(const UpdateRule& rule) noexcept {
  if (rule.kind == UpdateRule::Kind::replace) return "replace";
  if (rule.kind == UpdateRule::Kind::lua) return "lua";
  return kernel::name_of(rule.spec.kind);
}

void scale_into(Dtype type, uint64_t count, double scale, const void* in, void* out) noexcept {
  std::memset(out, 0, count * dtype_size(type));
  add_scaled(type, count, scale, in, out);
}

void add_scaled(Dtype type, uint64_t count, double scale, const void* in, void* out) noexcept {
  kernel::kernels().axpy(type, static_cast<int64_t>(count), scale, in, 1, out, 1);
}

bool has_non_finite(Dtype type, uint64_t count, const void* data) noexcept {
  return type == Dtype::f32 ? any_non_finite<uint32_t, 0x7f800000U>(count, data)
                            : any_non_finite<uint64_t, 0x7ff0000000000000U>(count, data);
}

bool has_non_finite(const ParamValue& value) noexcept {
  const auto bad = [](const Tensor& t) {
    return has_non_finite(t.dtype, static_cast<uint64_t>(t.shape.elements()), t.data.data());
  };
  if (const auto* tensor = std::get_if<ParamTensor>(&value)) {
    return has_non_finite(tensor->dtype, tensor->count, tensor->data.data());
  }
  if (const auto* lua = std::get_if<LuaValue>(&value)) {
    return std::any_of(lua->tensors.begin(), lua->tensors.end(), bad);
  }
  return false;
}

}  // namespace actorhost
