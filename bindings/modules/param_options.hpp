#pragma once
// Reading the options of param.run from Lua tables. stdlib/actor/param.lua has checked their types; what is out of
// range is raised as a Lua error here. On the Vm's thread.

#include <optional>
#include <string>

#include "host/engine/param/coordinator.hpp"
#include "host/engine/param/update.hpp"

struct lua_State;

namespace actorhost {

/// `pull`: an optimiser as optim.to_c makes it, a function, or nothing (replace).
UpdateRule update_at(lua_State* L, int options, const char* function);
/// `merge`: one of param.merge's.
MergePolicy merge_at(lua_State* L, int options);
/// `filter`, which param.lua has checked: {push=, pull=}, or nothing.
ParamFilterSpecs filters_at(lua_State* L, int options);
/// When to write checkpoints: by the job's plan, or with --checkpoint alone every half minute. `directory` stays empty
/// when none are to be written.
CheckpointPlan checkpoint_at(lua_State* L, int options, std::string& directory);

/// In a run that `keeps` tasks: the number of the task on top of the stack, its field `task`; raises what is wrong with
/// it, and names the task as `what`.
std::optional<uint64_t> task_number(lua_State* L, bool keeps, const std::string& what);

}  // namespace actorhost
