#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "bindings/modules/console_runner.hpp"
#include "bindings/modules/node_modules.hpp"
#include "bindings/process/node_context.hpp"
#include "bindings/process/process_shared.hpp"
#include "bindings/vm/lua_support.hpp"

namespace actorhost {

namespace {

// How long a node looks for the overlay, and how often it asks whether it has found it.
constexpr double kJoinSeconds = 20;
constexpr double kLook = 0.01;

/// What the courier's thread leaves for the node's.
template <typename T>
struct Answer {
  std::atomic<bool> there{false};
  bool joined = false;
  T value{};
};

/// Has `ask(overlay, now, give)` called on the courier's thread, once this node has joined the overlay, which it enters
/// if it has not; waits until `give(value)` has been called.
template <typename T>
Result<T> ask_overlay(lua_State* L, const char* what,
                      const std::function<void(Overlay&, double now, std::function<void(T)> give)>& ask) {
  NodeContext& context = NodeContext::of(L);
  Node& node = context.node;
  PeerService& peers = context.shared.courier->peers;
  peers.enter(node.index(), context.seed);
  const double limit = node.clock().now() + kJoinSeconds;
  for (;;) {
    const auto answer = std::make_shared<Answer<T>>();
    peers.with(node.index(), [answer, ask, wake = node.port().waker()](PeerService::PeerNode* peer, double now) {
      const auto give = [answer, wake](T value) {
        answer->value = std::move(value);
        answer->there = true;
        wake();
      };
      if (peer == nullptr || !peer->overlay.joined()) return give({});
      answer->joined = true;
      ask(peer->overlay, now, give);
    });
    AH_TRY(node.wait_until([&] { return answer->there.load(); }, {}, what));
    if (answer->joined) return std::move(answer->value);
    if (node.clock().now() > limit) {
      return Error{Code::timeout, std::string(what) +
                                      ": no other worker has answered within 20 s; each has to use "
                                      "actor.peer, too"};
    }
    const Status waited = node.wait_until([] { return false; }, {}, what, node.clock().now() + kLook);
    if (!waited.ok() && waited.error().code != Code::timeout) return waited.error();
  }
}

/// {id=, rank= if it is alive}
void push_peer(lua_State* L, NodeId id) {
  lua_createtable(L, 0, 2);
  lua_pushinteger(L, static_cast<lua_Integer>(id));
  lua_setfield(L, -2, "id");
  if (const auto rank = NodeContext::of(L).node.membership().rank_of(id)) {
    lua_pushinteger(L, static_cast<lua_Integer>(*rank));
    lua_setfield(L, -2, "rank");
  }
}

void push_peers(lua_State* L, const std::vector<NodeId>& ids) {
  lua_createtable(L, static_cast<int>(ids.size()), 0);
  for (size_t i = 0; i < ids.size(); ++i) {
    push_peer(L, ids[i]);
    lua_rawseti(L, -2, static_cast<int>(i) + 1);
  }
}

/// sample(count, seconds) -> {{id=, rank=}, ...}; or nil, message, code
int peer_sample(lua_State* L) {
  refuse_alone(L, "peer.sample");
  const auto count = static_cast<uint32_t>(check_integer(L, 1, "beta", "peer.sample", 0, kAddressMask));
  const double seconds = check_number(L, 2, "timeout", "peer.sample");
  auto ids =
      ask_overlay<std::vector<NodeId>>(L, "peer.sample", [count, seconds](Overlay& overlay, double now, auto give) {
        overlay.sample(count, seconds, now, [give](const std::vector<Sampled>& sampled) {
          std::vector<NodeId> found;
          for (const Sampled& one : sampled) found.push_back(one.peer.node);
          give(std::move(found));
        });
      });
  if (!ids) return push_or_raise(L, ids.error());
  push_peers(L, *ids);
  return 1;
}

/// size_estimate() -> nodes, standard error; or nil, message, code
int peer_size_estimate(lua_State* L) {
  refuse_alone(L, "peer.size_estimate");
  const auto size = ask_overlay<SizeEstimate>(
      L, "peer.size_estimate", [](Overlay& overlay, double now, auto give) { give(overlay.size_estimate(now)); });
  if (!size) return push_or_raise(L, size.error());
  lua_pushnumber(L, size->nodes);
  lua_pushnumber(L, size->error);
  return 2;
}

/// neighbours() -> {before= peers, nearest first, after= likewise}; or nil, message, code
int peer_neighbours(lua_State* L) {
  refuse_alone(L, "peer.neighbours");
  const auto window = ask_overlay<Window>(L, "peer.neighbours",
                                          [](Overlay& overlay, double, auto give) { give(overlay.near().window()); });
  if (!window) return push_or_raise(L, window.error());
  lua_createtable(L, 0, 2);
  const auto push_side = [L](const Side& side, const char* name) {
    std::vector<NodeId> ids;
    for (const Peer& peer : side.peers) ids.push_back(peer.node);
    push_peers(L, ids);
    lua_setfield(L, -2, name);
  };
  push_side(window->before, "before");
  push_side(window->after, "after");
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
  return push_functions(L, kFunctions);
}

}  // namespace

void open_peer(Vm& vm) { vm.register_module("actor.c.peer", open_peer); }

}  // namespace actorhost
