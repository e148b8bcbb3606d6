#pragma once
// The module "actor.c.filter", on which stdlib/actor/filter.lua rests: tensors as filtered strings and back.

#include "host/engine/filter/filter.hpp"

struct lua_State;

namespace actorhost {

class Vm;

/// A filter as actor.filter describes it: the table at `index`; nothing there: one that changes nothing. Raises what is
/// out of range.
FilterSpec filter_at(lua_State* L, int index);

/// Called by open_standard_modules.
void open_filter(Vm& vm);

}  // namespace actorhost
