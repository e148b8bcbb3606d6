#pragma once
// How a worker's push changes a stored value. There are three kinds of updates: the push replaces the value, an
// optimiser in C++ applies the push (a native update), or a `pull` in Lua computes the new value. A native update works
// element by element, so the division into chunks and shards does not change a bit of the result. Plain values and pure
// functions.

#include <cstdint>

#include "host/engine/values/value.hpp"
#include "host/kernel/optimiser.hpp"
#include "host/wire/address.hpp"

namespace actorhost {

struct UpdateRule {
  enum class Kind : uint8_t {
    replace,  // the pushed value is the new value
    native,   // the optimiser of `spec`; its learning rate decays with the worker's clock (0 in the first step)
    lua       // a `pull` in Lua
  };
  friend constexpr Kind last_of(Kind) { return Kind::lua; }
  Kind kind = Kind::replace;
  kernel::OptimiserSpec spec;
  bool shared = false;  // no callback writes to a tensor that it has received or returned, so tensors are not copied

  static UpdateRule native(const kernel::OptimiserSpec& spec) { return {Kind::native, spec, false}; }
  bool is_native() const noexcept { return kind == Kind::native; }
  bool is_lua() const noexcept { return kind == Kind::lua; }
};

/// The name for messages: "replace", "lua", or the name of the optimiser.
const char* update_name(const UpdateRule& rule) noexcept;

/// A pushed value for a `pull` in Lua. A tensor is whole.
struct PullEntry {
  ParamKey key;
  ParamValue value;
  uint64_t step = 0;  // the worker's completed steps, including the step of this push
  NodeId worker = 0;
  double weight = 1;  // given by the merge rule
};

/// out = scale * in
void scale_into(Dtype type, uint64_t count, double scale, const void* in, void* out) noexcept;
/// out += scale * in
void add_scaled(Dtype type, uint64_t count, double scale, const void* in, void* out) noexcept;

/// True if an element is infinite or NaN.
bool has_non_finite(Dtype type, uint64_t count, const void* data) noexcept;
/// True if an element of the tensor, or of a tensor in the Lua value, is infinite or NaN.
bool has_non_finite(const ParamValue& value) noexcept;

}  // namespace actorhost
