#pragma once
// The state of lua_collective.cpp for one Vm, used on its thread.

#include <memory>
#include <vector>

#include "bindings/vm/lua_support.hpp"
#include "host/engine/collective/collectives.hpp"

namespace actorhost {

/// One per Vm, because calls and groups are numbered per Vm; group 0 is all workers.
struct CollectiveEngine {
  CollectiveEngine(Node& node, Meetings& meetings, Arbiter& arbiter) : collectives(node, meetings, arbiter) {}

  static constexpr const char* kKey = "actor.collective";
  static void keep(lua_State* L, Node& node, Meetings& meetings, Arbiter& arbiter) {
    RegistryObject<CollectiveEngine>::store(L, kKey, std::make_shared<CollectiveEngine>(node, meetings, arbiter));
  }
  static CollectiveEngine& of(lua_State* L) { return RegistryObject<CollectiveEngine>::find(L, kKey); }

  /// The group with this Lua number.
  CollectiveGroup& group(size_t number) {
    return number == 0 || number > named.size() ? collectives.all_workers() : *named[number - 1];
  }

  /// Restarts the numbering of all calls, in groups with new ids, so that no message of an earlier call matches.
  void restart(uint32_t restarts) {
    collectives.restart(collectives.all_workers(), restarts);
    for (const auto& group : named) collectives.restart(*group, restarts);
  }

  Collectives collectives;
  std::vector<std::unique_ptr<CollectiveGroup>> named;
};

}  // namespace actorhost
