#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/modules/array/lua_tensor.hpp"
#include "bindings/modules/array/tensor_api.hpp"
#include "bindings/modules/engine/node_modules.hpp"
#include "bindings/modules/tool/console_runner.hpp"
#include "bindings/process/node_context.hpp"
#include "bindings/process/process_shared.hpp"
#include "bindings/vm/lua_support.hpp"
#include "host/base/non_copyable.hpp"
#include "host/base/tasks.hpp"

namespace actorhost {

namespace {

constexpr const char* kAverageModule = "actor.average";

/// A worker's part in a session. Used on the Vm's thread; shares the replica with the courier.
class Averaging : private NonCopyable {
 public:
  struct Plan {
    uint32_t session = 0;
    bool fresh = false;
    uint32_t warmup = 0;  // steps
    AverageOptions options{};
    MixingTable table{};  // of the worker that gives the graph
    std::string where;
  };

  Averaging(Node& node, Averages& averages, Plan plan, const std::vector<AverageModel::Part>& parts)
      : node_(node), averages_(averages), plan_(std::move(plan)), warm_left_(plan_.fresh ? 0 : plan_.warmup) {
    // A step of this length is likely to see a round begin.
    const double long_step = plan_.options.interval / 2;
    replica_ = std::make_shared<AverageReplica>(parts, long_step, node.clock(), averages.waker());
    replica_->set_wake(node.port().waker());
  }
  ~Averaging() { send_report(Report::Kind::leave); }

  /// Joins the session. Waits for the other workers, unless this worker joins late (`fresh`).
  Status join() {
    const Report report{Report::Kind::join, node_.index(), plan_.fresh, warm_left_ > 0, plan_.options, plan_.table};
    replica_->expect();
    averages_.report(plan_.session, report, replica_);
    return plan_.fresh ? Status() : wait("average.start");
  }
  Status lock(const std::string& where) {
    if (!locked_.empty()) {
      return Error{Code::bad_argument, "average: the lock is held already, since " + locked_};
    }
    Task::pay_for_computing();
    AH_TRY(explained(replica_->lock()));
    locked_ = where;
    return {};
  }
  /// Releases the lock. `whole`: the step has ended, which the warm-up counts.
  Status unlock(bool whole) {
    if (locked_.empty()) return Error{Code::bad_argument, "average.unlock: the lock is not held"};
    locked_.clear();
    AH_TRY(explained(replica_->unlock()));
    if (!whole || resting_ || warm_left_ == 0) return {};
    --warm_left_;
    return wait_in(Report::Kind::sync, "average.step: the warm-up");
  }
  /// Lets a round proceed within a step.
  Status pause() {
    if (locked_.empty()) return Error{Code::bad_argument, "average: the lock is not held"};
    return explained(replica_->pause());
  }
  bool resting() const noexcept { return resting_; }
  bool locked() const noexcept { return !locked_.empty(); }
  const std::string& locked_at() const noexcept { return locked_; }

  Status abort() {
    AH_TRY(wait_in(Report::Kind::abort, "average.abort"));
    resting_ = true;
    replica_->free_copy();
    return {};
  }
  void resume() {
    if (std::exchange(resting_, false)) send_report(Report::Kind::resume);
  }
  /// Does the work of an abort that ended before this worker joined.
  void rest() {
    resting_ = true;
    send_report(Report::Kind::rest);
  }
  /// Gives the graph for the present number of workers.
  void set_table(MixingTable table) {
    const Report report{Report::Kind::graph, node_.index(), false, false, plan_.options, std::move(table)};
    averages_.report(plan_.session, report);
  }
  AverageReplica::Stats stats() const { return replica_->stats(); }

 private:
  void send_report(Report::Kind kind) {
    averages_.report(plan_.session, Report{kind, node_.index(), plan_.fresh, warm_left_ > 0, plan_.options, {}});
  }
  Status wait_in(Report::Kind kind, const std::string& name) {
    replica_->expect();
    send_report(kind);
    return wait(name);
  }
  Status wait(const std::string& name) {
    static constexpr EngineCall kCall{Cause::collective, "average"};
    const Activity activity(node_.stats(), kCall);
    AH_TRY(node_.wait_until([this] { return replica_->settled(); }, {}, name));
    const Status outcome = replica_->outcome();
    return outcome.ok() ? outcome
                        : Status(Error{outcome.error().code, name + ": " + outcome.error().message + began()});
  }
  Status explained(const Status& status) const {
    if (status.ok()) return status;
    return Error{status.error().code, "average: " + status.error().message + " (" + node_.name() + ")" + began()};
  }
  std::string began() const { return "; averaged since " + plan_.where; }

