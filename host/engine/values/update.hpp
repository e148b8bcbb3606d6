#pragma once
// How a push changes a stored value: the push replaces the value, a native update is applied, or a Lua `pull` decides.
// Plain data and pure functions. Native updates work element by element, so chunks and shards do not change the bits of
// the result.

#include <cstdint>

#include "host/engine/values/value.hpp"
#include "host/kernel/optimiser.hpp"
#include "host/wire/address.hpp"

namespace actorhost {

struct UpdateRule {
  enum class Kind : uint8_t {
    replace,  // the pushed value is the new value
    native,   // `spec`; the learning rate decays with the clock of the push (0 for a worker's first step)
    lua       // a Lua `pull` decides
  };
  friend constexpr Kind last_of(Kind) { return Kind::lua; }
  Kind kind = Kind::replace;
  kernel::OptimiserSpec spec;
  bool shared = false;  // tensors stay unmodified after they are passed to the pull, so they need no copies

  static UpdateRule native(const kernel::OptimiserSpec& spec) { return {Kind::native, spec, false}; }
  bool is_native() const noexcept { return kind == Kind::native; }
  bool is_lua() const noexcept { return kind == Kind::lua; }
};

/// "replace", "lua", or the optimiser's name.
const char* update_name(const UpdateRule& rule) noexcept;

/// One pushed value for a Lua `pull`; always whole.
struct PullEntry {
  ParamKey key;
  ParamValue value;
  uint64_t step = 0;  // completed by the worker with this push
  NodeId worker = 0;
};

/// out = scale * in
void scale_into(Dtype type, uint64_t count, double scale, const void* in, void* out) noexcept;
/// out += scale * in
void add_scaled(Dtype type, uint64_t count, double scale, const void* in, void* out) noexcept;

/// True when an element is infinite or not a number.
bool has_non_finite(Dtype type, uint64_t count, const void* data) noexcept;
/// The same for a value's elements, or for the elements of the tensors in a Lua value.
bool has_non_finite(const ParamValue& value) noexcept;

}  // namespace actorhost
