#pragma once
// What the answer of a barrier rule in Lua can hang on, found by reading its compiled code.

struct lua_State;

namespace actorhost {

/// Keeps the functions of `math` without a state, as they are before any user's code has run, for answers_by_step.
void keep_pure_math(lua_State* L);

/// Whether one state of the clocks and one time give workers of equal steps the same answer, however often and in which
/// order it asks, and that answer is a single value. Judges the rule `rule(view)` at `index` of the stack without
/// calling it: true where its code, and that of functions that it captures, only compares, counts and calls, on nothing
/// but numbers, booleans, functions of math, captured variables that are never assigned to, and those fields of the
/// view that are not the asking worker's own. False says nothing.
bool answers_by_step(lua_State* L, int index);

}  // namespace actorhost
