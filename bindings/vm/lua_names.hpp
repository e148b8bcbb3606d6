#pragma once
// Errors for unknown names. Reading an unknown field of a standard library module, an unknown method of its objects or
// an unknown global raises an error at the user's line with the nearest known name.

#include <string>
#include <string_view>

struct lua_State;

namespace actorhost {

/// "; did you mean --barrier?": the name nearest to `word` in the table at `names`, between `before` and `behind`;
/// empty if no name is near. The table's names are its string keys and the strings under its other keys.
std::string name_suggestion(lua_State* L, std::string_view word, int names, std::string_view before = "",
                            std::string_view behind = "");

/// Raises "there is no OWNERkey; did you mean OWNERname?" with the nearest name of the table at `names`.
[[noreturn]] void raise_no_such_name(lua_State* L, std::string_view owner, std::string_view key, int names);

/// require("actor.c.names"): suggestion(word, names, before, behind) returns the text; unknown(owner, key, names)
/// raises; strict(owner, ...) returns a metatable. A table with this metatable raises when a script reads a missing
/// string key, except for the names in `...`, which may be nil.
int open_names(lua_State* L);

/// A loader for `require`: calls the chunk on top of the stack and makes the returned module strict, unless the module
/// has its own __index. Replaces the chunk.
void push_strict_loader(lua_State* L);

}  // namespace actorhost
