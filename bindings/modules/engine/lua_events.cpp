#include <utility>
#include <vector>

#include "bindings/modules/engine/carried_values.hpp"
#include "bindings/modules/engine/node_modules.hpp"
#include "bindings/modules/tool/console_runner.hpp"
#include "bindings/process/node_context.hpp"
#include "bindings/vm/lua_support.hpp"
#include "host/engine/share/event_box.hpp"

namespace actorhost {

namespace {

double deadline_at(lua_State* L, int index, const char* function) {
  if (lua_isnoneornil(L, index)) return kForever;
  return NodeContext::of(L).node.clock().now() + check_number(L, index, "timeout", function);
}

/// An id returned by id_of.
NodeId id_at(lua_State* L, int index, const char* function) {
  return static_cast<NodeId>(check_integer(L, index, "id", function, 0, kAddressMask));
}

/// id_of(rank) -> the id of the worker with this rank in the script's membership; or nil
int id_of(lua_State* L) {
  const auto& workers = NodeContext::of(L).node.membership().workers();
  const auto rank = static_cast<size_t>(check_integer(L, 1, "rank", "id_of", 0, kAddressMask));
  if (rank >= workers.size()) return 0;
  return push(L, workers[rank].id);
}

EventMessage message_at(lua_State* L) {
  EventMessage message;
  message.name = check_text(L, 1, "name", "collective.send_event");
  auto value = pack_value_at(L, 2, "collective.send_event");
  if (!value) raise_at_user(L, value.error().message);
  message.value = std::move(*value);
  return message;
}

/// put(name, value): puts an event into this node's own queue
int put_event(lua_State* L) {
  EventMessage message = message_at(L);
  NodeContext::of(L).events.put(message.name, std::move(message.value));
  return 0;
}

/// send_to(name, value, id, timeout) -> true; or nil, message, code
int send_to(lua_State* L) {
  refuse_alone(L, "collective.send_event");
  NodeContext& context = NodeContext::of(L);
  const NodeId to = id_at(L, 3, "collective.send_event");
  const double deadline = deadline_at(L, 4, "collective.send_event");
  EventMessage message = message_at(L);
  if (to == context.node.index()) {
    context.events.put(message.name, std::move(message.value));
  } else {
    const auto got = context.events.send({to}, message, deadline);
    if (!got) return push_or_raise(L, got.error());
    if (*got == 0) {
      const bool alive = context.node.newest_membership()->alive(to);
      return push_failure(L, {Code::peer_lost, "send_event: " + context.events.rank_name(to) +
                                                   (alive ? " has come to the end of its script" : " lost")});
    }
  }
  return push(L, true);
}

/// send_all(name, value, timeout) -> true; or nil, message, code
int send_all(lua_State* L) {
  refuse_alone(L, "collective.send_event");
  NodeContext& context = NodeContext::of(L);
  const double deadline = deadline_at(L, 3, "collective.send_event");
  EventMessage message = message_at(L);
  std::vector<NodeId> to;
  for (const Member& member : context.node.newest_membership()->workers()) to.push_back(member.id);
  const auto got = context.events.send(to, message, deadline);
  if (!got) return push_or_raise(L, got.error());
  context.events.put(message.name, std::move(message.value));
  return push(L, true);
}

/// {name=, from= the sender's rank if it is alive, id=, value=}
int push_event(lua_State* L, Event event) {
  const NodeContext& context = NodeContext::of(L);
  lua_createtable(L, 0, 4);
  set_field(L, "name", event.name);
  if (const auto rank = context.node.membership().rank_of(event.from)) {
    set_field(L, "from", *rank);
  }
  set_field(L, "id", event.from);
  expect(L, push_packed(L, std::move(event.value)));
  lua_setfield(L, -2, "value");
  return 1;
}

EventBox::Filter event_filter_at(lua_State* L, int name, int from, const char* function) {
  EventBox::Filter filter;
  if (!lua_isnoneornil(L, name)) filter.name = check_text(L, name, "name", function);
  if (!lua_isnoneornil(L, from)) filter.from = id_at(L, from, function);
  return filter;
}

/// get(name, id) -> event, or nil without an event; either argument may be nil
int get_event(lua_State* L) {
  auto event = NodeContext::of(L).events.get(event_filter_at(L, 1, 2, "collective.get_event"));
  if (!event) return push_or_raise(L, event.error());
  if (*event) return push_event(L, std::move(**event));
  lua_pushnil(L);
  return 1;
}

/// wait(name, id, timeout) -> event; or nil, message, code
int wait_for_event(lua_State* L) {
  refuse_alone(L, "collective.wait_event");
  const double deadline = deadline_at(L, 3, "collective.wait_event");
  auto event = NodeContext::of(L).events.wait(event_filter_at(L, 1, 2, "collective.wait_event"), deadline);
  if (!event) return push_or_raise(L, event.error());
  return push_event(L, std::move(*event));
}

}  // namespace

void open_events(Vm& vm) {
  static constexpr luaL_Reg kFunctions[] = {
      {"put", guarded<put_event>}, {"send_to", guarded<send_to>},     {"send_all", guarded<send_all>},
      {"get", guarded<get_event>}, {"wait", guarded<wait_for_event>}, {"id_of", guarded<id_of>},
  };
  vm.register_module("actor.c.events", open_functions<kFunctions>);
}

}  // namespace actorhost
