#include <vector>

#include "bindings/modules/engine/node_modules.hpp"
#include "bindings/process/node_context.hpp"
#include "bindings/process/process_shared.hpp"
#include "bindings/vm/lua_support.hpp"
#include "host/engine/peer/peer_bridge.hpp"
#include "host/engine/peer/peer_pace.hpp"

namespace actorhost {

namespace {

PeerBridge bridge_of(lua_State* L) {
  NodeContext& context = NodeContext::of(L);
  return {context.node, context.shared.courier->peers, context.seed, context.options.replicas};
}

/// {id=, rank= of a live peer}
void push_peer(lua_State* L, NodeId id) {
  lua_createtable(L, 0, 2);
  set_field(L, "id", id);
  if (const auto rank = NodeContext::of(L).node.membership().rank_of(id)) {
    set_field(L, "rank", *rank);
  }
}

void push_peers(lua_State* L, const std::vector<NodeId>& ids) {
  push_list(L, ids, [&](NodeId id) { push_peer(L, id); });
}

/// A peer with {step=, busy=} of its present or last run.
void push_state(lua_State* L, const Sampled& one) {
  push_peer(L, one.peer.node);
  const auto pace = unpack<PeerPace>(one.state);
  if (!pace.ok()) return;
  set_field(L, "step", completed(pace->mark));
  set_field(L, "busy", pace->busy);
}

/// sample(count, seconds) -> {{id=, rank=, step=, busy=}, ...}; or nil, message, code
int peer_sample(lua_State* L) {
  const auto count = static_cast<uint32_t>(check_integer(L, 1, "beta", "peer.sample", 0, kAddressMask));
  const double seconds = check_number(L, 2, "timeout", "peer.sample");
  const auto found = bridge_of(L).call<std::vector<Sampled>>(
      "peer.sample",
      [count, seconds](auto& peer, double now, auto reply) { peer.overlay.sample(count, seconds, now, reply); });
  if (!found) return push_or_raise(L, found.error());
  return push_list(L, *found, [&](const Sampled& one) { push_state(L, one); });
}

/// size_estimate() -> nodes, standard error; or nil, message, code
int peer_size_estimate(lua_State* L) {
  const auto size = bridge_of(L).call<SizeEstimate>(
      "peer.size_estimate", [](auto& peer, double now, auto reply) { reply(peer.overlay.size_estimate(now)); });
  if (!size) return push_or_raise(L, size.error());
  lua_pushnumber(L, size->nodes);
  lua_pushnumber(L, size->error);
  return 2;
}

/// neighbours() -> {before= peers, nearest first, after= likewise}; or nil, message, code
int peer_neighbours(lua_State* L) {
  const auto lists = bridge_of(L).call<NeighbourLists>(
      "peer.neighbours", [](auto& peer, double, auto reply) { reply(peer.overlay.near().lists()); });
  if (!lists) return push_or_raise(L, lists.error());
  lua_createtable(L, 0, 2);
  const auto push_side = [L](const Side& side, const char* name) {
    std::vector<NodeId> ids;
    for (const Peer& peer : side.peers) ids.push_back(peer.node);
    push_peers(L, ids);
    lua_setfield(L, -2, name);
  };
  push_side(lists->before, "before");
  push_side(lists->after, "after");
  return 1;
}

/// leave()
int peer_leave(lua_State* L) {
  const NodeContext& context = NodeContext::of(L);
  context.shared.courier->peers.leave(context.node.index());
  return 0;
}

int open_peer(lua_State* L) {
  static const luaL_Reg kFunctions[] = {
      {"sample", guarded<peer_sample>},
      {"size_estimate", guarded<peer_size_estimate>},
      {"neighbours", guarded<peer_neighbours>},
      {"leave", guarded<peer_leave>},
  };
  push_functions(L, kFunctions);
  add_peer_run(L);
  return 1;
}

}  // namespace

void open_peer(Vm& vm) { vm.register_module("actor.c.peer", open_peer); }

}  // namespace actorhost
