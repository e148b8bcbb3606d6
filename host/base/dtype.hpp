#pragma once
// The element types of tensors. Code that is compiled for every instruction set (host/kernel/kernels.hpp) includes this
// header, so each inline function here must be always_inline.

#include <stddef.h>
#include <stdint.h>

namespace actorhost {

/// The numbers are part of the wire format. b8 is a truth value, a byte of 0 or 1; any other byte counts as 1.
enum class Dtype : uint8_t { f32 = 0, f64 = 1, i32 = 2, i64 = 3, u8 = 4, b8 = 5 };

/// Bytes of one element.
[[gnu::always_inline]] inline constexpr size_t dtype_size(Dtype dtype) noexcept {
  return dtype >= Dtype::u8 ? 1 : dtype == Dtype::f32 || dtype == Dtype::i32 ? 4 : 8;
}

[[gnu::always_inline]] inline constexpr bool is_floating(Dtype dtype) noexcept {
  return dtype == Dtype::f32 || dtype == Dtype::f64;
}

}  // namespace actorhost
