#include "bindings/modules/engine/push_values.hpp"

#include <string>
#include <vector>

#include "bindings/modules/engine/param_values.hpp"
#include "bindings/process/node_context.hpp"
#include "bindings/vm/lua_support.hpp"
#include "host/engine/param/server.hpp"
#include "host/engine/values/assembler.hpp"

namespace actorhost {

namespace {

/// The shard with all values of the pushes.
ParamShard& only_shard(lua_State* L) {
  if (NodeContext::of(L).options.servers > 1) {
    luaL_error(L,
               "the values of pushes are on several servers: a rule that reads them needs one server, so leave out "
               "--servers");
  }
  return current_server(L).shard();
}

ParamShard::PushName push_at(lua_State* L, int index) {
  return {static_cast<NodeId>(lua_tonumber(L, index)), static_cast<uint64_t>(lua_tonumber(L, index + 1))};
}

/// push_dot(worker, step, worker, step) -> the scalar product of two stored pushes
int dot_of_pushes(lua_State* L) { return push(L, only_shard(L).dot(push_at(L, 1), push_at(L, 3))); }

/// push_values(worker, step) -> {{key, value}, ...} of a stored push
int values_of_push(lua_State* L) {
  push_entries(L, take(L, only_shard(L).values_of(push_at(L, 1))));
  return 1;
}

/// set_push_values(worker, step, {{key, value}, ...})
int set_values_of_push(lua_State* L) {
  TensorCopies copies;
  auto values = take(L, param_entries_at(L, 3, &copies, ParamUse::update, "the values of an update"));
  expect(L, only_shard(L).set_values(push_at(L, 1), std::move(values)));
  return 0;
}

/// stored_value(key) -> a copy of the value of the key, nil for an unknown key
int stored_value(lua_State* L) {
  const ParamKey key = take(L, param_key_at(L, 1, "view:value: key"));
  const Stored* stored = only_shard(L).store().find(key);
  if (stored == nullptr) return 0;
  std::vector<ParamEntry> pieces;
  if (const auto* lua = std::get_if<LuaValue>(&stored->value)) pieces.push_back({key, *lua, 0});
  if (const auto* tensor = std::get_if<StoredTensor>(&stored->value)) {
    for (size_t i = 0; i < tensor->chunks.size(); ++i) pieces.push_back({key, tensor->chunk(i), 0});
  }
  std::vector<ParamEntry> whole = take(L, join_pieces(std::move(pieces)));
  expect(L, push_param_value(L, std::move(whole.at(0).value)));
  return 1;
}

/// pending_steps() -> {worker, step, version, ...} of the steps whose pushes have not arrived
int pending_steps(lua_State* L) {
  std::vector<uint64_t> flat;
  for (const PendingStep& one : current_server(L).controller()->pending())
    flat.insert(flat.end(), {one.worker, one.step, one.version});
  return push_list(L, flat);
}

}  // namespace

void add_push_values(lua_State* L) {
  static const luaL_Reg kFunctions[] = {
      {"push_dot", guarded<dot_of_pushes>},
      {"push_values", guarded<values_of_push>},
      {"set_push_values", guarded<set_values_of_push>},
      {"stored_value", guarded<stored_value>},
      {"pending_steps", guarded<pending_steps>},
  };
  for (const luaL_Reg& function : kFunctions) {
    lua_pushcfunction(L, function.func);
    lua_setfield(L, -2, function.name);
  }
}

}  // namespace actorhost
