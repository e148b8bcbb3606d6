#pragma once
// A rule in Lua, with a watchdog around each round of its answers.

#include <cstdint>
#include <optional>

#include "bindings/modules/barrier_api.hpp"
#include "bindings/modules/call_watchdog.hpp"

namespace actorhost {

class WatchedRule final : public BarrierRule {
 public:
  /// Both outlive it; without a watchdog the rule may take for ever.
  WatchedRule(LuaRule& rule, CallWatchdog* watchdog) : rule_(rule), watchdog_(watchdog) {}

  Status decide(const Progress& progress, std::span<const Slot> asking, double now, std::span<Decision> out) override {
    return watched([&] { return rule_.decide(progress, asking, now, out); });
  }
  Status decide_partly(const Progress& progress, Slot asking, const PartialSight& sight, double now,
                       Decision& out) override {
    return watched([&] { return rule_.decide_partly(progress, asking, sight, now, out); });
  }
  int staleness() const override { return rule_.staleness(); }
  Watch watch() const override { return rule_.watch(); }
  uint64_t version() const override { return rule_.version(); }
  bool by_step() const override { return rule_.by_step(); }

 private:
  template <typename Ask>
  Status watched(Ask ask) {
    if (watchdog_ == nullptr) return ask();
    if (const uint64_t version = rule_.version(); !named_ || *named_ != version) {  // a job may put in another rule
      watchdog_->name(rule_.label());
      named_ = version;
    }
    watchdog_->begin(rule_.asking());
    Status status = ask();
    watchdog_->end();
    return status;
  }

  LuaRule& rule_;
  CallWatchdog* watchdog_;
  std::optional<uint64_t> named_{};  // the version whose label the watchdog knows
};

}  // namespace actorhost
