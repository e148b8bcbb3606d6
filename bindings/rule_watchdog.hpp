#pragma once
// Looks after barrier rules that do not come back: a thread that looks now and then whether a round of answers, or the
// loading of a rule's file, has taken too long, and then tells so, with what the rule was shown. Who is told ends it:
// by stopping the Vm, which raises in the rule, and where that does not help (a compiled loop runs no hooks) with the
// process. Made and let go on the Vm's thread.

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

struct ah_asking;

namespace actorhost {

class RuleWatchdog {
 public:
  /// Told on the watchdog's thread when a rule is late, and `still` so every look after a second of grace.
  using Late = std::function<void(const std::string& message, bool still)>;

  RuleWatchdog(double seconds, Late late);
  ~RuleWatchdog();
  RuleWatchdog(const RuleWatchdog&) = delete;
  RuleWatchdog& operator=(const RuleWatchdog&) = delete;

  /// How long a round, or loading a file, may take, from now on.
  void set_limit(double seconds);
  /// What the rule is called, for the message.
  void name(const std::string& label);
  /// Around each round of the rule's answers over `asking`.
  void begin(const ah_asking* asking);
  /// Around the loading of the rule file `path`. False where it looks on already: a rule that loads another one while
  /// it answers; then there is nothing to end.
  bool begin_loading(const std::string& path);
  void end() noexcept { rounds_.fetch_add(1, std::memory_order_release); }
  /// "barrier rule 'x' did not return within 10 s; it was shown ...": empty unless it had to step in.
  std::string message() const;

 private:
  void watch();
  std::string describe() const;

  Late late_;
  std::atomic<uint64_t> rounds_{0};                // odd while the rule runs
  std::atomic<const ah_asking*> asking_{nullptr};  // none: a file is being loaded
  mutable std::mutex mutex_;                       // of what follows
  std::condition_variable changed_;
  double seconds_;
  std::string label_;    // of the rule
  std::string loading_;  // the file
  std::string message_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace actorhost
