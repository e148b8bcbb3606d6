#pragma once
// Runs the subcommands written in Lua, such as `actorhost sim`. Each subcommand is an embedded script,
// scripts/NAME.lua. A Vm of its own runs the script, with the standard library and the module actor.c.command
// (lua_command.cpp). The script returns the exit code. Only the main thread calls these functions.

#include <string>
#include <vector>

namespace actorhost {

/// The names of all subcommands: first the subcommands in C++, then the subcommands in Lua.
std::vector<std::string> command_names();
/// Whether a subcommand in Lua has this name.
bool is_command(const std::string& name);
/// Runs a subcommand in Lua. `args` are the words after its name on the command line. Blocks until the script has
/// ended; returns the exit code of the process.
int run_command(const std::string& name, const std::vector<std::string>& args);

}  // namespace actorhost
