#pragma once
// The C side of actor.barrier: the FFI table "barrier" (ffi_barrier.h), and the adapter that gives the engines barrier
// rules written in Lua.

#include <memory>
#include <optional>
#include <string>

#include "bindings/vm/lua_support.hpp"
#include "host/barrier/gate.hpp"

struct ah_admission_batch;

namespace actorhost {

class CallWatchdog;
class Vm;

void open_barrier(Vm& vm);

/// Adapts an evaluator of actor.barrier (`barrier.evaluator(rule, seed)`) to BarrierRule. Decides about all workers of
/// a batch in one protected call, in a loop that the JIT compiles. Used on the Vm's thread and destroyed before the Vm.
class LuaRule final : public BarrierRule {
 public:
  /// Takes the evaluator from the top of the stack and pops it. Fails for any other value. The optional watchdog
  /// watches each round of evaluations and must outlive the rule.
  static Result<std::unique_ptr<LuaRule>> pop(Vm& vm, CallWatchdog* watchdog = nullptr);
  /// Makes later calls on the stack of `L`, for engine calls from a coroutine.
  void use(lua_State* L) { L_ = L; }

  Status decide(const Progress& progress, std::span<const Slot> slots, double now, std::span<Decision> out) override;
  Status decide_partly(const Progress& progress, Slot slot, const PartialSight& sight, double now,
                       Decision& out) override;
  int staleness() const override;
  Watch watch() const override;
  uint64_t version() const override;

 private:
  LuaRule(Vm& vm, ah_admission_batch* batch, LuaRef batch_ref, LuaRef evaluator, LuaRef evaluate_one,
          LuaRef evaluate_all);

  /// "barrier rule 'halfway' (rule.lua:3)".
  std::string label() const;
  Status evaluate(size_t count);

  Vm& vm_;
  lua_State* L_;
  ah_admission_batch* batch_;  // the struct in batch_ref_
  LuaRef batch_ref_;
  LuaRef evaluator_;
  LuaRef evaluate_one_;
  LuaRef evaluate_all_;
  CallWatchdog* watchdog_ = nullptr;
  std::optional<uint64_t> named_version_;  // the version whose label the watchdog has: a job may change its rule
};

/// As RegistryObject<T>::store. Drops the object's `rule`, and its `merge` if it has one, before the state is closed,
/// because they refer to values of the Lua state.
template <typename T>
void store_with_rule(lua_State* L, const char* key, std::shared_ptr<T> object) {
  RegistryObject<T>::store(L, key, std::move(object));
  lua_getfield(L, LUA_REGISTRYINDEX, key);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, [](lua_State* state) {
    T& rules = *static_cast<RegistryObject<T>*>(lua_touserdata(state, 1))->object;
    rules.rule.reset();
    if constexpr (requires { rules.merge; }) rules.merge.reset();
    return 0;
  });
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  lua_pop(L, 1);
}

}  // namespace actorhost
