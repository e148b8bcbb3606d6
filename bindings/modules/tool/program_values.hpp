#pragma once
// Converts values between Lua and the program that embeds the host (bindings/process/program.hpp), and runs the
// program's calls on a node. On the Vm's thread.

#include <vector>

#include "bindings/process/program.hpp"

struct lua_State;

namespace actorhost {

/// The values at `first` and above. A contiguous tensor shares its memory, another tensor is copied. An array becomes a
/// list, another table a map. Code::bad_argument for a value that a program cannot read, with its path.
Result<std::vector<ProgramValue>> program_values_at(lua_State* L, int first);

/// Pushes a value; a tensor shares its bytes. Raises a Lua error if memory runs out.
void push_program_value(lua_State* L, const ProgramValue& value);

/// (number) -> the arguments of the call with this number; a lua_CFunction.
int push_call_arguments(lua_State* L);
/// (number, ...) gives the call the values of this node; a lua_CFunction. Raises for a value that a program cannot
/// read.
int give_call_values(lua_State* L);

}  // namespace actorhost