  Node& node_;
  Averages& averages_;
  const Plan plan_;
  uint32_t warm_left_;
  std::shared_ptr<AverageReplica> replica_;  // shared with the courier
  std::string locked_;                       // the script line that holds the lock
  bool resting_ = false;                     // has aborted and not resumed
};

/// All sessions that a Vm has begun, by number. The Vm's end leaves them, because no code can continue them.
struct Module {
  std::map<uint32_t, std::unique_ptr<Averaging>> all;
};

Averaging& averaging_at(lua_State* L, int index) {
  const auto session = static_cast<uint32_t>(check_integer(L, index, "handle", "average", 0, UINT32_MAX));
  return *RegistryObject<Module>::find(L, kAverageModule).all.at(session);
}

/// The tensors of the arrays at `tensors` and `names`, sharing their memory. Refuses tensors that overlap.
std::optional<std::string> read_average_parts(lua_State* L, int tensors, int names,
                                              std::vector<AverageModel::Part>& parts) {
  const int count = static_cast<int>(lua_objlen(L, tensors));
  for (int i = 1; i <= count; ++i) {
    lua_rawgeti(L, tensors, i);
    lua_rawgeti(L, names, i);
    AverageModel::Part part;
    part.name = lua_tostring(L, -1);
    const int tensor = lua_gettop(L) - 1;
    const bool contiguous = view_of(*static_cast<const ah_tensor*>(lua_topointer(L, tensor))).contiguous();
    if (!contiguous) {
      return "average.start: tensor '" + part.name + "' is not contiguous; pass a contiguous tensor";
    }
    Tensor value = tensor_at(L, tensor);
    part.dtype = value.dtype;
    if (!is_floating(part.dtype)) {
      return "average.start: tensor '" + part.name + "' is of " + dtype_name(part.dtype) +
             "; averages are of float32 and float64: convert it with t:to('float32')";
    }
    part.bytes = std::move(value.data);
    lua_pop(L, 2);
    parts.push_back(std::move(part));
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const Blob& a = parts[i].bytes;
      const Blob& b = parts[j].bytes;
      if (a.empty() || b.empty() || a.data() >= b.data() + b.size() || b.data() >= a.data() + a.size()) continue;
      return "average.start: tensors '" + parts[j].name + "' and '" + parts[i].name +
             "' share memory, which would be averaged twice";
    }
  }
  return std::nullopt;
}

/// The table {workers =, {from, to, share, ...}, ...} at `index`, an array for each round; empty for nil.
MixingTable table_at(lua_State* L, int index) {
  MixingTable table;
  if (!lua_istable(L, index)) return table;
  table.workers = static_cast<uint32_t>(number_field(L, index, "workers"));
  const auto number_at = [L](int list, size_t i) {
    lua_rawgeti(L, list, static_cast<int>(i));
    const double number = lua_tonumber(L, -1);
    lua_pop(L, 1);
    return number;
  };
  each_item(L, index, [&](int) {
    const int list = lua_gettop(L);
    MixingTable::Round& round = table.rounds.emplace_back();
    for (size_t i = 1; i + 2 <= lua_objlen(L, list); i += 3) {
      round.shares.push_back({static_cast<uint32_t>(number_at(list, i)), static_cast<uint32_t>(number_at(list, i + 1)),
                              number_at(list, i + 2)});
    }
  });
  return table;
}

/// start(session, fresh, tensors, names, options) -> handle
int start(lua_State* L) {
  refuse_alone(L, "average.start");
  const NodeContext& context = NodeContext::of(L);
  Averaging::Plan plan;
  plan.session = static_cast<uint32_t>(check_integer(L, 1, "session", "average.start", 0, UINT32_MAX));
  plan.fresh = lua_toboolean(L, 2) != 0;
  check_table(L, 3, "tensors", "average.start");
  check_table(L, 4, "names", "average.start");
  check_table(L, 5, "options", "average.start");
  plan.options.interval = number_field(L, 5, "interval");
  plan.options.deadline = number_field(L, 5, "deadline");
  plan.warmup = static_cast<uint32_t>(number_field(L, 5, "warmup"));
  lua_getfield(L, 5, "table");
  plan.table = table_at(L, lua_gettop(L));
  lua_pop(L, 1);
  plan.options.peers = boolean_field(L, 5, "graph") ? AveragePattern::graph : AveragePattern::all;
  plan.where = user_position(L);
  std::vector<AverageModel::Part> parts;
  if (const auto wrong = read_average_parts(L, 3, 4, parts)) raise_at_user(L, *wrong);
  auto& all = RegistryObject<Module>::find(L, kAverageModule).all;
  const uint32_t session = plan.session;
  auto& averaging = all[session];
  averaging = std::make_unique<Averaging>(context.node, context.shared.courier->averages, std::move(plan), parts);
  expect(L, averaging->join());
  return push(L, session);
}

/// Raises an error. A wrong call or a model that is not finite is the user's error; other errors are the engine's.
void check_status(lua_State* L, const Status& status) {
  if (status.ok()) return;
  if (status.error().code == Code::bad_argument) raise_at_user(L, status.error().message);
  raise_error(L, status.error());
}

/// lock(handle)
int lock(lua_State* L) {
  refuse_alone(L, "lock of an average");
  check_status(L, averaging_at(L, 1).lock(user_position(L)));
  return 0;
}

/// unlock(handle): also ends a step
int unlock(lua_State* L) {
  check_status(L, averaging_at(L, 1).unlock(true));
  return 0;
}

/// Releases the lock when a Lua error passes.
class UnlockAtEnd : private NonCopyable {
 public:
  explicit UnlockAtEnd(Averaging& averaging) : averaging_(averaging) {}
  ~UnlockAtEnd() {
    if (averaging_.locked()) (void)averaging_.unlock(false);
  }

