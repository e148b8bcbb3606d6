#include <algorithm>
#include <string>

#include "bindings/modules/engine/node_modules.hpp"
#include "bindings/modules/tool/console_runner.hpp"
#include "bindings/process/node_context.hpp"
#include "bindings/process/process_shared.hpp"
#include "bindings/vm/lua_support.hpp"

namespace actorhost {

namespace {

Node& node_of(lua_State* L) { return NodeContext::of(L).node; }

/// enter_action(kind) -> index, replayed, value (a string when replayed)
int enter_action(lua_State* L) {
  const std::string kind(check_text(L, 1, "kind", "enter_action"));
  refuse_alone(L, kind.c_str());
  auto action = node_of(L).enter_action(kind, user_position(L));
  if (!action) raise_error(L, action.error());
  lua_pushinteger(L, static_cast<lua_Integer>(action->index));
  lua_pushboolean(L, action->replayed);
  const std::string_view value = action->value.view();
  lua_pushlstring(L, value.data(), value.size());
  return 3;
}

/// finish_action(index, value): records the action's value for late joiners
int finish_action(lua_State* L) {
  const auto index = check_integer(L, 1, "index", "finish_action", 0, UINT32_MAX);
  const std::string_view value = check_text(L, 2, "value", "finish_action");
  node_of(L).finish_action(static_cast<uint32_t>(index), Blob::copy_of(value));
  return 0;
}

/// agree_on_action(index, value) -> the value that was recorded first, the same one on every node
int agree_on_action(lua_State* L) {
  const auto index = check_integer(L, 1, "index", "agree_on_action", 0, UINT32_MAX);
  const std::string_view value = check_text(L, 2, "value", "agree_on_action");
  auto agreed = node_of(L).agree_on_action(static_cast<uint32_t>(index), Blob::copy_of(value));
  if (!agreed) raise_error(L, agreed.error());
  const std::string_view text = agreed->view();
  return push(L, text);
}

/// position() -> "job.lua:12", where the user's code called the standard library
int position(lua_State* L) {
  const std::string where = user_position(L);
  return push(L, where);
}

/// refresh() -> nil, or after a change of membership {epoch=, joined={ids}, lost={ids}}
int refresh(lua_State* L) {
  Node& node = node_of(L);
  expect(L, node.check());
  expect(L, node.run_chunks());
  const MembershipPtr old = node.refresh();
  if (old == nullptr) return 0;
  const std::vector<Member>& before = old->workers();
  const Membership& now = node.membership();
  lua_createtable(L, 0, 3);
  set_field(L, "epoch", now.epoch());
  lua_newtable(L);
  int count = 0;
  for (const Member& member : now.workers()) {
    const bool known = std::any_of(before.begin(), before.end(), [&](const Member& m) { return m.id == member.id; });
    if (known) continue;
    lua_pushinteger(L, static_cast<lua_Integer>(member.id));
    lua_rawseti(L, -2, ++count);
  }
  lua_setfield(L, -2, "joined");
  lua_newtable(L);
  count = 0;
  for (const Member& member : before) {
    if (now.alive(member.id)) continue;
    lua_pushinteger(L, static_cast<lua_Integer>(member.id));
    lua_rawseti(L, -2, ++count);
  }
  lua_setfield(L, -2, "lost");
  return 1;
}

constexpr double kSleepSeconds = 5;  // limit of one wait: a longer wait would be logged as a wait for other nodes

/// sleep(seconds): waits in the engine, so that the end of the run ends it
int sleep_seconds(lua_State* L) {
  const double seconds = check_number(L, 1, "seconds", "actor.sleep");
  if (!(seconds >= 0)) raise_at_user(L, "bad argument 'seconds' to actor.sleep: expected a number of at least 0");
  Node& node = node_of(L);
  static constexpr EngineCall kCall{Cause::sleep, "sleep"};
  const Activity activity(node.stats(), kCall);
  double now = node.clock().now();
  const double end = now + seconds;
  while (now < end) {
    const double until = std::min(end, now + kSleepSeconds);
    auto never = node.receive([](const Frame&) { return false; }, {}, "actor.sleep", until);
    if (!never && never.error().code != Code::timeout) raise_error(L, never.error());
    now = node.clock().now();
  }
  return 0;
}

/// leave(): ends the script here without an error
int leave(lua_State* L) {
  NodeContext::of(L).finished = true;
  raise_error(L, {Code::aborted, "the script has left"});
}

/// error_code(text) -> the code of the engine's error in this text, or nil
int error_code(lua_State* L) {
  const auto code = Vm::from(L).noted_code(check_text(L, 1, "text", "node.error_code"));
  if (!code) return 0;
  return push(L, static_cast<int>(*code));
}

/// raise_again(text, code): raises an error of another node; `code` is the result of error_code there
int raise_again(lua_State* L) {
  const std::string_view text = check_text(L, 1, "text", "node.raise_again");
  if (!lua_isnil(L, 2)) Vm::from(L).note_error({static_cast<Code>(lua_tointeger(L, 2)), std::string(text)});
  lua_settop(L, 1);
  return lua_error(L);
}

/// call_for_all(fn, ...) -> the results of fn(...). A script error in fn ends the run on all nodes, even if the script
/// catches it, because other nodes wait for this node.
int call_for_all(lua_State* L) {
  const Status called = Vm::from(L).call(L, lua_gettop(L) - 1, LUA_MULTRET);
  if (called) return lua_gettop(L);
  if (called.error().code == Code::script) NodeContext::of(L).fail(called.error());
  raise_error(L, called.error());
}

/// find_source(name) -> text, chunk; or nil, message, code
int find_source(lua_State* L) {
  auto found = node_of(L).find_source(std::string(check_text(L, 1, "name", "find_source")));
  if (!found) {
    if (found.error().code == Code::bad_argument) return push_failure(L, found.error());
    raise_error(L, found.error());
  }
  lua_pushlstring(L, found->text.data(), found->text.size());
  lua_pushlstring(L, found->chunk.data(), found->chunk.size());
  return 2;
}

int push_ids(lua_State* L, const std::vector<NodeId>& ids) { return push_list(L, ids); }

/// workers() -> ids in rank order, at the last refresh
int workers(lua_State* L) {
  std::vector<NodeId> ids;
  for (const Member& member : node_of(L).membership().workers()) ids.push_back(member.id);
  return push_ids(L, ids);
}

/// at_work() -> as `workers`, without workers that still wait to join the others' collectives
int at_work(lua_State* L) {
  Node& node = node_of(L);
  return push_ids(L, take(L, node.at_work(node.membership())));
}

/// flags() -> the run's flags for the standard library
int flags(lua_State* L) {
  const RunOptions& options = NodeContext::of(L).options;
  lua_createtable(L, 0, 8);
  const auto text = [L](const char* name, const std::string& value) {
    if (value.empty()) return;
    set_field(L, name, value);
  };
  text("barrier", options.barrier);
  text("merge", options.merge);
  text("attack", options.attack);
  text("resample", options.resample);
  text("checkpoint", options.checkpoint);
  if (options.records_steps()) text("record", options.record);
  if (options.seconds) {
    set_field(L, "seconds", *options.seconds);
  }
  if (options.resume) {
    set_field(L, "resume", *options.resume);
  }
  set_field(L, "servers", options.servers);
  set_field(L, "parallelism", options.parallelism);
  set_field(L, "progress", options.progress);
  return 1;
}

/// honour(name, ...): a called engine uses these flags
int honour(lua_State* L) {
  NodeContext& context = NodeContext::of(L);
  const auto flags = context.flags_of_engines();
  for (int i = 1; i <= lua_gettop(L); ++i) {
    const std::string_view name = check_text(L, i, "name", "honour");
    const auto at = std::find_if(flags.begin(), flags.end(), [&](const auto& flag) { return flag.first == name; });
    if (at == flags.end()) raise_at_user(L, "honour: '" + std::string(name) + "' is no flag of engines");
    context.honoured |= 1U << (at - flags.begin());
  }
  return 0;
}

/// status(text): sets the terminal's status line; "" removes it
int status(lua_State* L) {
  NodeContext::of(L).shared.console.status(check_text(L, 1, "text", "status"));
  return 0;
}

/// status_columns() -> the status line's width; 0 without a terminal
int status_columns(lua_State* L) { return push(L, NodeContext::of(L).shared.console.columns()); }

/// Fields that change: rank size id shard role epoch seed, founder (a worker since the beginning of the run), in_chunk
/// (an observer's chunk runs within a call of the script).
int index(lua_State* L) {
  NodeContext& context = NodeContext::of(L);
  const Node& node = context.node;
  const std::string_view name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  const bool worker = node.role() == Role::worker;
  if (name == "rank") {
    const auto rank = node.rank();
    context.no_rank = context.no_rank || !worker;
    if (!rank) return 0;
    lua_pushinteger(L, static_cast<lua_Integer>(*rank));
  } else if (name == "size") {
    lua_pushinteger(L, static_cast<lua_Integer>(node.membership().size()));
  } else if (name == "id" || name == "shard") {
    context.no_rank = context.no_rank || (!worker && name == "id");
    if (worker != (name == "id")) return 0;
    lua_pushinteger(L, static_cast<lua_Integer>(node.index()));
  } else if (name == "role") {
    lua_pushstring(L, worker ? "worker" : "server");
  } else if (name == "founder") {
    lua_pushboolean(L, worker && node.index() < node.membership().founders());
  } else if (name == "in_chunk") {
    lua_pushboolean(L, node.in_chunk() ? 1 : 0);
  } else if (name == "epoch") {
    lua_pushinteger(L, static_cast<lua_Integer>(node.membership().epoch()));
  } else if (name == "seed") {
    lua_pushnumber(L, static_cast<lua_Number>(context.seed));
  } else {
    return 0;
  }
  return 1;
}

int open_node(lua_State* L) {
  static const luaL_Reg kFunctions[] = {
      {"enter_action", guarded<enter_action>},
      {"finish_action", guarded<finish_action>},
      {"agree_on_action", guarded<agree_on_action>},
      {"position", guarded<position>},
      {"refresh", guarded<refresh>},
      {"sleep", guarded<sleep_seconds>},
      {"leave", guarded<leave>},
      {"error_code", guarded<error_code>},
      {"raise_again", guarded<raise_again>},
      {"call_for_all", guarded<call_for_all>},
      {"find_source", guarded<find_source>},
      {"workers", guarded<workers>},
      {"at_work", guarded<at_work>},
      {"flags", guarded<flags>},
      {"honour", guarded<honour>},
      {"status", guarded<status>},
      {"status_columns", guarded<status_columns>},
  };
  push_functions(L, kFunctions);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, guarded<index>);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  return 1;
}

}  // namespace

void open_node(Vm& vm) { vm.register_module("actor.c.node", open_node); }

}  // namespace actorhost
