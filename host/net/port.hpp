#pragma once
// A node's endpoint: its address, its mailbox, and the frames that have arrived but are not received yet. Owned and
// used by the node's thread; only `wake` and the functions marked thread-safe may run on other threads. Every wait of a
// node, including the wait for room to send, goes through its port. A wait keeps reading the mailbox, so two nodes that
// send to each other cannot deadlock, and ends when the awaited peer is lost.

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/node_stats.hpp"
#include "host/base/non_copyable.hpp"
#include "host/net/mailbox.hpp"
#include "host/net/transport.hpp"

namespace actorhost {

/// Handles frames of some kinds as soon as a port reads them, whatever the node waits for. Runs on the node's thread.
class FrameHandler : public Interface {
 public:
  /// Must not use the port.
  virtual void on_frame(Frame&& frame) = 0;
  /// The node is about to block. Must not use the port.
  virtual void before_wait() = 0;
};

class Port : private NonCopyable {
 public:
  /// True for a frame that the caller waits for.
  using Match = std::function<bool(const Frame&)>;
  /// Called before each wait and after each interruption: an error (a lost peer, a stop request) ends the call.
  using Check = std::function<Status()>;

  /// Attaches `self`, which must not be attached. Waits last real seconds, so `clock` must be a steady clock if
  /// deadlines matter. `attached`: a mailbox that is already attached for `self`, which the port takes over with its
  /// contents.
  Port(Transport& transport, Address self, const Clock& clock, std::shared_ptr<Mailbox> attached = nullptr);
  ~Port();

  Address self() const noexcept { return self_; }
  const Clock& clock() const noexcept { return clock_; }
  void set_check(Check check) { check_ = std::move(check); }
  /// Passes frames of `kinds` to `handler` from now on. One range only; call it before the first read.
  void set_handler(const KindRange& kinds, FrameHandler& handler) {
    handled_kinds_ = kinds;
    handler_ = &handler;
  }

  /// Counts the port's traffic and waits in `stats` from now on.
  void set_stats(NodeStats& stats) { stats_ = &stats; }
  /// Returns a thread-safe function that counts the frames in the mailbox.
  std::function<size_t()> queue_length() const;

  /// Sends as `self`. Blocks until there is room or until `deadline` (on the clock), and reads the mailbox meanwhile.
  Status send(Frame&& frame, double deadline = kForever);
  /// Blocks for the first stored or arriving frame that matches. Code::timeout at `deadline`.
  Result<Frame> receive(const Match& match, double deadline = kForever);
  /// Takes every stored or arriving frame that matches; blocks until `deadline` for the first. An empty `out` at the
  /// deadline is no error. After an error `out` may hold frames.
  Status receive_all(const Match& match, double deadline, std::vector<Frame>& out);
  /// Like receive_all, but waits at most once: a wake-up may end it without a frame.
  Status receive_some(const Match& match, double deadline, std::vector<Frame>& out);
  /// Reads the mailbox without blocking, and stores the frames.
  Status poll();
  /// Reads frames until `done` holds; checks `done` after each arrival or interruption. Code::timeout at `deadline`.
  Status wait_until(const std::function<bool()>& done, double deadline);
  /// Ends the current wait early, so that `check` runs again. Thread-safe.
  void wake() { inbox_->wake(); }
  /// A thread-safe `wake` for callers that may outlive this port.
  std::function<void()> waker() const;

  /// The receive buffers for bodies of frames to this address. Thread-safe.
  ReceiveBuffers& receive_buffers() noexcept { return inbox_->receive_buffers(); }

  /// Number of read frames that no call has received yet.
  size_t unreceived() const noexcept { return unreceived_.size() + arrived_.size() - next_; }

 private:
  static std::shared_ptr<Mailbox> attach(Transport& transport, Address self);
  enum class Take { no, more, last };

  /// Waits for frames, unless some are unexamined, and passes them to `take`; true when it took any. `now`: the current
  /// time.
  template <typename Taker>
  Result<bool> wait(double now, double deadline, Taker take);
  /// Passes unexamined frames to `take` until it returns `last`; stores the frames that it does not take.
  template <typename Taker>
  Result<bool> examine(Taker take);
  void take_matching(const Match& match, std::vector<Frame>& out);
  Status timed_out(const char* what) const;

  Transport& transport_;
  const Address self_;
  const Clock& clock_;
  const std::shared_ptr<Mailbox> inbox_;  // shared with room callbacks that may outlive this port
  std::deque<Frame> unreceived_;
  std::vector<Frame> arrived_;  // read from the mailbox; frames before next_ are examined
  size_t next_ = 0;
  Check check_;
  KindRange handled_kinds_ = kKindRanges[0];
  FrameHandler* handler_ = nullptr;
  NodeStats* stats_ = nullptr;
  SpinWait spin_;
};

}  // namespace actorhost