 private:
  Averaging& averaging_;
};

/// step(handle, fn, ...) -> the results of fn(...), which holds the lock. fn must not yield past this call.
int step(lua_State* L) {
  refuse_alone(L, "step of an average");
  Averaging& averaging = averaging_at(L, 1);
  check_status(L, averaging.lock(user_position(L)));
  {
    const UnlockAtEnd at_end(averaging);
    lua_call(L, lua_gettop(L) - 2, LUA_MULTRET);
    if (averaging.locked()) check_status(L, averaging.unlock(true));
  }
  return lua_gettop(L) - 1;
}

/// pause(handle): within a step, lets a round change the model
int pause(lua_State* L) {
  check_status(L, averaging_at(L, 1).pause());
  return 0;
}

/// abort(handle): waits until all workers have called it and have the same model
int abort(lua_State* L) {
  refuse_alone(L, "abort of an average");
  Averaging& averaging = averaging_at(L, 1);
  check_status(L, averaging.abort());
  return 0;
}

/// release(handle): the handle is garbage. A running session continues.
int average_release(lua_State* L) {
  auto& all = RegistryObject<Module>::find(L, kAverageModule).all;
  const auto found = all.find(static_cast<uint32_t>(lua_tonumber(L, 1)));
  if (found != all.end() && found->second->resting()) all.erase(found);
  return 0;
}

/// locked_at(handle) -> the script line that holds the lock, or nil
int locked_at(lua_State* L) {
  const Averaging& averaging = averaging_at(L, 1);
  if (!averaging.locked()) return 0;
  lua_pushlstring(L, averaging.locked_at().data(), averaging.locked_at().size());
  return 1;
}

/// resume(handle)
int average_resume(lua_State* L) {
  refuse_alone(L, "resume of an average");
  averaging_at(L, 1).resume();
  return 0;
}

/// rest(handle): the state after an abort without this worker
int rest(lua_State* L) {
  averaging_at(L, 1).rest();
  return 0;
}

/// set_table(handle, table)
int set_table(lua_State* L) {
  averaging_at(L, 1).set_table(table_at(L, 2));
  return 0;
}

/// stats(handle) -> table
int average_stats(lua_State* L) {
  Task::pay_for_computing();
  const AverageReplica::Stats stats = averaging_at(L, 1).stats();
  lua_createtable(L, 0, 11);
  const auto rounds = static_cast<double>(stats.rounds);
  set_field(L, "rounds", rounds);
  set_field(L, "missed", stats.missed);
  set_field(L, "broken", stats.broken);
  set_field(L, "bytes", stats.bytes);
  set_field(L, "steps", stats.steps);
  set_field(L, "waiting", stats.waiting);
  set_field(L, "copying", stats.copying);
  set_field(L, "staleness", stats.staleness);
  set_field(L, "mean_staleness", rounds > 0 ? static_cast<double>(stats.all_staleness) / rounds : 0);
  set_field(L, "age", stats.age);
  set_field(L, "distance", stats.distance);
  return 1;
}

/// last_round(handle) -> number of rounds, the distance of the last round
int last_round(lua_State* L) {
  const AverageReplica::Stats stats = averaging_at(L, 1).stats();
  lua_pushnumber(L, static_cast<lua_Number>(stats.rounds));
  lua_pushnumber(L, stats.distance);
  return 2;
}

int open_average(lua_State* L) {
  RegistryObject<Module>::store(L, kAverageModule, std::make_shared<Module>());
  static const luaL_Reg kFunctions[] = {
      {"start", guarded<start>},
      {"lock", guarded<lock>},
      {"unlock", guarded<unlock>},
      {"step", guarded<step>},
      {"abort", guarded<abort>},
      {"resume", guarded<average_resume>},
      {"release", guarded<average_release>},
      {"rest", guarded<rest>},
      {"locked_at", guarded<locked_at>},
      {"stats", guarded<average_stats>},
      {"pause", guarded<pause>},
      {"set_table", guarded<set_table>},
      {"last_round", guarded<last_round>},
  };
  return push_functions(L, kFunctions);
}

}  // namespace

void open_average(Vm& vm) { vm.register_module("actor.c.average", open_average); }

}  // namespace actorhost
