#include <string>
#include <utility>

#include "bindings/modules/engine/node_modules.hpp"
#include "bindings/modules/engine/param_values.hpp"
#include "bindings/process/node_context.hpp"
#include "bindings/process/process_shared.hpp"
#include "bindings/vm/lua_support.hpp"
#include "host/engine/param/checkpoint.hpp"

namespace actorhost {

namespace {

constexpr const char* kSave = "checkpoint:save";

/// write(folder, name, keep, {{key, value}, ...}, updates, ranks) -> path. Writes a checkpoint in the parameter
/// server's format, with the clocks of ranks 0 .. ranks - 1.
int write(lua_State* L) {
  const CheckpointFolder folder{std::string(check_text(L, 1, "folder", kSave)),
                                std::string(check_text(L, 2, "name", kSave)),
                                static_cast<size_t>(check_integer(L, 3, "keep", kSave, 1, INT32_MAX))};
  ParamCheckpoint checkpoint;
  for (ParamEntry& entry : take(L, param_entries_at(L, 4, nullptr, ParamUse::saved, kSave))) {
    checkpoint.values.emplace_back();
    checkpoint.values.back().key = std::move(entry.key);
    checkpoint.values.back().value = carried(std::move(entry.value));
  }
  expect(L, NodeContext::of(L).shared.locks.take(folder.directory, folder.prefix));
  checkpoint.state.updates = static_cast<uint64_t>(check_number(L, 5, "updates", kSave));
  const auto ranks = static_cast<NodeId>(check_integer(L, 6, "ranks", kSave, 0, UINT32_MAX));
  for (NodeId rank = 0; rank < ranks; ++rank) checkpoint.state.clocks[rank] = checkpoint.state.updates;
  const std::string path = take(L, save_checkpoint(folder, checkpoint)).string();
  NodeContext& context = NodeContext::of(L);
  Node& node = context.node;
  node.log().info(node.name(), "checkpoint " + path);
  if (context.shared.keepers.saved(folder.prefix)) node.cluster().report_error(node.address(), kTerminated);
  return push(L, path);
}

/// read(folder, name) -> {[key] = value}, updates, ranks of the newest complete checkpoint; nothing without a
/// checkpoint
int read(lua_State* L) {
  Node& node = NodeContext::of(L).node;
  const std::string folder(check_text(L, 1, "folder", "checkpoint:load"));
  const std::string name(check_text(L, 2, "name", "checkpoint:load"));
  auto found = take(L, load_newest_checkpoint(folder, node.log(), name, node.name()));
  if (!found) return 0;
  node.log().info(node.name(), "continuing from the newest checkpoint of '" + name + "' in '" + folder + "'");
  lua_createtable(L, 0, static_cast<int>(found->values.size()));
  for (ParamCheckpoint::Value& value : found->values) {
    push_param_key(L, value.key);
    expect(L, push_carried(L, std::move(value.value)));
    lua_rawset(L, -3);
  }
  lua_pushnumber(L, static_cast<lua_Number>(found->state.updates));
  lua_pushinteger(L, static_cast<lua_Integer>(found->state.clocks.size()));
  return 3;
}

/// lock(folder, name): prevents other runs from saving checkpoints of this name there
int lock_folder(lua_State* L) {
  const std::string folder(check_text(L, 1, "folder", "checkpoint.new"));
  const std::string name(check_text(L, 2, "name", "checkpoint.new"));
  const Status locked = NodeContext::of(L).shared.locks.take(folder, name);
  if (!locked && locked.error().code == Code::refused) raise_error(L, locked.error());  // `save` reports other errors
  return 0;
}

/// keep(name): this node saves checkpoints of this name
int keep_name(lua_State* L) {
  NodeContext::of(L).shared.keepers.add(std::string(check_text(L, 1, "name", kSave)));
  return 0;
}

/// drop(name): this node stops saving checkpoints of this name
int drop_keeper(lua_State* L) {
  NodeContext::of(L).shared.keepers.drop(std::string(check_text(L, 1, "name", kSave)));
  return 0;
}

/// pressing() -> whether the process ends soon and a checkpoint should be saved now
int pressing(lua_State* L) { return push(L, NodeContext::of(L).shared.keepers.last()); }

}  // namespace

void open_checkpoint(Vm& vm) {
  static constexpr luaL_Reg kFunctions[] = {
      {"write", guarded<write>},    {"read", guarded<read>},        {"lock", guarded<lock_folder>},
      {"keep", guarded<keep_name>}, {"drop", guarded<drop_keeper>}, {"pressing", guarded<pressing>},
  };
  vm.register_module("actor.c.checkpoint", open_functions<kFunctions>);
}

}  // namespace actorhost
