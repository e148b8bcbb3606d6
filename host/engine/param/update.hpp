#pragma once
// What happens to a stored value when a push arrives: it is replaced, a native update is applied, or a Lua `pull` is
// asked. Plain data and pure functions. Native updates work element by element, so a tensor that is cut into chunks
// and shards gets the same bits.

#include <cstdint>

#include "host/engine/param/value.hpp"
#include "host/kernel/optimiser.hpp"

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
  bool shared = false;  // tensors are not written to once they were given to the pull: they need no copies

  static UpdateRule native(const kernel::OptimiserSpec& spec) { return {Kind::native, spec, false}; }
  bool is_native() const noexcept { return kind == Kind::native; }
  bool is_lua() const noexcept { return kind == Kind::lua; }
};

/// "replace", "lua", or the optimiser's name.
const char* update_name(const UpdateRule& rule) noexcept;

/// out = scale * in
void scale_into(Dtype type, uint64_t count, double scale, const void* in, void* out) noexcept;
/// out += scale * in
void add_scaled(Dtype type, uint64_t count, double scale, const void* in, void* out) noexcept;

/// True when an element is infinite or not a number.
bool has_non_finite(Dtype type, uint64_t count, const void* data) noexcept;
/// The same for a value: its elements, or those of the tensors in a Lua value.
bool has_non_finite(const ParamValue& value) noexcept;

}  // namespace actorhost
