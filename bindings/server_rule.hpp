#pragma once
// The rule in Lua of a run, on its server: one that does not come back ends the run, since everybody waits for its
// answer.

#include <memory>
#include <utility>

#include "bindings/node_context.hpp"
#include "bindings/watched_rule.hpp"

namespace actorhost {

class ServerRule {
 public:
  /// Let go before the Vm, as the rule.
  ServerRule(std::unique_ptr<LuaRule> rule, NodeContext& context)
      : rule_(std::move(rule)),
        watchdog_(context.options.rule_timeout,
                  [&cluster = context.node.cluster(), self = context.node.address(), who = context.node.name()](
                      const std::string& message, bool still) {
                    if (!still) cluster.report_error(self, {Code::script, false, who + ": " + message, self});
                  }),
        watched_(*rule_, &watchdog_) {}

  /// Calls on the stack of `L` from now on.
  void use(lua_State* L) { rule_->use(L); }
  BarrierRule& watched() noexcept { return watched_; }

 private:
  std::unique_ptr<LuaRule> rule_;
  RuleWatchdog watchdog_;
  WatchedRule watched_;
};

}  // namespace actorhost
