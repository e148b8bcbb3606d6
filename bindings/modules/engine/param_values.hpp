#pragma once
// Converts keys, values and lists of entries of the parameter server between Lua and C++. Tensors share memory, so a
// list that outlives its call needs `copies`. On the Vm's thread.

#include <string>
#include <vector>

#include "bindings/modules/engine/carried_values.hpp"
#include "host/base/result.hpp"
#include "host/engine/param/param_node.hpp"
#include "host/engine/values/value.hpp"

struct lua_State;

namespace actorhost {

/// The key at `index`: a string or a number. The error names the actual type, behind `what` ("key").
Result<ParamKey> param_key_at(lua_State* L, int index, const std::string& what);
void push_param_key(lua_State* L, const ParamKey& key);

/// The keys of the array at `index`. Raises for an element that is no key, with `where` and the element's index.
std::vector<ParamKey> param_keys_at(lua_State* L, int index, const std::string& where);

/// The use of entries. Task entries may lack a value, which is then fetched. Tensors of tasks and updates must be
/// floats; in a checkpoint (saved) they may have any element type.
enum class ParamUse : uint8_t { task, update, saved };

/// As carried_value_at and push_carried; nil is an empty value.
Result<ParamValue> param_value_at(lua_State* L, int index, TensorCopies* copies, ParamUse use, const std::string& what);
/// A whole tensor or a Lua value; nil for other values.
CarriedValue carried(ParamValue value);
Status push_param_value(lua_State* L, ParamValue value, bool shared = false);

/// The array {{k, v}, ...} at `index`. An entry {k} without a value is a fetch in a task, otherwise nil. Errors name
/// the entry: "schedule: entry 2 for worker 3: expected {key, value}, got number".
Result<std::vector<ParamEntry>> param_entries_at(lua_State* L, int index, TensorCopies* copies, ParamUse use,
                                                 const std::string& what);

/// Push {k, v} with room for `extra` more elements, and {{k, v}, ...}. Raise for a bad value.
void push_entry(lua_State* L, const ParamKey& key, ParamValue value, int extra, bool shared);
void push_entries(lua_State* L, std::vector<ParamEntry> entries, bool shared = false);
/// Pushes the arguments of a pull: {{k, v, step, id}, ...}, and the newest of these steps.
void push_pull_batch(lua_State* L, std::vector<PullEntry>& entries, bool shared);
/// Pushes the values and the steps of the entries, as two arrays, with nil for entries without a value.
void push_values(lua_State* L, std::vector<ParamEntry> entries);
/// Raises the error of a wrong call or result: it has the user's line and no engine code.
void expect_right(lua_State* L, const Status& status);
/// Pushes the result of `param.run`: {steps=, updates=, seconds=, reason=, ...}.
void push_summary(lua_State* L, const ParamSummary& summary);

}  // namespace actorhost
