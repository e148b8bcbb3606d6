#pragma once
// The adapter that gives the parameter server merge rules written in Lua.

#include <memory>
#include <string>

#include "bindings/vm/lua_support.hpp"
#include "host/engine/param/merge_rule.hpp"

namespace actorhost {

class CallWatchdog;
class Vm;

/// Adapts an evaluator of actor.merge (`merge.evaluator(rule)`) to MergeRule. Used on the Vm's thread and destroyed
/// before the Vm.
class LuaMergeRule final : public MergeRule {
 public:
  /// Takes the evaluator from the top of the stack and pops it. Fails for any other value. The optional watchdog
  /// watches each call and must outlive the rule.
  static Result<std::unique_ptr<LuaMergeRule>> pop(Vm& vm, CallWatchdog* watchdog = nullptr);
  /// Makes later calls on the stack of `L`, for engine calls from a coroutine.
  void use(lua_State* L) { L_ = L; }
  /// The evaluator has another rule.
  void refresh();

  Status decide(const MergeRequest& request, MergeDecision& out) override;
  Status finish(MergeDecision& out) override;
  std::string label() const override { return label_; }
  bool merges_all() const override { return merges_all_; }
  bool keeps_pushes() const override { return keeps_pushes_; }

 private:
  LuaMergeRule(Vm& vm, LuaRef evaluator, CallWatchdog* watchdog);
  /// Calls a method of the evaluator with the arguments on the stack, the evaluator first. `request`: of a push.
  Status call(int arguments, const MergeRequest* request, MergeDecision& out);
  void push_method(const char* name);

  Vm& vm_;
  lua_State* L_;
  LuaRef evaluator_;
  CallWatchdog* watchdog_;
  std::string label_;
  bool merges_all_ = true;
  bool keeps_pushes_ = false;
};

}  // namespace actorhost
