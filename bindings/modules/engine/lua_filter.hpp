#pragma once
// The module "actor.c.filter" behind stdlib/actor/filter.lua: encodes tensors as filtered strings and decodes them.

#include "host/engine/filter/filter.hpp"

struct lua_State;

namespace actorhost {

class Vm;

/// The filter described by the table at `index`, as made by actor.filter; without a table, the filter that changes
/// nothing. Raises for values out of range.
FilterSpec filter_at(lua_State* L, int index);

/// Called by open_standard_modules.
void open_filter(Vm& vm);

}  // namespace actorhost
