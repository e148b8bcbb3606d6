#pragma once
// The always-on statistics of a node: the node's thread writes, any thread reads, without locks. A count costs a
// relaxed load and store, an engine call two stores, and a wait one clock read after the node has woken up.
// ProcessState (host/cluster) reads the statistics; host/cluster/NOTES.md gives the measured costs.

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/base/histogram.hpp"
#include "host/base/non_copyable.hpp"
#include "host/base/span_ring.hpp"
#include "host/base/tally.hpp"

namespace actorhost {

/// The cause of a wait. `sleep` depends on no other node: the script has called actor.sleep.
enum class Cause : uint8_t { other, server, peer, collective, data, lock, event, action, console, sleep };
inline constexpr std::array<const char*, 10> kCauseNames = {"other", "server", "peer",   "collective", "data",
                                                            "lock",  "event",  "action", "console",    "sleep"};

/// An engine call. It must have static lifetime: the node's stats point to it.
struct EngineCall {
  Cause cause = Cause::other;  // of waits in this call
  const char* name = nullptr;  // "allreduce"; null: the node is not in an engine call
  bool with_all = false;       // whether this is the collective of all workers with number NodeStats::calls
};

class NodeStats {
 public:
  explicit NodeStats(const Clock& clock) : spans_(clock) {}

  enum class State : uint8_t { starting, computing, waiting, ended };

  Tally<uint64_t> step;     // completed steps in the newest run of the parameter server
  Tally<uint64_t> updates;  // pushed keys
  Tally<uint64_t> calls;    // the number of the newest collective of all workers that the node has entered
  Tally<uint64_t> tasks;    // completed tasks of map-reduce
  Tally<uint64_t> frames_received, bytes_received;
  Tally<uint64_t> lua_bytes;
  Histogram wait_seconds{kMicrosecond};
  Histogram message_bytes{kByte};  // of sent messages: its count and sum are the frames and bytes sent
  /// Messages that the process's courier sends and receives in the node's name, as a peer. The courier's thread writes
  /// these.
  struct Traffic {
    Tally<uint64_t> frames_sent, bytes_sent, frames_received, bytes_received;
  } courier;

  // ---- state changes: the node's thread ----

  /// The node's script starts running; `now` is in seconds on the node's clock, here and below.
  void begin(double now) noexcept { enter(State::computing, now); }
  void end(double now) noexcept { enter(State::ended, now); }
  /// The node blocks; `woken` follows when it runs again.
  void blocked(double now) noexcept { enter(State::waiting, now); }
  void woken(double now) noexcept {
    const double begun = since_.get();
    const Cause cause = call_.load(std::memory_order_relaxed)->cause;
    if (cause != Cause::sleep) wait_seconds.add(now - begun);
    if (spans_.wanted()) record_wait(cause, begun, now);
    write([&] {
      waited_[static_cast<size_t>(cause)].add(now - begun);
      set_state(State::computing, now);
    });
  }
  /// From now on reports the node's spans to `spans`, which outlives the node's thread.
  void record(SpanSink& spans) noexcept { spans_.record(spans); }
  /// The sink for spans; null while there is no recorder and no observer.
  SpanSink* spans() noexcept { return spans_.wanted() ? &spans_ : nullptr; }
  /// The begin of a span that is reported at its end: now, or kUnknownBegin without a recorder or observer.
  double span_begin() const { return spans_.wanted() ? spans_.now() : kUnknownBegin; }
  /// Retains a line that the node has printed, among the newest; shortens a long line.
  void add_output(std::string_view line);
  void enter_action(std::string kind, std::string where) {
    std::lock_guard lock(mutex_);
    action_ = {std::move(kind), std::move(where)};
  }
  /// The workers that the current wait depends on, where the engine knows them; empty after the wait.
  struct Awaited {
    std::vector<uint32_t> ids;
    double since = 0;  // start of the wait, which continues even if other events wake the node meanwhile
  };
  void await_workers(Awaited awaited) {
    std::lock_guard lock(mutex_);
    awaited_ = std::move(awaited);
  }

  // ---- any thread ----

  /// A snapshot of the recent spans.
  SpanRing::Snapshot poll_spans() { return spans_.poll(); }

  /// A consistent snapshot of the node's activity, unless the node's thread is delayed in the middle of a change for
  /// tens of milliseconds.
  struct Snapshot {
    State state = State::starting;
    double since = 0;                                    // start of the state
    EngineCall call = {};                                // the current call
    std::array<double, kCauseNames.size()> waited = {};  // seconds by cause, without the current wait
  };
  Snapshot snapshot() const noexcept;
  /// The newest action and its line: "param.run", "job.lua:12".
  std::pair<std::string, std::string> action() const {
    std::lock_guard lock(mutex_);
    return action_;
  }
  Awaited awaited() const {
    std::lock_guard lock(mutex_);
    return awaited_;
  }
  static constexpr size_t kOutputLines = 40;   // retained lines
  static constexpr size_t kOutputBytes = 200;  // retained bytes of a line
  /// The retained lines, printable.
  std::vector<std::string> output() const;

 private:
  friend class Activity;

  static constexpr EngineCall kNone{};

  /// Applies `change` to several fields as a seqlock: a reader sees the complete change or none of it.
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
  void record_wait(Cause cause, double begun, double now);

  void set_call(const EngineCall* call) noexcept { call_.store(call, std::memory_order_release); }

  // Changes only while the node does not wait. Stored with release, so that a reader of a call after a wait also sees
  // the end of the wait.
  std::atomic<const EngineCall*> call_{&kNone};
  std::atomic<uint64_t> changes_{0};  // of the fields below; odd during a change
  Tally<State> state_;
  Tally<double> since_;
  std::array<Tally<double>, kCauseNames.size()> waited_;
  SpanRing spans_;
  mutable std::mutex mutex_;
  std::pair<std::string, std::string> action_;
  Awaited awaited_;
  std::deque<std::string> output_;
};

/// Marks the node as in `call` for its own lifetime.
class Activity : private NonCopyable {
 public:
  Activity(NodeStats& stats, const EngineCall& call) noexcept
      : stats_(stats), before_(stats.call_.load(std::memory_order_relaxed)), begun_(stats.span_begin()) {
    stats_.set_call(&call);
  }
  Activity(NodeStats& stats, EngineCall&& call) = delete;  // a temporary has no static lifetime
  ~Activity() {
    if (SpanSink* spans = stats_.spans()) record_span(*spans);
    stats_.set_call(before_);
  }

 private:
  void record_span(SpanSink& spans) const;

  NodeStats& stats_;
  const EngineCall* const before_;
  const double begun_;
};

}  // namespace actorhost
