// Connects the state machines of host/engine/param (client, worker, shard, controller) to a node's port and to Lua.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bindings/modules/engine/barrier_api.hpp"
#include "bindings/modules/engine/lua_merge_rule.hpp"
#include "bindings/modules/engine/node_modules.hpp"
#include "bindings/modules/engine/param_options.hpp"
#include "bindings/modules/engine/param_values.hpp"
#include "bindings/modules/engine/push_values.hpp"
#include "bindings/modules/tool/call_watchdog.hpp"
#include "bindings/process/node_context.hpp"
#include "bindings/process/process_shared.hpp"
#include "bindings/vm/lua_support.hpp"
#include "host/engine/param/param_node.hpp"

namespace actorhost {

namespace {

constexpr const char* kParamModule = "actor.param";

/// The number of the run of action `index`; 0 stands for no run.
RunId run_of(uint32_t action) { return action + 1; }

/// The parameter server's state of one Vm, which owns it.
struct ParamState {
  explicit ParamState(NodeContext& c) : context(c), channel(c.node), node(channel, c.options.servers) {
    if (c.node.role() == Role::server) serve({}, asp);
  }

  /// Outside its run a server serves get, set and keys, as the server of a run without workers.
  void serve(ParamServer::Config config, BarrierRule& with, CheckpointSink* checkpoints = nullptr) {
    config.run.shards = context.options.servers;
    auto next = std::make_unique<ParamServer>(config, *context.shared.stores.at(context.node.index()), &with,
                                              context.node.log(), checkpoints);
    node.serve(next.get());
    server = std::move(next);
  }

  /// Begins the checkpoint that SIGTERM requests. Returns true if the server now has work to do.
  bool begin_last_checkpoint() {
    std::atomic<LastCheckpoint>& last = context.shared.last_checkpoint;
    if (context.node.index() != 0) return false;
    if (last == LastCheckpoint::requested) {
      last = LastCheckpoint::begun;
      if (server->last_checkpoint()) return true;
    }
    if (last == LastCheckpoint::begun && !server->checkpoint_requested()) last = LastCheckpoint::taken;
    return false;
  }

  /// Notifies the watchdog that callback `name` may be running until the next request.
  void watch(const char* name) {
    if (const auto at = places.find(name); at != places.end()) context.watchdog->begin_call(at->second, true);
  }

  /// Ensures that shards run for action `wanted`, or for any action (kAnyAction).
  Status open(uint32_t wanted) {
    if (server || (opened && wanted == kAnyAction)) return {};
    if (context.node.in_chunk()) {  // servers would run the job's script, which may not be written for servers
      return Error{Code::unsupported, "this job has no parameter server, or this node has not used it so far"};
    }
    AH_TRY(context.node.start_servers(wanted));
    opened = true;
    return {};
  }

  NodeContext& context;
  NodeChannel channel;
  ParamNode node;
  bool opened = false;
  FreeRule asp;  // of a server outside a run
  std::unique_ptr<LuaRule> rule;
  std::unique_ptr<LuaMergeRule> merge;
  std::map<std::string, std::string> places;  // of the callbacks: "schedule" -> "schedule (job.lua:12)"
  std::unique_ptr<ParamServer> server;
  uint32_t action = 0;
  double task_at = kUnknownBegin;  // arrival time of the worker's task, if spans are recorded
  bool shared = false;             // the run's tensors are passed without copies
  std::vector<NodeId> requesters;  // the workers of the pending schedule request
};

ParamState& param_state(lua_State* L) { return RegistryObject<ParamState>::find(L, kParamModule); }

/// Sets the state of this run from the resumed checkpoint, or the run's end if it ended before the checkpoint.
void resume(const ProcessShared& shared, ControllerConfig& run) {
  if (!shared.resumed) return;
  if (shared.resumed->state.run == run.run) run.resumed = shared.resumed->state;
  if (const auto done = shared.resumed->finished.find(run.run); done != shared.resumed->finished.end()) {
    run.finished = done->second;
  }
}

// ---- pushing the engine's requests ----

struct PushRequest {
  lua_State* L;
  ParamState& state;

