#pragma once
// Polls the state of a run for all watchers: the page's viewers, /metrics and the recorder. One thread requests a state
// from the source when a watcher wants one, and passes the same state to all watchers. While no watcher wants one, it
// requests nothing. Made and stopped by the owner of the watchers; `wake` may be called from any thread.

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "host/base/clock.hpp"
#include "host/base/log.hpp"
#include "host/base/non_copyable.hpp"
#include "host/page/state_source.hpp"

namespace actorhost {

using StatePtr = std::shared_ptr<const nlohmann::json>;  // shared by the watchers, which may retain a state

/// The sections that the page, /metrics and recordings show.
const std::vector<std::string>& watched_sections();

/// Called on the thread of StatePoller. The calls may take a while, but must not wait for the run.
class Watcher : public Interface {
 public:
  /// When the watcher wants the next state; kForever: not before it calls `wake`.
  virtual double next_poll() = 0;
  /// The sections that the watcher wants in the next state. Called just before the request.
  virtual std::vector<std::string> sections() { return {}; }
  virtual void seen(const StatePtr& state, double now) = 0;
};

class StatePoller : private NonCopyable {
 public:
  StatePoller(StateSource& source, const Clock& clock, Log& log, std::vector<Watcher*> watchers);
  ~StatePoller();

  /// Reads each watcher's next_poll again.
  void wake();
  /// If a watcher wants states: polls until all nodes know that the run has ended, or `seconds` have passed. Blocks.
  /// Returns the newest state, or null without one. Not to be called on the thread of StatePoller.
  StatePtr finish(double seconds);
  /// On return it calls no watcher any more. Idempotent.
  void stop();

 private:
  struct Inbox;
  void serve();
  StatePtr take(const std::string& text);
  double wanted() const;
  std::vector<std::string> wanted_sections() const;

  StateSource& source_;
  const Clock& clock_;
  Log& log_;
  const std::vector<Watcher*> watchers_;
  std::shared_ptr<Inbox> inbox_;  // shared with requests that outlive this object
  bool warned_ = false;           // has logged an invalid state
  std::thread thread_;
};

}  // namespace actorhost
