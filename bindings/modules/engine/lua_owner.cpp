#include "bindings/modules/engine/param_values.hpp"
#include "bindings/vm/lua_support.hpp"
#include "bindings/vm/standard_modules.hpp"
#include "host/base/random.hpp"

namespace actorhost {

namespace {

/// among(key, ids) -> the id of the worker that owns the key: the id with the greatest weight, a hash of (key, id),
/// which is the same on every machine; nil without ids. A worker that joins or departs therefore moves only its own
/// keys (Thaler and Ravishankar, "Using name-based mappings to increase hit rates", 1998). Hashes every id.
int among(lua_State* L) {
  const uint64_t hash = take(L, param_key_at(L, 1, "ctx.owns: key")).hash();
  check_table(L, 2, "ids", "owner.among");
  lua_Number owner = 0;
  uint64_t greatest = 0;
  each_item(L, 2, [&](int i) {
    const lua_Number id = lua_tonumber(L, -1);
    const uint64_t weight = StepRng::mix(hash ^ StepRng::mix(static_cast<uint64_t>(id) + 1));
    if (i > 1 && weight <= greatest) return;
    greatest = weight;
    owner = id;
  });
  if (lua_objlen(L, 2) == 0) return 0;
  return push(L, owner);
}

}  // namespace

void open_owner(Vm& vm) {
  static constexpr luaL_Reg kFunctions[] = {{"among", guarded<among>}};
  vm.register_module("actor.c.owner", open_functions<kFunctions>);
}

}  // namespace actorhost