  int operator()(const PullRequest& request) const {
    lua_pushstring(L, "pull");
    push_pull_batch(L, *request.entries, state.shared);
    return 3;
  }
  int operator()(const StopRequest& request) const {
    lua_pushstring(L, "stop");
    lua_createtable(L, 0, 6);  // Lua adds size and owns
    set_field(L, "step", request.context.step);
    set_field(L, "updates", request.context.updates);
    set_field(L, "seconds", request.context.seconds);
    set_field(L, "workers", request.context.workers);
    return 2;
  }
  int operator()(const ScheduleRequest& request) const {
    state.requesters = request.workers;
    lua_pushstring(L, "schedule");
    push_list(L, request.workers);
    return 2;
  }
  int operator()(const LostNotice& notice) const {
    lua_pushstring(L, "lost");
    lua_pushnumber(L, notice.worker);
    push_entries(L, notice.entries);
    if (!notice.task) return 3;
    lua_pushnumber(L, static_cast<lua_Number>(*notice.task));
    return 4;
  }
  int operator()(const StateRequest&) const {
    lua_pushstring(L, "state");
    return 1;
  }
  int operator()(const FinishedNotice& notice) const {
    state.context.shared.finished_run = state.action;
    lua_pushstring(L, "finished");
    push_summary(L, notice.summary);
    lua_pushnumber(L, state.action);
    return 3;
  }
  int operator()(const CutRequest&) const { return luaL_error(L, "a checkpoint's cut belongs to the engine"); }
  int operator()(const Error& error) const { raise_error(L, error); }
};

// ---- values ----

/// open(action): waits until shards serve this action
int open_action(lua_State* L) {
  const auto action = check_integer(L, 1, "action", "open", 0, UINT32_MAX);
  expect(L, param_state(L).open(static_cast<uint32_t>(action)));
  return 0;
}

/// get(key) -> value, step; get({key, ...}) -> {value, ...}, {step, ...}
int get_values(lua_State* L) {
  ParamState& state = param_state(L);
  if (lua_istable(L, 1)) {
    std::vector<ParamKey> keys = param_keys_at(L, 1, "param.get");
    expect(L, state.open(kAnyAction));
    push_values(L, take(L, state.node.get(std::move(keys))));
    return 2;
  }
  std::vector<ParamKey> keys = {take(L, param_key_at(L, 1, "param.get: key"))};
  expect(L, state.open(kAnyAction));
  std::vector<ParamEntry> entries = take(L, state.node.get(std::move(keys)));
  if (std::holds_alternative<std::monostate>(entries[0].value)) return 0;
  const uint64_t step = entries[0].step;
  expect(L, push_param_value(L, std::move(entries[0].value)));
  lua_pushnumber(L, static_cast<lua_Number>(step));
  return 2;
}

/// set(key, value)
int set_value(lua_State* L) {
  ParamKey key = take(L, param_key_at(L, 1, "param.set: key"));
  const ParamEntry entry{std::move(key), take(L, param_value_at(L, 2, nullptr, ParamUse::update, "param.set")), 0};
  ParamState& state = param_state(L);
  expect(L, state.open(kAnyAction));
  expect_right(L, state.node.set({&entry, 1}));
  return 0;
}

/// owner(key) -> the shard that stores its whole values
int owner(lua_State* L) {
  const ParamKey key = take(L, param_key_at(L, 1, "param: key"));
  return push(L, owner_of(key, param_state(L).context.options.servers));
}

/// keys() -> array, in order
int keys(lua_State* L) {
  ParamState& state = param_state(L);
  expect(L, state.open(kAnyAction));
  const std::vector<ParamKey> found = take(L, state.node.keys());
  return push_list(L, found, [&](const ParamKey& key) { push_param_key(L, key); });
}

/// fetch({key, ...}, where) -> {{key, value}, ...}
int fetch_entries(lua_State* L) {
  check_table(L, 1, "keys", "fetch");
  const std::string where(check_text(L, 2, "where", "fetch"));
  push_entries(L, take(L, param_state(L).node.fetch(param_keys_at(L, 1, where))));
  return 1;
}

// ---- the worker's loop ----

/// worker_start(action, options {lua_pull=, check_finite=, shared=, filter=})
int worker_start(lua_State* L) {
  const auto action = static_cast<uint32_t>(check_integer(L, 1, "action", "worker_start", 0, UINT32_MAX));
  ParamState& state = param_state(L);
  ParamWorker::Config config;
  config.run = run_of(action);
  config.id = state.context.node.index();
  config.shards = state.context.options.servers;
  check_table(L, 2, "options", "worker_start");
  config.whole = boolean_field(L, 2, "lua_pull");
  config.check_finite = boolean_field(L, 2, "check_finite");
  config.shared = state.shared = boolean_field(L, 2, "shared");
  config.push = filters_at(L, 2).push;
  expect(L, state.node.begin(config));
  return 0;
}

/// worker_next() -> step, entries (nil: the worker chooses keys), whether to time the push; or nil, summary at the end
int worker_next(lua_State* L) {
  ParamState& state = param_state(L);
  ParamWorker::Event event = take(L, state.node.next_event());
  if (auto* task = std::get_if<ParamWorker::Task>(&event)) {
    state.context.node.stats().step.set(task->step);
    state.task_at = state.context.node.stats().span_begin();
    lua_pushnumber(L, static_cast<lua_Number>(task->step));
    if (task->local) {
      lua_pushnil(L);
    } else {
      push_entries(L, std::move(task->entries), state.shared);
    }
    lua_pushboolean(L, task->timed ? 1 : 0);
    return 3;
  }
  if (const auto* summary = std::get_if<ParamSummary>(&event)) {
    lua_pushnil(L);
    push_summary(L, *summary);
    return 2;
  }
  raise_at_user(L, std::get<Error>(event).message);
}

/// worker_push(updates, where, seconds): `seconds` is the duration of the work if the push is timed
int worker_push(lua_State* L) {
  const std::string where(check_text(L, 2, "where", "worker_push"));
  const std::vector<ParamEntry> entries = take(L, param_entries_at(L, 1, nullptr, ParamUse::update, where));
  expect_right(L, param_state(L).node.push(entries, lua_tonumber(L, 3)));
  NodeStats& stats = param_state(L).context.node.stats();
  stats.step.add(1);
  stats.updates.add(entries.size());
  if (SpanSink* spans = stats.spans()) {
    spans->put({"step", "step", param_state(L).task_at, spans->now(), stats.step.get()});
  }
  return 0;
}

// ---- the server's loop ----

/// Reads `options.places`, the callbacks' positions in the script, and watches `init`, the first callback to run.
void watch_callbacks(lua_State* L, ParamState& state) {
  lua_getfield(L, 2, "places");
  const int places = lua_gettop(L);
  for (const char* name : {"init", "schedule", "pull", "stop", "lost"}) {
    const std::string place = text_field(L, places, name);
    if (!place.empty()) state.places[name] = place;
  }
  lua_pop(L, 1);
  state.context.watchdog->end();
  state.watch("init");
}

/// The evaluator at `index`, if there is one, on top of the main state's stack.
bool push_evaluator(lua_State* L, int index) {
  if (lua_isnoneornil(L, index)) return false;
  lua_pushvalue(L, index);
  Vm& vm = Vm::from(L);
  if (L != vm.state()) lua_xmove(L, vm.state(), 1);  // for a call from a coroutine
  return true;
}

/// server_start(action, options, barrier evaluator, merge evaluator) -> {updates=, tasks=}, the state that the run
/// continues from
int server_start(lua_State* L) {
  ParamState& state = param_state(L);
  state.action = static_cast<uint32_t>(check_integer(L, 1, "action", "server_start", 0, UINT32_MAX));
  check_table(L, 2, "options", "server_start");
  ParamServer::Config config;
  config.update = update_at(L, 2, "param.run");
  config.update.shared = state.shared = boolean_field(L, 2, "shared");
  config.run.run = run_of(state.action);
  config.run.members = take(L, state.channel.members());
  config.run.local_schedule = boolean_field(L, 2, "local_schedule");
  config.run.seed = state.context.seed;
  config.run.keeps_tasks = boolean_field(L, 2, "keeps_tasks");
  config.run.seconds = number_field(L, 2, "seconds", kForever);
  if (push_evaluator(L, 3)) state.rule = take(L, LuaRule::pop(Vm::from(L), state.context.watchdog));
  if (push_evaluator(L, 4)) state.merge = take(L, LuaMergeRule::pop(Vm::from(L), state.context.watchdog));
  config.run.merge = state.merge.get();
  config.run.trace = state.context.shared.trace.get();
  config.run.board = &state.context.shared.barrier;
  config.run.barrier = text_field(L, 2, "barrier");
  config.run.merge_name = text_field(L, 2, "merge");
  lua_getfield(L, 2, "places");
  config.run.push_place = text_field(L, lua_gettop(L), "push");
  lua_pop(L, 1);
  const ParamFilterSpecs filters = filters_at(L, 2);
  config.run.filtered = filters.any();
  config.pull = filters.pull;
  std::string directory;
  if (!boolean_field(L, 2, "apart")) {
    config.run.checkpoint = checkpoint_at(L, 2, directory);
    resume(state.context.shared, config.run);
  }
  CheckpointSink* checkpoints = nullptr;
  if (!directory.empty() && state.context.node.index() == 0) {
    Status may = state.context.shared.locks.take(directory, CheckpointFolder{}.prefix);
    if (may) may = try_to_checkpoint(directory);
    if (!may) state.context.shared.checkpoint_failed(may.error());
  }
  if (!directory.empty()) {
    checkpoints =
        &state.context.shared.checkpointer(directory, state.context.options.servers, state.context.node.log());
  }
  if (checkpoints != nullptr && state.context.node.index() == 0) {
    state.context.shared.last_checkpoint = LastCheckpoint::served;
  }
  state.context.shows_output = true;
  BarrierRule& rule = state.rule ? static_cast<BarrierRule&>(*state.rule) : state.asp;
  state.serve(config, rule, checkpoints);
  watch_callbacks(L, state);
  lua_createtable(L, 0, 2);
  set_field(L, "updates", config.run.resumed.updates);
  expect(L, push_carried(L, config.run.resumed.tasks, true));
  lua_setfield(L, -2, "tasks");
  return 1;
}

/// server_wait() -> request, ...: see PushRequest
int server_wait(lua_State* L) {
  ParamState& state = param_state(L);
  if (state.rule) state.rule->use(L);
  if (state.merge) state.merge->use(L);
  state.context.watchdog->end();
  std::optional<ServerRequest> request;
  while (!request) request = take(L, state.node.wait(kForever, [&state] { return state.begin_last_checkpoint(); }));
  if (std::holds_alternative<FinishedNotice>(*request)) state.context.shared.last_checkpoint = LastCheckpoint::none;
  const int results = std::visit(PushRequest{L, state}, *request);
  state.watch(lua_tostring(L, -results));
  return results;
}

int answer_stop(lua_State* L) {
  param_state(L).server->answer_stop(lua_toboolean(L, 1) != 0);
  return 0;
}

/// answer_state(state): the policy's state of its tasks, for a checkpoint
int answer_state(lua_State* L) {
  TensorCopies copies;
  param_state(L).server->answer_state(
      take(L, carried_value_at(L, 1, &copies, "param.run: the result of tasks:state()")));
  return 0;
}

/// outcomes() -> {worker, number, 1 or 0, ...} of the tasks merged or dropped since the last call
int outcomes(lua_State* L) {
  std::vector<uint64_t> flat;
  for (const TaskOutcome& one : param_state(L).server->take_outcomes())
    flat.insert(flat.end(), {one.worker, one.task, one.merged ? 1U : 0U});
  return push_list(L, flat);
}

/// rename_barrier(name): shows observers the name of a new rule
int rename_barrier(lua_State* L) {
  param_state(L).context.shared.barrier.rename(std::string(check_text(L, 1, "name", "rename_barrier")));
  return 0;
}

/// rename_merge(name): the merge rule was replaced; shows observers its name
int rename_merge(lua_State* L) {
  ParamState& state = param_state(L);
  state.merge->refresh();
  state.context.shared.barrier.rename_merge(std::string(check_text(L, 1, "name", "rename_merge")));
  return 0;
}

/// checkpoint_now() -> whether a checkpoint will be written at the next decision
int checkpoint_now(lua_State* L) { return push(L, param_state(L).server->checkpoint_now()); }

/// answer_schedule(tasks, where, keeps): tasks are {[id] = {task=, {k, v}, ...}}; nil: each of these workers chooses
/// its own keys. `keeps`: the run keeps account of its tasks
int answer_schedule(lua_State* L) {
  ParamState& state = param_state(L);
  const std::string where(check_text(L, 2, "where", "answer_schedule"));
  std::map<NodeId, std::vector<ParamEntry>> tasks;
  std::map<NodeId, uint64_t> numbers;
  TensorCopies copies;
  if (lua_isnil(L, 1)) {
    for (const NodeId id : state.requesters) tasks[id] = {};
  } else {
    lua_pushnil(L);
    while (lua_next(L, 1) != 0) {
      const double id = lua_type(L, -2) == LUA_TNUMBER ? lua_tonumber(L, -2) : -1;
      const bool requested =
          std::any_of(state.requesters.begin(), state.requesters.end(), [&](NodeId a) { return a == id; });
      if (!requested) {
        lua_pushvalue(L, -2);
        raise_at_user(L, where + " returned a task for worker '" + std::string(lua_tostring(L, -1)) +
                             "', which did not request a task");
      }
      const std::string what = where + ", task of worker " + std::to_string(static_cast<NodeId>(id));
      tasks[static_cast<NodeId>(id)] =
          take(L, param_entries_at(L, -1, state.shared ? nullptr : &copies, ParamUse::task, what));
      if (const auto number = task_number(L, lua_toboolean(L, 3) != 0, what)) {
        numbers[static_cast<NodeId>(id)] = *number;
      }
      lua_pop(L, 1);
    }
  }
  expect(L, state.server->answer_schedule(std::move(tasks), state.context.node.clock().now(), numbers));
  return 0;
}

/// answer_pull(values, where)
int answer_pull(lua_State* L) {
  const std::string where(check_text(L, 2, "where", "answer_pull"));
  TensorCopies copies;
  const std::vector<ParamEntry> values = take(L, param_entries_at(L, 1, &copies, ParamUse::update, where));
  expect_right(L, param_state(L).server->answer_pull(values));
  return 0;
}

int open_param(lua_State* L) {
  store_with_rule(L, kParamModule, std::make_shared<ParamState>(NodeContext::of(L)));
  static const luaL_Reg kFunctions[] = {
      {"open", guarded<open_action>},
      {"get", guarded<get_values>},
      {"set", guarded<set_value>},
      {"keys", guarded<keys>},
      {"fetch", guarded<fetch_entries>},
      {"worker_start", guarded<worker_start>},
      {"worker_next", guarded<worker_next>},
      {"worker_push", guarded<worker_push>},
      {"owner", guarded<owner>},
      {"server_start", guarded<server_start>},
      {"server_wait", guarded<server_wait>},
      {"answer_stop", guarded<answer_stop>},
      {"answer_state", guarded<answer_state>},
      {"outcomes", guarded<outcomes>},
      {"rename_barrier", guarded<rename_barrier>},
      {"rename_merge", guarded<rename_merge>},
      {"checkpoint_now", guarded<checkpoint_now>},
      {"answer_schedule", guarded<answer_schedule>},
      {"answer_pull", guarded<answer_pull>},
  };
  push_functions(L, kFunctions);
  add_push_values(L);
  add_injection(L);
  return 1;
}

}  // namespace

ParamServer& current_server(lua_State* L) { return *param_state(L).server; }

void open_param(Vm& vm) { vm.register_module("actor.c.param", open_param); }

Status serve_values(Vm& vm) {
  ParamState state(*static_cast<NodeContext*>(vm.context()));
  for (;;) {
    if (auto waited = state.node.wait(kForever, [] { return false; }); !waited) return waited.error();
  }
}

Status serve_values_until(lua_State* L, const std::function<bool()>& enough) {
  ParamState& state = param_state(L);
  while (!enough()) {
    if (auto waited = state.node.wait(kForever, enough); !waited) return waited.error();
  }
  return {};
}

}  // namespace actorhost
