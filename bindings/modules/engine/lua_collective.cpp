#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <xxhash.h>

#include "bindings/modules/array/lua_tensor.hpp"
#include "bindings/modules/engine/carried_values.hpp"
#include "bindings/modules/engine/collective_engine.hpp"
#include "bindings/modules/engine/node_modules.hpp"
#include "bindings/modules/tool/console_runner.hpp"
#include "bindings/process/node_context.hpp"
#include "bindings/process/process_shared.hpp"
#include "bindings/vm/lua_support.hpp"
#include "host/base/tasks.hpp"
#include "host/engine/collective/collectives.hpp"

namespace actorhost {

namespace {

/// Pushes the result of an exchange: an array with a field `n`, with nil for a member that gave nothing.
int push_gets(lua_State* L, CallResult result) {
  const auto n = static_cast<int>(result.received.size());
  lua_createtable(L, n, 1);
  for (int i = 0; i < n; ++i) {
    auto& got = result.received[static_cast<size_t>(i)];
    if (!got) continue;
    expect(L, push_packed(L, std::move(*got)));
    lua_rawseti(L, -2, i + 1);
  }
  set_field(L, "n", n);
  return 1;
}

/// Pushes the result of an exchange: one tensor with the rows of all members.
int push_joined(lua_State* L, CallResult result) {
  std::vector<PackedValue> parts;
  for (auto& got : std::exchange(result.received, {})) {
    if (got) parts.push_back(std::move(*got));
  }
  expect(L, push_rows(L, std::move(parts)));
  return 1;
}

/// The options table of every call: {group=, name=, about=, timeout=, algorithm=, reproducible=, async=, placed=,
/// unreported_loss=}. `about`: more text that must be equal on all ranks. `placed`: the arguments are made for the
/// members that `place` has returned. `unreported_loss`: the loss that `place` has returned. The standard library has
/// checked the types.
struct Call {
  Collectives& collectives;
  CollectiveGroup* group;
  CallSpec spec;
  double timeout = kForever;
  bool async = false;
};

/// Pushes a call's results and returns their number.
using Finish = std::function<int(lua_State*, CallResult&&)>;

/// A pending call, in a userdata. Only the module's functions use it; the standard library wraps it.
struct Pending {
  std::shared_ptr<AsyncCall> call;  // shared with the courier
  CollectiveGroup* group;
  Finish finish;
};

constexpr const char* kPending = "actor.collective.pending";

void add_group(std::string& signature, const CollectiveGroup& group) {
  if (!group.name.empty()) signature += " in group '" + group.name + "'";
}

Call call_at(lua_State* L, int table, CollectiveKind kind) {
  CollectiveEngine& engine = CollectiveEngine::of(L);
  Call call{engine.collectives, &engine.group(static_cast<size_t>(number_field(L, table, "group", 0))), {}};
  call.timeout = number_field(L, table, "timeout", kForever);
  CallSpec& spec = call.spec;
  spec.kind = kind;
  spec.name = text_field(L, table, "name");
  if (call.collectives.alone()) refuse_alone(L, "collective.", spec.name.c_str());
  spec.where = user_position(L);
  spec.choice.reproducible = boolean_field(L, table, "reproducible");
  spec.signature = spec.name;
  add_group(spec.signature, *call.group);
  if (const std::string about = text_field(L, table, "about"); !about.empty()) spec.signature += " " + about;
  if (spec.choice.reproducible) spec.signature += " reproducible";
  call.async = boolean_field(L, table, "async");
  spec.placed = boolean_field(L, table, "placed");
  spec.stale = text_field(L, table, "unreported_loss");
  const std::string algorithm = text_field(L, table, "algorithm");
  if (algorithm.empty()) return call;
  if (!parse_algorithm(algorithm, spec.choice.forced) || !algorithm_fits(kind, spec.choice.forced)) {
    raise_at_user(L,
                  "bad argument 'algorithm' to collective." + spec.name + ": there is no '" + algorithm + "' for it");
  }
  spec.signature += " by " + algorithm;
  return call;
}

/// The value that a rank gives in `collective.name`; raises for a value that the codec refuses.
PackedValue value_of(lua_State* L, int index, const std::string& name) {
  return take(L, pack_value_at(L, index, "collective." + name, true));
}

std::string layout_of(const Tensor& tensor) {
  std::string text = std::string(dtype_name(tensor.dtype)) + "[";
  for (size_t i = 0; i < tensor.shape.rank; ++i) text += (i > 0 ? "," : "") + std::to_string(tensor.shape[i]);
  return text + "]";
}

void add_operands(std::string& signature, CollectiveOp op, const Tensor& tensor) {
  signature += ' ';
  signature += collective_op_name(op);
  signature += ' ';
  signature += layout_of(tensor);
}

/// The place of rank `root` among the members that the call's arguments are made for. Raises for a missing rank.
uint32_t root_at(lua_State* L, int index, Call& call) {
  if (!call.spec.placed) {
    call.spec.placed = true;
    call.spec.stale = take(L, call.collectives.place(*call.group)).unreported_loss;
    if (!call.spec.stale.empty()) return 0;  // the call only reports the loss, for any root
  }
  const size_t members = call.group->losses.placed().size();
  const double root = lua_tonumber(L, index);
  if (root < static_cast<double>(members)) return static_cast<uint32_t>(root);
  raise_at_user(L, "bad argument 'root' to collective." + call.spec.name + ": there is no rank " +
                       std::to_string(static_cast<int64_t>(root)) + " among " + std::to_string(members));
}

void count(CollectiveGroup& group, const CallResult& result) {
  ++group.succeeded;
  group.bytes_sent += result.bytes_sent;
}

/// Makes the call and finishes it; or starts it and pushes a handle for the wait.
int run_or_start(lua_State* L, Call& call, Finish finish) {
  Collectives& collectives = call.collectives;
  if (!call.async) {
    auto result = collectives.run(*call.group, std::move(call.spec), call.timeout);
    if (!result) return push_or_raise(L, result.error());
    count(*call.group, *result);
    return finish(L, std::move(*result));
  }
  AsyncCalls& calls = NodeContext::of(L).shared.courier->calls;
  auto started = collectives.start(*call.group, std::move(call.spec), calls, call.timeout);
  if (!started) return push_or_raise(L, started.error());
  push_object<Pending>(L, kPending).reset(new Pending{std::move(*started), call.group, std::move(finish)});
  return 1;
}

Pending& pending_at(lua_State* L) { return *object_at<Pending>(L, 1, kPending); }

/// test(pending) -> whether wait would return at once
int test(lua_State* L) {
  Task::pay_for_computing();
  const Pending& pending = pending_at(L);
  if (!pending.call->done()) expect(L, NodeContext::of(L).node.port().poll());
  return push(L, pending.call->done());
}

/// wait(pending, seconds) -> the results of the blocking call, only once; may be repeated after nil, message, "timeout"
int wait_for_call(lua_State* L) {
  Pending& pending = pending_at(L);
  const double seconds = lua_isnoneornil(L, 2) ? kForever : lua_tonumber(L, 2);
  AsyncCalls& calls = NodeContext::of(L).shared.courier->calls;
  auto result = CollectiveEngine::of(L).collectives.wait(calls, pending.call, seconds);
  if (!result) return push_or_raise(L, result.error());
  count(*pending.group, *result);
  return pending.finish(L, std::move(*result));
}

/// barrier(call) -> true; or nil, message, code
int barrier(lua_State* L) {
  Call call = call_at(L, 1, CollectiveKind::barrier);
  return run_or_start(L, call, [](lua_State* state, CallResult&&) {
    lua_pushboolean(state, 1);
    return 1;
  });
}

/// leave(call) -> true; or nil, message, code. A call that no other rank makes, in place of a call that this rank
/// cannot continue. The collective then fails on all ranks, with an error that names this rank.
int leave_call(lua_State* L) {
  Call call = call_at(L, 1, CollectiveKind::barrier);
  call.spec.signature += ", for which it has no memory,";
  return run_or_start(L, call, [](lua_State* state, CallResult&&) {
    lua_pushboolean(state, 1);
    return 1;
  });
}

/// join_point(call) -> the number of admitted workers; or nil, message, code
int join_point(lua_State* L) {
  Call call = call_at(L, 1, CollectiveKind::broadcast);
  auto late = call.collectives.join_point(std::move(call.spec), call.timeout);
  if (!late) return push_or_raise(L, late.error());
  return push(L, *late);
}

/// reduction(call, kind, tensor, op, root) -> tensor, or true on a rank without a result; or nil, message, code. `kind`
/// is "allreduce", "reduce" or "reduce_scatter".
int reduction(lua_State* L) {
  const std::string_view which = check_text(L, 2, "kind", "collective");
  const CollectiveKind kind = which == "reduce"           ? CollectiveKind::reduce
                              : which == "reduce_scatter" ? CollectiveKind::reduce_scatter
                                                          : CollectiveKind::allreduce;
  Call call = call_at(L, 1, kind);
  CallSpec& spec = call.spec;
  if (!parse_collective_op(check_text(L, 4, "op", "collective"), spec.op)) {
    raise_at_user(L, "bad argument 'op' to collective." + spec.name +
                         ": expected one of sum, mean, min, max, prod or a function, got '" +
                         std::string(check_text(L, 4, "op", "collective")) + "'");
  }
  Tensor value = tensor_at(L, 3);
  if (spec.op == CollectiveOp::mean && !is_floating(value.dtype)) {
    raise_at_user(L, "bad argument 'op' to collective." + spec.name + ": there is no mean of " +
                         dtype_name(value.dtype) + "; convert the tensor with t:to('float32'), or take the sum");
  }
  add_operands(spec.signature, spec.op, value);
  spec.dtype = value.dtype;
  spec.input = std::move(value.data);
  if (kind == CollectiveKind::reduce) {
    spec.root = root_at(L, 5, call);
    spec.signature += " to rank " + std::to_string(spec.root);
  }
  const size_t elements = spec.input.size() / dtype_size(spec.dtype);
  const auto rows = value.shape.rank == 0 ? int64_t{1} : value.shape[0];
  if (kind == CollectiveKind::reduce_scatter && rows > 0)
    spec.unit = std::max<size_t>(1, elements / static_cast<size_t>(rows));
  const uint32_t root = spec.root;
  return run_or_start(L, call, [kind, root, rows, layout = TensorLayout(value)](lua_State* state, CallResult&& result) {
    if (kind == CollectiveKind::reduce && result.place != root) {
      lua_pushboolean(state, 1);
      return 1;
    }
    Tensor out{layout, std::move(result.buffer)};
    if (kind == CollectiveKind::reduce_scatter) {
      if (out.shape.rank == 0) out.shape = {1};
      out.shape[0] = static_cast<int64_t>(block_of(static_cast<size_t>(rows), result.places, result.place).size());
    }
    push_tensor(state, std::move(out));
    return 1;
  });
}

/// broadcast(call, value, root) -> value, or true at the root; or nil, message, code.
int broadcast(lua_State* L) {
  Call call = call_at(L, 1, CollectiveKind::broadcast);
  CallSpec& spec = call.spec;
  spec.root = root_at(L, 3, call);
  spec.signature += " from rank " + std::to_string(spec.root);
  const bool root = call.group->losses.placed()[spec.root] == NodeContext::of(L).node.index();
  if (root) spec.parcel = value_of(L, 2, spec.name);
  return run_or_start(L, call, [root](lua_State* state, CallResult&& result) {
    if (root) {
      lua_pushboolean(state, 1);
    } else {
      expect(state, push_packed(state, std::move(result.parcel)));
    }
    return 1;
  });
}

/// Whether the value on top of the stack is the same object as the array's element at `place`, from 0.
bool same_element(lua_State* L, int array, size_t place) {
  lua_rawgeti(L, array, static_cast<int>(place + 1));
  const bool same = lua_rawequal(L, -1, -2) != 0;
  lua_pop(L, 1);
  return same;
}

/// exchange(call, signature, gives, expects, joined) -> array, or with `joined` one tensor of all members' rows; or
/// nil, message, code. gives[i] is for the i-th member, from 1; nil gives nothing. expects[i]: whether the i-th member
/// gives a value. Both have a field `n`.
int exchange(lua_State* L) {
  Call call = call_at(L, 1, CollectiveKind::exchange);
  CallSpec& spec = call.spec;
  spec.signature += " " + std::string(check_text(L, 2, "signature", "collective"));
  const auto n = static_cast<size_t>(number_field(L, 3, "n", 0));
  if (n != call.group->losses.placed().size())
    raise_at_user(L, "collective." + spec.name + ": its arguments are for other members");
  spec.outgoing.resize(n);
  spec.expected.resize(n);
  std::optional<size_t> given;  // the last member that receives a value
  for (size_t i = 0; i < n; ++i) {
    lua_rawgeti(L, 3, static_cast<int>(i + 1));
    if (!lua_isnil(L, -1)) {
      // Packs a value for several members once.
      const bool as_before = given && same_element(L, 3, *given);
      spec.outgoing[i] = as_before ? spec.outgoing[*given] : value_of(L, lua_gettop(L), spec.name);
      given = i;
    }
    lua_rawgeti(L, 4, static_cast<int>(i + 1));
    spec.expected[i] = lua_toboolean(L, -1) != 0;
    lua_pop(L, 2);
  }
  spec.joined = lua_toboolean(L, 5) != 0;
  return run_or_start(L, call, [joined = spec.joined](lua_State* state, CallResult&& result) {
    return joined ? push_joined(state, std::move(result)) : push_gets(state, std::move(result));
  });
}

CollectiveGroup& group_at(lua_State* L, int index) {
  return CollectiveEngine::of(L).group(static_cast<size_t>(lua_tonumber(L, index)));
}

/// allreduce(group, tensor, op, out) -> true, with the result in the empty tensor `out`; or nil, message, code. A fast
/// path for calls without options, which need no table. Returns false if `reduction` must make the call or report an
/// error; also after a change of membership, which callbacks must learn first.
int allreduce(lua_State* L) {
  Node& node = NodeContext::of(L).node;
  CallSpec spec;
  const bool named = lua_type(L, 3) == LUA_TSTRING;
  expect(L, node.run_chunks());
  const bool plain = node.role() == Role::worker && !node.in_chunk() &&
                     node.cluster().epoch() == node.membership().epoch() &&
                     (lua_isnil(L, 3) || (named && parse_collective_op(lua_tostring(L, 3), spec.op)));
  auto value = plain ? find_tensor(L, 2) : std::nullopt;
  if (!value || (spec.op == CollectiveOp::mean && !is_floating(value->dtype))) {
    return push(L, false);
  }
  CollectiveGroup& group = group_at(L, 1);
  spec.kind = CollectiveKind::allreduce;
  spec.name = "allreduce";
  spec.where = user_position(L);
  spec.signature = spec.name;
  add_group(spec.signature, group);
  add_operands(spec.signature, spec.op, *value);
  spec.dtype = value->dtype;
  spec.input = std::exchange(value->data, {});
  auto result = CollectiveEngine::of(L).collectives.run(group, std::move(spec));
  if (!result) return push_or_raise(L, result.error());
  count(group, *result);
  value->data = std::move(result->buffer);
  fill_tensor(L, 4, std::move(*value));
  return push(L, true);
}

void push_place(lua_State* L, std::optional<uint32_t> place) {
  if (place) {
    lua_pushinteger(L, static_cast<lua_Integer>(*place));
  } else {
    lua_pushnil(L);
  }
}

/// place(group) -> this worker's place in the group (from 0, or nil) and the number of live members, for the next
/// call's arguments; also "rank 2 lost" if that call can only report a loss.
int place(lua_State* L) {
  refuse_alone(L, "a collective");
  const Collectives::Placing placing = take(L, CollectiveEngine::of(L).collectives.place(group_at(L, 1)));
  push_place(L, placing.place);
  lua_pushinteger(L, static_cast<lua_Integer>(placing.places));
  if (placing.unreported_loss.empty()) return 2;
  lua_pushstring(L, placing.unreported_loss.c_str());
  return 3;
}

/// members(group) -> as `place`, for the script's own use
int members(lua_State* L) {
  const auto ids = CollectiveEngine::of(L).collectives.members_of(group_at(L, 1));
  const auto self = std::find(ids.begin(), ids.end(), NodeContext::of(L).node.index());
  push_place(L, self == ids.end() ? std::nullopt : std::optional(static_cast<uint32_t>(self - ids.begin())));
  lua_pushinteger(L, static_cast<lua_Integer>(ids.size()));
  return 2;
}

/// stats(group) -> successful calls, bytes sent
int collective_stats(lua_State* L) {
  const CollectiveGroup& group = group_at(L, 1);
  lua_pushnumber(L, static_cast<lua_Number>(group.succeeded));
  lua_pushnumber(L, static_cast<lua_Number>(group.bytes_sent));
  return 2;
}

/// group(name, ranks) -> its number. `ranks` are the present ranks; members keep their ids.
int group(lua_State* L) {
  CollectiveEngine& engine = CollectiveEngine::of(L);
  auto made = std::make_unique<CollectiveGroup>();
  made->name = check_text(L, 1, "name", "collective.group");
  const auto workers = engine.collectives.workers_by_rank();
  each_item(L, 2, [&](int /*i*/) {
    const auto rank = static_cast<size_t>(lua_tonumber(L, -1));
    if (rank >= workers.size()) {
      raise_at_user(L, "bad argument 'ranks' to collective.group: there is no rank " + std::to_string(rank) +
                           " among " + std::to_string(workers.size()));
    }
    made->ids.push_back(workers[rank]);
  });
  std::sort(made->ids.begin(), made->ids.end());
  made->ids.erase(std::unique(made->ids.begin(), made->ids.end()), made->ids.end());
  for (const auto& other : engine.named) {
    if (other->name == made->name) raise_at_user(L, "collective.group: there is a group '" + made->name + "' already");
  }
  // The id depends only on the name, so ranks may make their groups in any order. Id 0 is the group of all workers.
  made->id = std::max<uint32_t>(1, XXH32(made->name.data(), made->name.size(), 0));
  made->losses.admit(made->ids, NodeContext::of(L).node.actions());
  engine.named.push_back(std::move(made));
  return push(L, engine.named.size());
}

int open_collective(lua_State* L) {
  const NodeContext& context = NodeContext::of(L);
  CollectiveEngine::keep(L, context.node, context.shared.meetings, context.shared.courier->arbiter);
  static const luaL_Reg kFunctions[] = {
      {"barrier", guarded<barrier>},        {"leave", guarded<leave_call>},
      {"join_point", guarded<join_point>},  {"reduction", guarded<reduction>},
      {"allreduce", guarded<allreduce>},    {"broadcast", guarded<broadcast>},
      {"exchange", guarded<exchange>},      {"test", guarded<test>},
      {"wait", guarded<wait_for_call>},     {"place", guarded<place>},
      {"members", guarded<members>},        {"group", guarded<group>},
      {"stats", guarded<collective_stats>},
  };
  return push_functions(L, kFunctions);
}

}  // namespace

void open_collective(Vm& vm) { vm.register_module("actor.c.collective", open_collective); }

}  // namespace actorhost
