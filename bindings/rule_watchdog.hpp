#pragma once
// Ends a barrier rule that does not come back. A thread that looks now and then whether a round of answers, or the
// loading of a rule's file, has taken too long; then it stops the Vm, which raises in the rule, and where that does not
// help (a compiled loop runs no hooks) it hands the description of the view to `stuck`, which has to end the process.
// Made and let go on the Vm's thread.

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "bindings/vm.hpp"

struct ah_asking;

namespace actorhost {

class RuleWatchdog {
 public:
  using Stuck = std::function<void(const std::string& message)>;

  RuleWatchdog(Vm& vm, double seconds, Stuck stuck);
  ~RuleWatchdog();
  RuleWatchdog(const RuleWatchdog&) = delete;
  RuleWatchdog& operator=(const RuleWatchdog&) = delete;

  /// How long a round, or loading a file, may take, from now on.
  void set_limit(double seconds);
  /// Around each round of answers of the rule called `label` over `asking`.
  void begin(const ah_asking* asking, const std::string& label);
  /// Around the loading of the rule file `path`. False where it looks on already: a rule that loads another one while
  /// it answers; then there is nothing to end.
  bool begin_loading(const std::string& path);
  void end() noexcept { rounds_.fetch_add(1, std::memory_order_release); }
  /// "barrier rule 'x' did not return within 10 s; it was shown ...": empty unless it had to step in.
  std::string message() const;

 private:
  void watch();
  std::string describe() const;

  Vm& vm_;
  Stuck stuck_;
  std::atomic<uint64_t> rounds_{0};                // odd while the rule runs
  std::atomic<const ah_asking*> asking_{nullptr};  // none: a file is being loaded
  mutable std::mutex mutex_;                       // of what follows
  std::condition_variable changed_;
  double seconds_;
  std::string label_;
  std::string message_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace actorhost
