#pragma once
// Subcommands in Lua: each is an embedded script, scripts/NAME.lua, which runs in one Vm with the standard library and
// the module actor.c.command (lua_command.cpp). The script returns the exit code. Main thread.

#include <string>
#include <vector>

namespace actorhost {

/// All subcommands, those in C++ first.
std::vector<std::string> command_names();
/// Whether a subcommand in Lua has this name.
bool is_command(const std::string& name);
/// Runs the subcommand with the arguments behind its name; returns the exit code of the process.
int run_command(const std::string& name, const std::vector<std::string>& args);

}  // namespace actorhost
