#pragma once
// Unknown names: reading one (a field of a module of the standard library, a method of its objects, a global) is an
// error at the user's line that names the nearest known name.

#include <string>
#include <string_view>

struct lua_State;

namespace actorhost {

/// "; did you mean --barrier?": of the names in the table at `names` (its string keys, and the strings under its other
/// keys) the one nearest to `word`, between `before` and `behind`; empty where none is near.
std::string name_suggestion(lua_State* L, std::string_view word, int names, std::string_view before = "",
                            std::string_view behind = "");

/// Raises "there is no OWNERkey; did you mean OWNERname?" of the names in the table at `names`.
[[noreturn]] void raise_no_such_name(lua_State* L, std::string_view owner, std::string_view key, int names);

/// require("actor.c.names"): suggestion(word, names, before, behind) -> text; unknown(owner, key, names) raises;
/// strict(owner, ...) -> a metatable whose tables raise so when a script reads a string that is no key, besides those
/// of the further arguments, which may be nil.
int open_names(lua_State* L);

/// A loader for `require`: calls the chunk on top of the stack and makes what it returns strict, unless that
/// looks names up in a way of its own. Replaces the chunk.
void push_strict_loader(lua_State* L);

}  // namespace actorhost
