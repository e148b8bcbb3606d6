#include "bindings/modules/tool/lua_sim.hpp"

#include <algorithm>
#include <string>

#include "bindings/modules/engine/barrier_api.hpp"
#include "bindings/vm/lua_support.hpp"
#include "host/sim/admission.hpp"
#include "host/sim/student_t.hpp"
#include "host/sim/work_times.hpp"

namespace actorhost {

namespace {

constexpr const char* kControl = "actor.sim.control";
constexpr const char* kRun = "sim.run";

// --- values from Lua ---

/// The optional fields of the table at `index`.
struct Fields {
  lua_State* L;
  int index;

  bool get(const char* name, int type) const {
    lua_getfield(L, index, name);
    if (lua_isnil(L, -1)) {
      lua_pop(L, 1);
      return false;
    }
    if (lua_type(L, -1) != type) raise_bad_argument(L, -1, name, kRun, lua_typename(L, type));
    return true;
  }
  double number(const char* name, double otherwise) const {
    if (!get(name, LUA_TNUMBER)) return otherwise;
    const double value = lua_tonumber(L, -1);
    lua_pop(L, 1);
    return value;
  }
  uint64_t whole(const char* name, uint64_t otherwise, double most) const {
    if (!get(name, LUA_TNUMBER)) return otherwise;
    const double value = lua_tonumber(L, -1);
    if (!(value >= 0 && value <= most && value == static_cast<double>(static_cast<uint64_t>(value)))) {
      raise_bad_argument(L, -1, name, kRun, "a whole number of at least 0");
    }
    lua_pop(L, 1);
    return static_cast<uint64_t>(value);
  }
  bool boolean(const char* name) const {
    if (!get(name, LUA_TBOOLEAN)) return false;
    const bool value = lua_toboolean(L, -1) != 0;
    lua_pop(L, 1);
    return value;
  }
  std::string text(const char* name) const {
    if (!get(name, LUA_TSTRING)) return {};
    std::string value = lua_tostring(L, -1);
    lua_pop(L, 1);
    return value;
  }
};

/// Reads an array of nodes {joins =, leaves =, work = {...}, network = {...}, begins = {...}} with the fields period
/// and offset at the top of the stack; leaves it there.
Replay replay_of(lua_State* L) {
  Replay out;
  const int nodes = lua_gettop(L);
  const Fields whole{L, nodes};
  out.period = whole.number("period", 0);
  out.offset = whole.number("offset", 0);
  for (int i = 1; i <= static_cast<int>(lua_objlen(L, nodes)); ++i) {
    lua_rawgeti(L, nodes, i);
    const Fields fields{L, lua_gettop(L)};
    Replay::Node& node = out.nodes.emplace_back();
    node.joins = fields.number("joins", 0);
    node.leaves = fields.number("leaves", 0);
    if (!fields.get("work", LUA_TTABLE) || !fields.get("network", LUA_TTABLE) || !fields.get("begins", LUA_TTABLE)) {
      raise_bad_argument(L, lua_gettop(L), "replay", kRun, "a table with work, network and begins of each node");
    }
    const int begins = lua_gettop(L);
    for (int k = 1; k <= static_cast<int>(lua_objlen(L, begins - 2)); ++k) {
      for (const int list : {begins - 2, begins - 1, begins}) lua_rawgeti(L, list, k);
      node.steps.push_back({lua_tonumber(L, -3), lua_tonumber(L, -2), lua_tonumber(L, -1)});
      lua_pop(L, 3);
    }
    lua_settop(L, nodes);
  }
  return out;
}

/// Reads a part of the scenario from its text form; an error names the option.
template <typename T>
Status take(const Fields& fields, const char* name, T& out) {
  const std::string text = fields.text(name);
  if (text.empty()) return {};
  auto parsed = T::parse(text);
  if (!parsed) return Error{parsed.error().code, std::string(name) + ": " + parsed.error().message};
  out = std::move(*parsed);
  return {};
}

constexpr double kWhole = 9007199254740992.0;

/// The scenario of the options. Stores the nodes of a replay in `replay`, which must outlive the scenario.
Result<Scenario> scenario_of(const Fields& fields, Replay& replay) {
  Scenario out;
  out.nodes = static_cast<uint32_t>(fields.whole("nodes", out.nodes, 4294967295.0));
  out.seconds = fields.number("time", out.seconds);
  out.seed = fields.whole("seed", 0, kWhole);
  out.loss = fields.number("loss", 0);
  out.retry = fields.number("retry", out.retry);
  out.trace = fields.boolean("trace");
  AH_TRY(take(fields, "work", out.work));
  AH_TRY(take(fields, "speed", out.speed));
  if (out.speed.zero() && !fields.text("speed").empty()) {
    return Error{Code::bad_argument, "speed: work times 0 takes no time"};
  }
  AH_TRY(take(fields, "straggler", out.stragglers));
  AH_TRY(take(fields, "topology", out.topology));
  AH_TRY(take(fields, "service", out.topology.service));
  AH_TRY(take(fields, "delay", out.delay));
  AH_TRY(take(fields, "churn", out.churn));
  AH_TRY(take(fields, "failures", out.failures));
  out.topology.bandwidth = fields.number("bandwidth", 0);
  out.topology.bytes = fields.number("bytes", 0);
  out.failures.detect = fields.number("detect", out.failures.detect);
  if (fields.get("replay", LUA_TTABLE)) {
    replay = replay_of(fields.L);
    lua_pop(fields.L, 1);
    out.replay = &replay;
    out.nodes = static_cast<uint32_t>(std::max<size_t>(replay.nodes.size(), 1));
  }
  return out;
}

/// {kind = "clock"|"free"|"sampled"|"other", staleness =, beta =, resample = "event"|"sticky"|{poll = seconds}}.
NativeRule native_of(lua_State* L, int index) {
  const Fields fields{L, index};
  NativeRule out;
  const std::string kind = fields.text("kind");
  if (kind == "free") {
    out.staleness = NativeRule::kFree;
    return out;
  }
  out.staleness = static_cast<int32_t>(fields.whole("staleness", 0, 2147483647.0));
  lua_getfield(L, index, "beta");
  const bool sampled = !lua_isnil(L, -1);
  lua_pop(L, 1);
  if (!sampled) return out;
  out.beta = static_cast<uint32_t>(fields.whole("beta", 0, 4294967294.0));
  lua_getfield(L, index, "resample");
  if (lua_istable(L, -1)) {
    out.resample.kind = Resample::Kind::poll;
    out.resample.seconds = Fields{L, lua_gettop(L)}.number("poll", 0);
  } else if (lua_isstring(L, -1) && std::string_view(lua_tostring(L, -1)) == "sticky") {
    out.resample.kind = Resample::Kind::sticky;
  }
  lua_pop(L, 1);
  return out;
}

// --- values for Lua ---

void set_moments(lua_State* L, const char* name, const Moments& moments) {
  lua_createtable(L, 0, 6);
  set_field(L, "count", moments.count);
  set_field(L, "mean", moments.mean);
  set_field(L, "sd", moments.sd);
  set_field(L, "skew", moments.skew);
  set_field(L, "kurtosis", moments.kurtosis);
  set_field(L, "max", moments.largest);
  lua_setfield(L, -2, name);
}

/// Sets an array of the results of `value` for the elements.
template <typename T, typename F>
void set_array(lua_State* L, const char* name, const std::vector<T>& items, F value) {
  push_list(L, items, [&](const T& item) { push(L, value(item)); });
  lua_setfield(L, -2, name);
}

void set_trace(lua_State* L, const SimResult& result) {
  static constexpr const char* kKinds[] = {"join", "leave", "release", "start", "finish", "apply"};
  lua_createtable(L, 0, 4);
  set_array(L, "time", result.trace, [](const SimTraceEvent& e) { return e.time; });
  set_array(L, "id", result.trace, [](const SimTraceEvent& e) { return e.node; });
  set_array(L, "step", result.trace, [](const SimTraceEvent& e) { return e.step; });
  push_list(L, result.trace, [&](const SimTraceEvent& e) { lua_pushstring(L, kKinds[static_cast<size_t>(e.kind)]); });
  lua_setfield(L, -2, "event");
  lua_setfield(L, -2, "trace");
}

void push_result(lua_State* L, const SimResult& result, bool with_trace) {
  lua_createtable(L, 0, 32);
  set_field(L, "mean_step", result.mean_step);
  set_field(L, "sd_step", result.sd_step);
  set_field(L, "min_step", result.min_step);
  set_field(L, "max_step", result.max_step);
  set_field(L, "updates", result.updates);
  set_field(L, "checks", result.checks);
  set_field(L, "messages", result.messages);
  set_field(L, "lost", result.lost);
  set_field(L, "alive", result.ids.size());
  set_field(L, "joined", result.joined);
  set_field(L, "departed", result.departed);
  set_field(L, "crashed", result.crashed);
  set_field(L, "busy", result.busy);
  set_field(L, "waiting", result.waiting);
  set_field(L, "network", result.network);
  set_field(L, "down", result.down);
  set_field(L, "ended", result.ended);
  set_field(L, "last_progress", result.last_progress);
  if (result.ids.empty()) set_field(L, "emptied", result.emptied);
  set_moments(L, "staleness", result.staleness);
  set_moments(L, "progress_inconsistency", result.progress_inconsistency);
  set_moments(L, "sequence_inconsistency", result.sequence_inconsistency);
  set_array(L, "ids", result.ids, [](uint32_t id) { return id; });
  set_array(L, "steps", result.steps, [](int32_t step) { return step; });
  set_array(L, "busy_by_node", result.busy_by_node, [](double seconds) { return seconds; });
  lua_createtable(L, 0, 4);
  set_array(L, "time", result.progress, [](const ProgressPoint& p) { return p.time; });
  set_array(L, "mean", result.progress, [](const ProgressPoint& p) { return p.mean; });
  set_array(L, "min", result.progress, [](const ProgressPoint& p) { return p.min; });
  set_array(L, "max", result.progress, [](const ProgressPoint& p) { return p.max; });
  lua_setfield(L, -2, "progress");
  if (with_trace) set_trace(L, result);
}

// --- the functions ---

/// The seed of a rule's own random numbers in a simulation with seed `seed`: a whole number that is exact in Lua.
uint64_t rule_seed(uint64_t seed) { return sim_seed(seed, SimStream::admission) >> 11; }

constexpr double kTickSeconds = 0.1;

/// Calls options.on_progress periodically with the completed share of the simulated time. Its error ends the run.
void follow(Vm& vm, lua_State* L, double seconds, SimWatch& watch) {
  watch.stop = false;
  watch.tick = nullptr;
  lua_getfield(L, 1, "on_progress");
  if (lua_isfunction(L, -1) == 0) {
    lua_pop(L, 1);
    return;
  }
  auto callback = std::make_shared<LuaRef>(LuaRef::pop(L));
  watch.tick = [&vm, L, seconds, callback, &watch, last = vm.clock().now()](double now) mutable {
    if (vm.clock().now() - last < kTickSeconds) return;
    last = vm.clock().now();
    callback->push(L);
    lua_pushnumber(L, now / seconds);
    if (!vm.call(L, 1, 0).ok()) watch.stop = true;
  };
}

/// Runs a rule in Lua, or the classic rule described by `form`. For a rule in Lua, `form` gives the sample of its
/// outermost sampling, because peers draw samples by messages.
Result<SimResult> simulate(const Scenario& scenario, LuaRule* rule, const NativeRule& form, bool decides_first_step,
                           SimWatch* watch) {
  if (scenario.topology.kind == Topology::Kind::peers) {
    const auto peer = rule != nullptr ? make_peer_rule(*rule, form.beta, form.resample) : make_peer_rule(form);
    return simulate_peers(scenario, *peer, watch);
  }
  const auto admit = [&](const Clocks& clocks) {
    return rule != nullptr ? make_admission(*rule, clocks, decides_first_step)
                           : make_admission(form, clocks, rule_seed(scenario.seed));
  };
  return simulate_hub(scenario, admit, watch);
}

/// run(options, form, evaluator): form is {kind = "clock"|"free"|"sampled"|"other", ...}, as in native_of. With an
/// evaluator of actor.barrier the simulator uses the evaluator; form then only gives its sampling and
/// `decides_first_step`.
int sim_run(lua_State* L) {
  Vm& vm = Vm::from(L);
  check_table(L, 1, "options", kRun);
  check_table(L, 2, "form", kRun);
  lua_settop(L, 3);
  Replay replay;
  const Result<Scenario> scenario = scenario_of(Fields{L, 1}, replay);
  if (!scenario) raise_at_user(L, std::string(kRun) + ": " + scenario.error().message);
  if (const Status fine = scenario->check(); !fine) raise_at_user(L, std::string(kRun) + ": " + fine.error().message);
  const NativeRule form = native_of(L, 2);
  SimControl& control = sim_control(vm);
  follow(vm, L, scenario->seconds, control.watch);
  std::unique_ptr<LuaRule> rule;
  if (!lua_isnil(L, 3)) {
    auto popped = LuaRule::pop(vm, control.watchdog.get());
    if (!popped) raise_at_user(L, popped.error().message);
    rule = std::move(*popped);
    rule->use(L);
  }
  const bool decides_first_step = boolean_field(L, 2, "decides_first_step");
  lua_settop(L, 2);
  const Result<SimResult> result = simulate(*scenario, rule.get(), form, decides_first_step, &control.watch);
  control.watch.tick = nullptr;
  vm.check_stop(L);
  if (!result) raise_error(L, result.error());
  push_result(L, *result, scenario->trace);
  set_field(L, "nodes", scenario->nodes);
  set_field(L, "time", scenario->seconds);
  return 1;
}

/// check(options): true; or nil, message, code for wrong options.
int sim_check(lua_State* L) {
  check_table(L, 1, "options", "sim.check");
  lua_settop(L, 1);
  Replay replay;
  const Result<Scenario> scenario = scenario_of(Fields{L, 1}, replay);
  const Status fine = scenario.ok() ? scenario->check() : Status(scenario.error());
  if (!fine) return push_failure(L, fine.error());
  return push(L, true);
}

/// rule_seed(seed): the seed of the evaluator in a simulation with this seed.
int sim_rule_seed(lua_State* L) {
  const auto seed = static_cast<uint64_t>(check_integer(L, 1, "seed", kRun, 0, int64_t{1} << 53));
  return push(L, static_cast<double>(rule_seed(seed)));
}

/// student_t(p, degrees): the quantile of Student's t distribution.
int sim_student_t(lua_State* L) {
  const double p = check_number(L, 1, "p", "student_t");
  const int64_t degrees = check_integer(L, 2, "degrees", "student_t", 1, 1000000000);
  if (!(p > 0 && p < 1)) raise_bad_argument(L, 1, "p", "student_t", "a number between 0 and 1");
  return push(L, student_t_quantile(p, static_cast<uint32_t>(degrees)));
}

/// rule_limit(seconds): limits a round of evaluations of a rule in Lua, if there is a watchdog.
int sim_rule_limit(lua_State* L) {
  const double seconds = check_number(L, 1, "seconds", "rule_limit");
  if (SimControl& control = sim_control(Vm::from(L)); control.watchdog) control.watchdog->set_limit(seconds);
  return 0;
}

/// load_rule(chunk, path): runs the chunk of a rule file as pcall does. The watchdog, if any, applies the limit of a
/// round of evaluations.
int sim_load_rule(lua_State* L) {
  const std::string path(check_text(L, 2, "path", "load_rule"));
  lua_settop(L, 1);
  CallWatchdog* watchdog = sim_control(Vm::from(L)).watchdog.get();
  const bool watched = watchdog != nullptr && watchdog->begin_loading(path);
  const int status = lua_pcall(L, 0, 1, 0);
  if (watched) watchdog->end();
  lua_pushboolean(L, status == 0 ? 1 : 0);
  lua_insert(L, 1);
  return 2;
}

}  // namespace

SimControl& sim_control(Vm& vm) { return RegistryObject<SimControl>::find(vm.state(), kControl); }

void open_sim(Vm& vm) {
  RegistryObject<SimControl>::store(vm.state(), kControl, std::make_shared<SimControl>());
  static constexpr luaL_Reg kFunctions[] = {
      {"load_rule", guarded<sim_load_rule>},
      {"rule_limit", guarded<sim_rule_limit>},
      {"run", guarded<sim_run>},
      {"check", guarded<sim_check>},
      {"rule_seed", guarded<sim_rule_seed>},
      {"student_t", guarded<sim_student_t>},
  };
  vm.register_module("actor.c.sim", open_functions<kFunctions>);
}

}  // namespace actorhost
