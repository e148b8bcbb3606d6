#pragma once
// Reads the options of param.run from Lua tables. stdlib/actor/param.lua has checked their types; the functions here
// raise Lua errors for values out of range. On the Vm's thread.

#include <optional>
#include <string>

#include "host/engine/param/controller.hpp"
#include "host/engine/values/update.hpp"

struct lua_State;

namespace actorhost {

/// `pull`: an optimiser made by optim.to_c, a function, or nothing (replace).
UpdateRule update_at(lua_State* L, int options, const char* function);
/// `filter`: {push=, pull=}, checked by param.lua, or nothing.
ParamFilterSpecs filters_at(lua_State* L, int options);
/// When to write checkpoints: by the job's plan, or every half minute with only --checkpoint. `directory` stays empty
/// without checkpoints.
CheckpointPlan checkpoint_at(lua_State* L, int options, std::string& directory);

/// In a run that `keeps` tasks: the field `task` of the task on top of the stack. Raises for a wrong number; the error
/// names the task as `what`.
std::optional<uint64_t> task_number(lua_State* L, bool keeps, const std::string& what);

/// Adds `injects` and `injection` to the table on top of the stack: `--inject` draws the slow workers and their delays
/// from the run's seed.
void add_injection(lua_State* L);

}  // namespace actorhost
