#include "bindings/modules/engine/lua_merge_rule.hpp"

#include <string>
#include <utility>

#include "bindings/modules/tool/call_watchdog.hpp"
#include "bindings/vm/vm.hpp"

namespace actorhost {

LuaMergeRule::LuaMergeRule(Vm& vm, LuaRef evaluator, CallWatchdog* watchdog)
    : vm_(vm), L_(vm.state()), evaluator_(std::move(evaluator)), watchdog_(watchdog) {
  refresh();
}

Result<std::unique_ptr<LuaMergeRule>> LuaMergeRule::pop(Vm& vm, CallWatchdog* watchdog) {
  lua_State* L = vm.state();
  if (!lua_istable(L, -1)) {
    lua_pop(L, 1);
    return Error{Code::bad_argument, "expected an evaluator of actor.merge"};
  }
  return std::unique_ptr<LuaMergeRule>(new LuaMergeRule(vm, LuaRef::pop(L), watchdog));
}

void LuaMergeRule::refresh() {
  evaluator_.push(L_);
  merges_all_ = boolean_field(L_, lua_gettop(L_), "merges_all");
  keeps_pushes_ = boolean_field(L_, lua_gettop(L_), "keeps_pushes");
  label_ = text_field(L_, lua_gettop(L_), "label");
  lua_pop(L_, 1);
}

void LuaMergeRule::push_method(const char* name) {
  evaluator_.push(L_);
  lua_getfield(L_, -1, name);
  lua_insert(L_, -2);
}

Status LuaMergeRule::decide(const MergeRequest& request, MergeDecision& out) {
  push_method("decide");
  for (const auto number :
       {static_cast<double>(request.worker), static_cast<double>(request.step), static_cast<double>(request.version),
        static_cast<double>(request.peers), static_cast<double>(request.left), request.now,
        static_cast<double>(request.model_version), static_cast<double>(request.newest),
        static_cast<double>(request.workers), static_cast<double>(request.slowest)}) {
    lua_pushnumber(L_, number);
  }
  return call(11, &request, out);
}

Status LuaMergeRule::finish(MergeDecision& out) {
  push_method("end_run");
  return call(1, nullptr, out);
}

Status LuaMergeRule::call(int arguments, const MergeRequest* request, MergeDecision& out) {
  if (watchdog_ != nullptr) watchdog_->begin_rule(label_);
  const Status status = vm_.call(L_, arguments, 3);
  if (watchdog_ != nullptr) watchdog_->end();
  if (!status.ok()) {
    std::string message = status.error().message;
    // When raised, the whole message begins with the node's name, so the inner message must not.
    if (const std::string prefix = vm_.config().label() + ": "; message.starts_with(prefix))
      message.erase(0, prefix.size());
    return Error{status.error().code, std::move(message)};
  }
  const int trim = lua_gettop(L_);
  const int dropped = trim - 1;
  const int merged = trim - 2;
  if (request != nullptr && lua_isnumber(L_, merged) != 0) {
    out.merged.push_back({request->worker, request->step, lua_tonumber(L_, merged)});
  }
  if (lua_isnumber(L_, trim) != 0) {
    out.combination = {Combination::Kind::trimmed_mean, static_cast<uint32_t>(lua_tonumber(L_, trim))};
  }
  const auto number_at = [this](int table, size_t i) {
    lua_rawgeti(L_, table, static_cast<int>(i));
    const double number = lua_tonumber(L_, -1);
    lua_pop(L_, 1);
    return number;
  };
  const size_t numbers = lua_istable(L_, merged) ? lua_objlen(L_, merged) : 0;
  for (size_t i = 1; i + 1 < numbers; i += 3) {
    out.merged.push_back({static_cast<NodeId>(number_at(merged, i)), static_cast<uint64_t>(number_at(merged, i + 1)),
                          number_at(merged, i + 2)});
  }
  const size_t names = lua_istable(L_, dropped) ? lua_objlen(L_, dropped) : 0;
  for (size_t i = 1; i < names; i += 2) {
    out.dropped.emplace_back(static_cast<NodeId>(number_at(dropped, i)),
                             static_cast<uint64_t>(number_at(dropped, i + 1)));
  }
  lua_settop(L_, merged - 1);
  return {};
}

}  // namespace actorhost
