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

/// What a node waits for; `sleep`: for nobody, the script has called actor.sleep.
enum class Cause : uint8_t { other, server, collective, data, lock, event, action, console, sleep };
inline constexpr std::array<const char*, 9> kCauseNames = {"other", "server", "collective", "data", "lock",
                                                           "event", "action", "console",    "sleep"};

class NodeStats {
 public:
  explicit NodeStats(const Clock& clock) : spans_(clock) {}

  enum class State : uint8_t { starting, computing, waiting, ended };

  Tally<uint64_t> step;     // steps that it has completed in the parameter server's newest run
  Tally<uint64_t> updates;  // keys that it has pushed
  Tally<uint64_t> calls;    // the number of the newest collective of all workers that it has entered
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
    if (cause_.get() != Cause::sleep) wait_seconds.add(now - begun);
    if (spans_.wanted()) tell_wait(begun, now);
    change(State::computing, now, now - begun);
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

  /// What it has done lately.
  SpanRing::Look look_at_spans() { return spans_.look(); }

  /// What it does, as of one moment (unless the node's thread is held up in the middle of a change).
  struct Doing {
    State state = State::starting;
    double since = 0;                                    // when the state began
    Cause cause = Cause::other;                          // of a wait
    const char* what = nullptr;                          // the engine call that it is in, "allreduce"; null outside
    bool with_all = false;                               // that call is the collective of all workers number `calls`
    std::array<double, kCauseNames.size()> waited = {};  // seconds by cause, without the wait that goes on
  };
  Doing doing() const noexcept {
    for (int tries = 0;; ++tries) {
      const uint64_t before = changes_.load(std::memory_order_acquire);
      Doing out{state_.get(), since_.get(), cause_.get(), what_.get(), with_all_.get(), {}};
      for (size_t i = 0; i < out.waited.size(); ++i) out.waited[i] = waited_[i].get();
      std::atomic_thread_fence(std::memory_order_acquire);
      const bool whole = before % 2 == 0 && changes_.load(std::memory_order_relaxed) == before;
      if (whole || tries == kMostTries) return out;
    }
  }
  /// The newest action and its line: "param.run", "job.lua:12".
  std::pair<std::string, std::string> action() const {
    std::lock_guard lock(mutex_);
    return action_;
  }

 private:
  friend class Activity;

  static constexpr int kMostTries = 1000;

  /// Writes what belongs together, in a way that a reader sees all of it or nothing.
  template <typename Write>
  void write(const Write& change) noexcept {
    const uint64_t before = changes_.load(std::memory_order_relaxed);
    changes_.store(before + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    change();
    changes_.store(before + 2, std::memory_order_release);
  }
  void change(State state, double now, double waited = 0) noexcept {
    write([&] {
      waited_[static_cast<size_t>(cause_.get())].add(waited);
      since_.set(now);
      state_.set(state);
    });
  }
  void tell_wait(double begun, double now) {
    constexpr double kShortest = 20e-6;  // shorter ones are left out, so that a recording stays small
    if (now - begun < kShortest) return;
    spans_.put({std::string("wait: ") + kCauseNames[static_cast<size_t>(cause_.get())], "wait", begun, now, 0});
  }

  std::atomic<uint64_t> changes_{0};  // of what follows; odd in the middle of one
  Tally<State> state_;
  Tally<Cause> cause_;
  Tally<const char*> what_;
  Tally<bool> with_all_;
  Tally<double> since_;
  std::array<Tally<double>, kCauseNames.size()> waited_;
  SpanRing spans_;
  mutable std::mutex mutex_;
  std::pair<std::string, std::string> action_;
};

/// For its lifetime the node is in the engine call `what`, a text that lives for ever, and waits for `cause`.
/// `with_all`: the call is the collective of all workers number `stats.calls`.
class Activity {
 public:
  Activity(NodeStats& stats, Cause cause, const char* what, bool with_all = false) noexcept
      : stats_(stats),
        before_{stats.cause_.get(), stats.what_.get(), stats.with_all_.get()},
        begun_(stats.span_begins()) {
    set({cause, what, with_all});
  }
  ~Activity() {
    if (SpanSink* spans = stats_.spans()) tell(*spans);
    set(before_);
  }
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

 private:
  struct Call {
    Cause cause;
    const char* what;
    bool with_all;
  };
  void set(const Call& call) noexcept {
    stats_.write([&] {
      stats_.cause_.set(call.cause);
      stats_.what_.set(call.what);
      stats_.with_all_.set(call.with_all);
    });
  }
  /// Of the others each wait is a call of its own.
  void tell(SpanSink& spans) const {
    const Cause cause = stats_.cause_.get();
    const bool whole =
        cause == Cause::collective || cause == Cause::lock || cause == Cause::event || cause == Cause::action;
    if (whole) spans.put({stats_.what_.get(), "call", begun_, spans.now(), stats_.calls.get()});
  }

  NodeStats& stats_;
  const Call before_;
  const double begun_;
};

}  // namespace actorhost
