#pragma once
// The C side of actor.barrier: the FFI table "barrier" (ffi_barrier.h), and barrier rules written in Lua as the
// engines see them.

#include <memory>
#include <optional>
#include <string>

#include "bindings/vm/lua_support.hpp"
#include "host/cluster/progress_gate.hpp"

struct ah_asking;

namespace actorhost {

class CallWatchdog;
class Vm;

void open_barrier(Vm& vm);

/// An evaluator of actor.barrier (`barrier.evaluator(rule, seed)`) as a BarrierRule. Answers all workers of a batch in
/// one protected call, in a loop that the JIT compiles. Used on the Vm's thread, and let go before the Vm.
class LuaRule final : public BarrierRule {
 public:
  /// The evaluator on top of the stack, which is popped. Fails when the value is none.
  /// The watchdog, if there is one, watches each round of answers and outlives the rule.
  static Result<std::unique_ptr<LuaRule>> pop(Vm& vm, CallWatchdog* watchdog = nullptr);
  /// Calls on the stack of `L` from now on, as an engine call does that was made in a coroutine.
  void use(lua_State* L) { L_ = L; }

  Status decide(const Progress& progress, std::span<const Slot> asking, double now, std::span<Decision> out) override;
  Status decide_partly(const Progress& progress, Slot asking, const PartialSight& sight, double now,
                       Decision& out) override;
  int staleness() const override;
  Watch watch() const override;
  uint64_t version() const override;
  bool by_step() const override;

 private:
  LuaRule(Vm& vm, ah_asking* asking, LuaRef kept, LuaRef evaluator, LuaRef answer_one, LuaRef answer_all);

  /// "barrier rule 'halfway' (rule.lua:3)".
  std::string label() const;
  Status answer(size_t count);

  Vm& vm_;
  lua_State* L_;
  ah_asking* asking_;  // the inside of kept_
  LuaRef kept_;
  LuaRef evaluator_;
  LuaRef answer_one_;
  LuaRef answer_all_;
  CallWatchdog* watchdog_ = nullptr;
  std::optional<uint64_t> named_;  // the version whose label the watchdog knows: a job may put in another rule
};

}  // namespace actorhost
