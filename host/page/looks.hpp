#pragma once
// Looks at the state of a run for all that watch it: the page's viewers, /metrics, the recorder. One thread asks the
// source when one of the watchers wants a state, and hands the same state to all of them; while nobody wants one,
// nothing is asked. Made and stopped by whoever owns the watchers; `wake` from any thread.

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "host/base/clock.hpp"
#include "host/base/log.hpp"
#include "host/page/state_source.hpp"

namespace actorhost {

using StatePtr = std::shared_ptr<const nlohmann::json>;  // shared by the watchers, who keep it for as long as they like

/// The sections that a look asks for.
const std::vector<std::string>& watched_sections();

/// Its calls come on the thread of Looks. They may take a while, but must not wait for the run.
class Watcher {
 public:
  Watcher() = default;
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  virtual ~Watcher() = default;
  /// When it wants the next state; kForever: not before it calls `wake`.
  virtual double next_look() = 0;
  virtual void seen(const StatePtr& state, double now) = 0;
};

class Looks {
 public:
  Looks(StateSource& source, const Clock& clock, Log& log, std::vector<Watcher*> watchers);
  ~Looks();
  Looks(const Looks&) = delete;
  Looks& operator=(const Looks&) = delete;

  /// Asks each watcher again when it wants a state.
  void wake();
  /// While a watcher wants states: looks again and again until all nodes know of the run's end, or these seconds have
  /// passed. Returns the newest state; null when there was none. Not on the thread of Looks.
  StatePtr finish(double seconds);
  /// On return no watcher is called any more. Idempotent.
  void stop();

 private:
  struct Inbox;
  void serve();
  StatePtr take(const std::string& text);
  double wanted() const;

  StateSource& source_;
  const Clock& clock_;
  Log& log_;
  const std::vector<Watcher*> watchers_;
  std::shared_ptr<Inbox> inbox_;  // shared with looks that are still under way when this ends
  bool complained_ = false;       // about a state that is no JSON
  std::thread thread_;
};

}  // namespace actorhost
