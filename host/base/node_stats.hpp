#pragma once
// What a node counts about itself, always: its thread writes, any thread reads, without locks. A count is a relaxed
// load and store, an engine call two stores, and a wait one look at the clock, when the node has woken up. ProcessState
// (host/cluster) reads them; host/cluster/NOTES.md says what they cost.

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "host/base/histogram.hpp"
#include "host/base/span_ring.hpp"
#include "host/base/tally.hpp"

namespace actorhost {

/// What a node waits for; `sleep`: for nobody, the script has called actor.sleep.
enum class Cause : uint8_t { other, server, peer, collective, data, lock, event, action, console, sleep };
inline constexpr std::array<const char*, 10> kCauseNames = {"other", "server", "peer",   "collective", "data",
                                                            "lock",  "event",  "action", "console",    "sleep"};

/// An engine call that a node can be in. Lives for ever: the node's stats point to it.
struct EngineCall {
  Cause cause = Cause::other;  // of its waits
  const char* name = nullptr;  // "allreduce"; null: the node is in none
  bool with_all = false;       // it is the collective of all workers number NodeStats::calls
};

class NodeStats {
 public:
  explicit NodeStats(const Clock& clock) : spans_(clock) {}

  enum class State : uint8_t { starting, computing, waiting, ended };

  Tally<uint64_t> step;     // steps that it has completed in the parameter server's newest run
  Tally<uint64_t> updates;  // keys that it has pushed
  Tally<uint64_t> calls;    // the number of the newest collective of all workers that it has entered
  Tally<uint64_t> tasks;    // tasks of map-reduce that it has done
  Tally<uint64_t> frames_received, bytes_received;
  Tally<uint64_t> lua_bytes;
  Histogram wait_seconds{kMicrosecond};
  Histogram message_bytes{kByte};  // of what it sends: frames and bytes sent are its count and sum
  /// What its process's courier sends and takes in its name, as a peer: that thread writes it.
  struct Mail {
    Tally<uint64_t> frames_sent, bytes_sent, frames_received, bytes_received;
  } courier;

  // ---- what it does: the node's thread ----

  /// The node's script runs from now on; `now` in seconds of the node's clock, here and below.
  void begin(double now) noexcept { enter(State::computing, now); }
  void end(double now) noexcept { enter(State::ended, now); }
  /// It goes to sleep, and has woken up.
  void blocked(double now) noexcept { enter(State::waiting, now); }
  void woken(double now) noexcept {
    const double begun = since_.get();
    const Cause cause = call_.load(std::memory_order_relaxed)->cause;
    if (cause != Cause::sleep) wait_seconds.add(now - begun);
    if (spans_.wanted()) tell_wait(cause, begun, now);
    write([&] {
      waited_[static_cast<size_t>(cause)].add(now - begun);
      set_state(State::computing, now);
    });
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
  /// The workers for which the present wait is, where its engine knows them; none once it is over.
  struct Awaited {
    std::vector<uint32_t> ids;
    double since = 0;  // the wait goes on, whatever wakes the node up meanwhile
  };
  void await_workers(Awaited awaited) {
    std::lock_guard lock(mutex_);
    awaited_ = std::move(awaited);
  }

  // ---- any thread ----

  /// What it has done lately.
  SpanRing::Look look_at_spans() { return spans_.look(); }

  /// What it does, as of one moment (unless the node's thread is held up in the middle of a change for tens of
  /// milliseconds).
  struct Doing {
    State state = State::starting;
    double since = 0;                                    // when the state began
    EngineCall call = {};                                // that it is in
    std::array<double, kCauseNames.size()> waited = {};  // seconds by cause, without the wait that goes on
  };
  Doing doing() const noexcept;
  /// The newest action and its line: "param.run", "job.lua:12".
  std::pair<std::string, std::string> action() const {
    std::lock_guard lock(mutex_);
    return action_;
  }
  Awaited awaited() const {
    std::lock_guard lock(mutex_);
    return awaited_;
  }

 private:
  friend class Activity;

  static constexpr EngineCall kNone{};

  /// Writes what belongs together, in a way that a reader sees all of it or nothing.
  template <typename Write>
  void write(const Write& change) noexcept {
    const uint64_t before = changes_.load(std::memory_order_relaxed);
    changes_.store(before + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    change();
    changes_.store(before + 2, std::memory_order_release);
  }
  void set_state(State state, double now) noexcept {
    since_.set(now);
    state_.set(state);
  }
  void enter(State state, double now) noexcept {
    write([&] { set_state(state, now); });
  }
  void tell_wait(Cause cause, double begun, double now);

  void set_call(const EngineCall* call) noexcept { call_.store(call, std::memory_order_release); }

  // Changes only while the node does not wait; released, so that who sees the call behind a wait sees the wait's end.
  std::atomic<const EngineCall*> call_{&kNone};
  std::atomic<uint64_t> changes_{0};  // of what follows; odd in the middle of one
  Tally<State> state_;
  Tally<double> since_;
  std::array<Tally<double>, kCauseNames.size()> waited_;
  SpanRing spans_;
  mutable std::mutex mutex_;
  std::pair<std::string, std::string> action_;
  Awaited awaited_;
};

/// For its lifetime the node is in `call`.
class Activity {
 public:
  Activity(NodeStats& stats, const EngineCall& call) noexcept
      : stats_(stats), before_(stats.call_.load(std::memory_order_relaxed)), begun_(stats.span_begins()) {
    stats_.set_call(&call);
  }
  Activity(NodeStats& stats, EngineCall&& call) = delete;  // would not live for ever
  ~Activity() {
    if (SpanSink* spans = stats_.spans()) tell(*spans);
    stats_.set_call(before_);
  }
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

 private:
  void tell(SpanSink& spans) const;

  NodeStats& stats_;
  const EngineCall* const before_;
  const double begun_;
};

}  // namespace actorhost
