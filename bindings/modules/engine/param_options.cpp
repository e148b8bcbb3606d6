#include "bindings/modules/engine/param_options.hpp"

#include <cmath>

#include "bindings/modules/array/tensor_api.hpp"
#include "bindings/modules/engine/lua_filter.hpp"
#include "bindings/process/node_context.hpp"
#include "bindings/vm/lua_support.hpp"

namespace actorhost {

UpdateRule update_at(lua_State* L, int options, const char* function) {
  UpdateRule out;
  lua_getfield(L, options, "pull");
  if (lua_isfunction(L, -1)) {
    out.kind = UpdateRule::Kind::lua;
  } else if (lua_type(L, -1) == kLuaCdata) {
    out = UpdateRule::native(spec_of(*static_cast<const ah_optimiser*>(lua_topointer(L, -1))));
    if (auto fits = kernel::check(out.spec); !fits)
      raise_at_user(L, std::string(function) + ": pull: " + fits.error().message);
  }
  lua_pop(L, 1);
  return out;
}

CheckpointPlan checkpoint_at(lua_State* L, int options, std::string& directory) {
  CheckpointPlan plan;
  const RunOptions& flags = NodeContext::of(L).options;
  directory = flags.checkpoint;
  lua_getfield(L, options, "checkpoint");
  if (lua_istable(L, -1)) {
    const int index = lua_gettop(L);
    plan.steps = static_cast<uint64_t>(number_field(L, index, "steps", 0));
    plan.seconds = number_field(L, index, "seconds", 0);
    if (directory.empty()) directory = text_field(L, index, "dir");
    if (directory.empty()) directory = "checkpoints";
  } else if (!directory.empty()) {
    plan.seconds = 30;
  }
  lua_pop(L, 1);
  return plan;
}

ParamFilterSpecs filters_at(lua_State* L, int options) {
  ParamFilterSpecs out;
  lua_getfield(L, options, "filter");
  if (lua_istable(L, -1)) {
    lua_getfield(L, -1, "push");
    lua_getfield(L, -2, "pull");
    out.push = filter_at(L, lua_gettop(L) - 1);
    out.pull = filter_at(L, lua_gettop(L));
    lua_pop(L, 2);
  }
  lua_pop(L, 1);
  return out;
}

std::optional<uint64_t> task_number(lua_State* L, bool keeps, const std::string& what) {
  if (!keeps) return std::nullopt;
  lua_getfield(L, -1, "task");
  const double number = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : -1;
  const bool none = lua_isnil(L, -1);
  lua_pop(L, 1);
  constexpr double kMost = 9007199254740992;  // 2^53
  if (number >= 0 && number <= kMost && number == std::floor(number)) return static_cast<uint64_t>(number);
  raise_at_user(L, what + (none ? " has no number: with tasks= each task is { task = NUMBER, {key, value}, ... }"
                                : ": 'task' is its number, an integer from 0 to 2^53"));
}

}  // namespace actorhost
