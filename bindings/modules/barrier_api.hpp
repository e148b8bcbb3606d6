#pragma once
// The C side of actor.barrier: the FFI table "barrier" (ffi_barrier.h), and barrier rules written in Lua as the
// engines see them.

#include <memory>
#include <string>

#include "bindings/vm/lua_support.hpp"
#include "host/cluster/progress_gate.hpp"

struct ah_asking;

namespace actorhost {

class Vm;

void open_barrier(Vm& vm);

/// An evaluator of actor.barrier (`barrier.evaluator(rule, seed)`) as a BarrierRule. Answers all workers of a batch in
/// one protected call, in a loop that the JIT compiles. Used on the Vm's thread, and let go before the Vm.
class LuaRule final : public BarrierRule {
 public:
  /// The evaluator on top of the stack, which is popped. Fails when the value is none.
  static Result<std::unique_ptr<LuaRule>> pop(Vm& vm);
  /// Calls on the stack of `L` from now on, as an engine call does that was made in a coroutine.
  void use(lua_State* L) { L_ = L; }

  Status decide(const Progress& progress, std::span<const Slot> asking, double now, std::span<Decision> out) override;
  Status decide_partly(const Progress& progress, Slot asking, const PartialSight& sight, double now,
                       Decision& out) override;
  int staleness() const override;
  Watch watch() const override;
  uint64_t version() const override;
  bool by_step() const override;
  /// "barrier rule 'halfway' (rule.lua:3)".
  std::string label() const;
  /// What the rule is shown; another thread may look while `decide` runs.
  const ah_asking* asking() const noexcept { return asking_; }

 private:
  LuaRule(Vm& vm, ah_asking* asking, LuaRef kept, LuaRef evaluator, LuaRef answer_one, LuaRef answer_all);

  Status answer(size_t count);

  Vm& vm_;
  lua_State* L_;
  ah_asking* asking_;  // the inside of kept_
  LuaRef kept_;
  LuaRef evaluator_;
  LuaRef answer_one_;
  LuaRef answer_all_;
};

}  // namespace actorhost
