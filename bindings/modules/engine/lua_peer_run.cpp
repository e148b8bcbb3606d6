#include <memory>
#include <string>
#include <vector>

#include "bindings/modules/engine/barrier_api.hpp"
#include "bindings/modules/engine/ffi_peer.h"
#include "bindings/modules/engine/node_modules.hpp"
#include "bindings/modules/engine/param_options.hpp"
#include "bindings/modules/engine/param_values.hpp"
#include "bindings/modules/tool/call_watchdog.hpp"
#include "bindings/process/node_context.hpp"
#include "bindings/process/process_shared.hpp"
#include "bindings/vm/lua_support.hpp"
#include "host/engine/peer/peer_run.hpp"

namespace actorhost {

namespace {

constexpr const char* kPeerModule = "actor.peer";

/// The engine's state of one Vm, which owns it.
struct PeerEngine {
  explicit PeerEngine(NodeContext& c)
      : context(c), bridge(c.node, c.shared.courier->peers, c.seed, c.options.replicas), run(bridge) {}

  NodeContext& context;
  PeerBridge bridge;
  PeerRun run;
  std::unique_ptr<LuaRule> rule;
  std::string pull_place;  // "pull (job.lua:12)"
  bool shared = false;     // the run's tensors are passed without copies
  ah_peer_api api = {};
};

PeerEngine& peer_engine(lua_State* L) { return RegistryObject<PeerEngine>::find(L, kPeerModule); }

// ---- values ----

int32_t peer_is_current(const void* node, double version) noexcept {
  return static_cast<const PeerEngine*>(node)->run.is_current(static_cast<uint64_t>(version)) ? 1 : 0;
}

/// get(key) -> value, step, or nil, message; get({key, ...}) -> {value, ...}, {step, ...}. A shared tensor of a key
/// that this node leads has a third result: the argument of peer_is_current.
int peer_get(lua_State* L) {
  constexpr const char* kFunction = "peer.get";
  const bool many = lua_istable(L, 1);
  std::vector<ParamKey> keys;
  if (many) {
    keys = param_keys_at(L, 1, kFunction);
  } else {
    keys = {take(L, param_key_at(L, 1, "peer.get: key"))};
  }
  auto got = peer_engine(L).run.get(std::move(keys), kFunction);
  if (!got) return push_or_raise(L, got.error());
  if (many) {
    push_values(L, *std::move(got));
    return 2;
  }
  ParamEntry entry = std::move(got->front());
  if (std::holds_alternative<std::monostate>(entry.value)) {
    lua_pushnil(L);
    lua_pushfstring(L, "%s: there is no key %s", kFunction, entry.key.print().c_str());
    return 2;
  }
  PeerEngine& engine = peer_engine(L);
  const bool handle = engine.shared && engine.run.led() > 0 && std::holds_alternative<ParamTensor>(entry.value);
  expect(L, push_param_value(L, std::move(entry.value), engine.shared));
  lua_pushnumber(L, static_cast<lua_Number>(entry.step));
  if (!handle) return 2;
  lua_pushnumber(L, static_cast<lua_Number>(engine.run.led()));
  return 3;
}

/// set({{key, value}, ...}, where)
int peer_set(lua_State* L) {
  const std::string where(check_text(L, 2, "where", "set"));
  TensorCopies copies;
  expect_right(
      L, peer_engine(L).run.set(take(L, param_entries_at(L, 1, &copies, ParamUse::update, where)), where.c_str()));
  return 0;
}

// ---- a run ----

/// {beta=, kind=, seconds=} of a rule's outermost sampling; no beta: no sampling.
PeerGate::Sampling sampling_at(lua_State* L, int index) {
  PeerGate::Sampling out;
  const double beta = number_field(L, index, "beta", -1);
  if (beta < 0) return out;
  out.sampled = true;
  out.beta = static_cast<uint32_t>(beta);
  out.resample.kind = text_field(L, index, "kind") == "sticky" ? Resample::Kind::sticky : Resample::Kind::poll;
  out.resample.seconds = number_field(L, index, "seconds", 0);
  return out;
}

/// begin(action, options {pull=, pull_place=, shared=, check_finite=, barrier=}, sampling, evaluator)
int run_begin(lua_State* L) {
  PeerEngine& engine = peer_engine(L);
  const auto action = static_cast<uint32_t>(check_integer(L, 1, "action", "begin", 0, UINT32_MAX - 1));
  check_table(L, 2, "options", "begin");
  check_table(L, 3, "sampling", "begin");
  PeerRun::Config config;
  config.run = action + 1;  // 0 stands for no run
  config.update = update_at(L, 2, "peer.run");
  config.update.shared = engine.shared = boolean_field(L, 2, "shared");
  config.check_finite = boolean_field(L, 2, "check_finite");
  engine.pull_place = text_field(L, 2, "pull_place");
  config.sampling = sampling_at(L, 3);
  config.rule_name = text_field(L, 2, "barrier");
  config.board = &engine.context.shared.barrier;
  lua_pushvalue(L, 4);
  Vm& vm = Vm::from(L);
  if (L != vm.state()) lua_xmove(L, vm.state(), 1);  // for a call from a coroutine
  engine.context.watch_worker();
  engine.rule = take(L, LuaRule::pop(vm, engine.context.watchdog));
  config.rule = engine.rule.get();
  expect(L, engine.run.begin(config));
  return 0;
}

/// watch(place): begins a callback that others wait for; watch(): the callback has returned
int run_watch(lua_State* L) {
  CallWatchdog& watchdog = *peer_engine(L).context.watchdog;
  if (lua_isnoneornil(L, 1)) {
    watchdog.end();
  } else {
    watchdog.begin_call(check_text(L, 1, "place", "watch"), true);
  }
  return 0;
}

/// wait() -> nil when the begun operation is done, or a batch {{k, v, step, id}, ...} to pull, and its newest step
int run_wait(lua_State* L) {
  PeerEngine& engine = peer_engine(L);
  engine.rule->use(L);
  auto batch = take(L, engine.run.wait());
  if (!batch) return 0;
  push_pull_batch(L, *batch, engine.shared);
  engine.context.watchdog->begin_call(engine.pull_place, true);
  return 2;
}

/// answer_pull(values, where)
int run_answer_pull(lua_State* L) {
  PeerEngine& engine = peer_engine(L);
  engine.context.watchdog->end();
  const std::string where(check_text(L, 2, "where", "answer_pull"));
  TensorCopies copies;
  auto values = take(L, param_entries_at(L, 1, engine.shared ? nullptr : &copies, ParamUse::update, where));
  const Status answered = engine.run.answer_pull(std::move(values));
  if (!answered) raise_at_user(L, where + " returned a wrong entry: " + answered.error().message);
  return 0;
}

/// first() -> whether this node provides the initial values
int run_first(lua_State* L) { return push(L, peer_engine(L).run.first()); }

/// begun_elsewhere() -> whether one of a few sampled workers has begun its first step of the run; or nil, message, code
int run_begun_elsewhere(lua_State* L) {
  const auto begun = peer_engine(L).run.begun_elsewhere();
  if (!begun) return push_or_raise(L, begun.error());
  return push(L, *begun);
}

int run_ready(lua_State* L) {
  peer_engine(L).run.ready();
  return 0;
}

int run_request_pass(lua_State* L) {
  peer_engine(L).run.request_pass();
  return 0;
}

/// fetch({key, ...}, where)
int run_fetch(lua_State* L) {
  check_table(L, 1, "keys", "fetch");
  const std::string where(check_text(L, 2, "where", "fetch"));
  peer_engine(L).run.fetch(param_keys_at(L, 1, where));
  return 0;
}

/// fetched() -> {{k, v}, ...}
int run_fetched(lua_State* L) {
  PeerEngine& engine = peer_engine(L);
  push_entries(L, engine.run.take_entries(), engine.shared);
  return 1;
}

/// push(updates, where)
int run_push(lua_State* L) {
  PeerEngine& engine = peer_engine(L);
  const std::string where(check_text(L, 2, "where", "push"));
  TensorCopies copies;
  auto updates = take(L, param_entries_at(L, 1, engine.shared ? nullptr : &copies, ParamUse::update, where));
  const size_t count = updates.size();
  const Status pushed = engine.run.push(std::move(updates));
  if (!pushed) raise_at_user(L, where + " returned a wrong entry: " + pushed.error().message);
  NodeStats& stats = engine.context.node.stats();
  stats.step.set(engine.run.step() + 1);
  stats.updates.add(count);
  return 0;
}

int run_stop(lua_State* L) {
  peer_engine(L).run.stop();
  return 0;
}

int run_settle(lua_State* L) {
  peer_engine(L).run.settle();
  return 0;
}

/// snapshot() -> step, seconds, updates, workers, for a context
int run_snapshot(lua_State* L) {
  const PeerRun& run = peer_engine(L).run;
  lua_pushnumber(L, static_cast<lua_Number>(run.step()));
  lua_pushnumber(L, run.seconds());
  lua_pushnumber(L, static_cast<lua_Number>(run.updates()));
  lua_pushnumber(L, static_cast<lua_Number>(run.workers()));
  return 4;
}

/// resample(sampling, name): the rule has changed
int run_resample(lua_State* L) {
  check_table(L, 1, "sampling", "resample");
  peer_engine(L).run.resample(sampling_at(L, 1), std::string(check_text(L, 2, "name", "resample")));
  return 0;
}

/// end() -> {steps=, updates=, seconds=, non_finite=, messages={...}}
int run_end(lua_State* L) {
  const PeerSummary summary = take(L, peer_engine(L).run.end());
  lua_createtable(L, 0, 6);
  set_field(L, "steps", summary.steps);
  set_field(L, "updates", summary.updates);
  set_field(L, "seconds", summary.seconds);
  set_field(L, "non_finite", summary.non_finite);
  lua_createtable(L, 0, 7);
  set_field(L, "decisions", summary.decisions);
  set_field(L, "draws", summary.draws);
  set_field(L, "lookups", summary.sent.lookups);
  set_field(L, "upkeep", summary.sent.upkeep);
  set_field(L, "watches", summary.sent.watches);
  set_field(L, "clocks", summary.sent.clocks);
  set_field(L, "keys", summary.sent.keys);
  lua_setfield(L, -2, "messages");
  return 1;
}

void add(lua_State* L, const char* name, lua_CFunction function) {
  lua_pushcfunction(L, function);
  lua_setfield(L, -2, name);
}

}  // namespace

void add_peer_run(lua_State* L) {
  const auto engine = std::make_shared<PeerEngine>(NodeContext::of(L));
  engine->api = {engine.get(), peer_is_current};
  Vm::from(L).register_ffi("peer", &engine->api);
  store_with_rule(L, kPeerModule, engine);
  add(L, "get", guarded<peer_get>);
  add(L, "set", guarded<peer_set>);
  add(L, "begin", guarded<run_begin>);
  add(L, "watch", guarded<run_watch>);
  add(L, "wait", guarded<run_wait>);
  add(L, "answer_pull", guarded<run_answer_pull>);
  add(L, "first", guarded<run_first>);
  add(L, "begun_elsewhere", guarded<run_begun_elsewhere>);
  add(L, "ready", guarded<run_ready>);
  add(L, "request_pass", guarded<run_request_pass>);
  add(L, "fetch", guarded<run_fetch>);
  add(L, "fetched", guarded<run_fetched>);
  add(L, "push", guarded<run_push>);
  add(L, "stop", guarded<run_stop>);
  add(L, "settle", guarded<run_settle>);
  add(L, "snapshot", guarded<run_snapshot>);
  add(L, "resample", guarded<run_resample>);
  add(L, "done", guarded<run_end>);
  add_injection(L);
}

}  // namespace actorhost
