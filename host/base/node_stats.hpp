#pragma once
// What a node counts about itself, always: its thread writes, any thread reads, without locks. A count is a relaxed
// load and store, and a wait costs one look at the clock, when the node has woken up. ProcessState (host/cluster) reads
// them.

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include "host/base/histogram.hpp"
#include "host/base/span_ring.hpp"
#include "host/base/tally.hpp"

namespace actorhost {

/// What a node waits for.
enum class Cause : uint8_t { other, server, collective, data, lock, event, action, console };
inline constexpr std::array<const char*, 8> kCauseNames = {"other", "server", "collective", "data",
                                                           "lock",  "event",  "action",     "console"};

class NodeStats {
 public:
  explicit NodeStats(const Clock& clock) : spans_(clock) {}

  enum class State : uint8_t { starting, computing, waiting, ended };

  Tally<uint64_t> step;     // steps of the parameter server's runs that it has completed; of a server: applied
  Tally<uint64_t> updates;  // keys that it has pushed
  Tally<uint64_t> calls;    // collectives of all workers that it has entered
  Tally<uint64_t> tasks;    // tasks of map-reduce that it has done
  Tally<uint64_t> frames_sent, frames_received, bytes_sent, bytes_received;
  Tally<uint64_t> lua_bytes;
  Histogram wait_seconds{kMicrosecond};
  Histogram message_bytes{kByte};  // of what it sends

  // ---- what it does: the node's thread ----

  /// The node's script runs from now on; `now` in seconds of the node's clock, here and below.
  void begin(double now) noexcept { change(State::computing, now); }
  void end(double now) noexcept { change(State::ended, now); }
  /// It goes to sleep, and has woken up.
  void blocked(double now) noexcept { change(State::waiting, now); }
  void woken(double now) noexcept {
    const double begun = since_.get();
    waited_[static_cast<size_t>(cause_.get())].add(now - begun);
    wait_seconds.add(now - begun);
    if (spans_.wanted()) tell_wait(begun, now);
    change(State::computing, now);
  }
  /// Tells `spans`, which outlives the node's thread, from now on what the node does.
  void record(SpanSink& spans) noexcept { spans_.record(spans); }
  /// Where it tells that; null while nobody wants to know.
  SpanSink* spans() noexcept { return spans_.wanted() ? &spans_ : nullptr; }
  /// When something begins that is told at its end: now, or kUnseen.
  double span_begins() const { return spans_.wanted() ? spans_.now() : kUnseen; }
  void enter_action(std::string kind, std::string where) {
    std::lock_guard lock(mutex_);
    action_ = {std::move(kind), std::move(where)};
  }

  // ---- any thread ----

  State state() const noexcept { return state_.get(); }
  /// When the state began.
  double since() const noexcept { return since_.get(); }
  Cause cause() const noexcept { return cause_.get(); }
  /// The engine call that it is in, such as "allreduce"; null outside of one.
  const char* what() const noexcept { return what_.get(); }
  /// Seconds that it has slept for this cause.
  double waited(Cause cause) const noexcept { return waited_[static_cast<size_t>(cause)].get(); }
  /// What it has done lately.
  SpanRing::Look look_at_spans() { return spans_.look(); }
  /// The newest action and its line: "param.run", "job.lua:12".
  std::pair<std::string, std::string> action() const {
    std::lock_guard lock(mutex_);
    return action_;
  }

 private:
  friend class Activity;

  void change(State state, double now) noexcept {
    since_.set(now);
    state_.set(state);
  }
  void tell_wait(double begun, double now) {
    constexpr double kShortest = 20e-6;  // shorter ones are left out, so that a recording stays small
    if (now - begun < kShortest) return;
    spans_.put({std::string("wait: ") + kCauseNames[static_cast<size_t>(cause_.get())], "wait", begun, now, 0});
  }

  Tally<State> state_;
  Tally<Cause> cause_;
  Tally<const char*> what_;
  Tally<double> since_;
  std::array<Tally<double>, kCauseNames.size()> waited_;
  SpanRing spans_;
  mutable std::mutex mutex_;
  std::pair<std::string, std::string> action_;
};

/// For its lifetime the node is in the engine call `what`, a text that lives for ever, and waits for `cause`.
class Activity {
 public:
  Activity(NodeStats& stats, Cause cause, const char* what) noexcept
      : stats_(stats), cause_(stats.cause_.get()), what_(stats.what_.get()), begun_(stats.span_begins()) {
    stats.cause_.set(cause);
    stats.what_.set(what);
  }
  ~Activity() {
    if (SpanSink* spans = stats_.spans()) tell(*spans);
    stats_.cause_.set(cause_);
    stats_.what_.set(what_);
  }
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

 private:
  /// Of the others each wait is a call of its own.
  void tell(SpanSink& spans) const {
    const Cause cause = stats_.cause_.get();
    const bool whole =
        cause == Cause::collective || cause == Cause::lock || cause == Cause::event || cause == Cause::action;
    if (whole) spans.put({stats_.what(), "call", begun_, spans.now(), stats_.calls.get()});
  }

  NodeStats& stats_;
  const Cause cause_;
  const char* const what_;
  const double begun_;
};

}  // namespace actorhost
