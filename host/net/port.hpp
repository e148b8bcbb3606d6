#pragma once
// A node's end of the transport: its address, its mailbox, and the frames that have arrived but nobody has
// asked for yet. Owned and used by the node's thread alone; only `wake` may come from another. Every wait of
// a node, also the one for room to send, goes through here: it keeps reading the mailbox (so two nodes that
// send to each other cannot block each other), and ends when what it waits for is lost.

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/node_stats.hpp"
#include "host/net/mailbox.hpp"
#include "host/net/transport.hpp"

namespace actorhost {

/// Takes in frames of some kinds as soon as a port reads past them, whatever is being waited for. On the node's thread.
class PortGuest {
 public:
  PortGuest() = default;
  PortGuest(const PortGuest&) = delete;
  PortGuest& operator=(const PortGuest&) = delete;
  virtual ~PortGuest() = default;
  /// Must not use the port.
  virtual void on_frame(Frame&& frame) = 0;
  /// The node is about to wait for frames. Must not use the port.
  virtual void before_wait() = 0;
};

class Port {
 public:
  /// True when the frame is one that the caller waits for.
  using Match = std::function<bool(const Frame&)>;
  /// Called before each wait and whenever one is interrupted: an error (a lost peer, a stop request) ends the
  /// call.
  using Check = std::function<Status()>;

  /// Attaches `self`; an address that is already taken is a broken invariant. Waits last real seconds, so
  /// `clock` has to be a steady one wherever a deadline may have to pass.
  /// `attached`, if given, is a mailbox that has been attached for `self` before, to be taken over with what it holds.
  Port(Transport& transport, Address self, const Clock& clock, std::shared_ptr<Mailbox> attached = nullptr);
  ~Port();
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  Address self() const noexcept { return self_; }
  const Clock& clock() const noexcept { return clock_; }
  void set_check(Check check) { check_ = std::move(check); }
  /// Frames of `kinds` go to `guest` from now on; before anything has been read. One range only.
  void set_guest(const KindRange& kinds, PortGuest& guest) {
    guest_kinds_ = kinds;
    guest_ = &guest;
  }

  /// What it sends, receives and waits is counted there from now on.
  void set_stats(NodeStats& stats) { stats_ = &stats; }
  /// Frames that wait in the mailbox. Any thread.
  std::function<size_t()> queue_length() const;

  /// Sends as `self`, waiting for room up to `deadline` (a point on the clock) while reading the mailbox.
  Status send(Frame&& frame, double deadline = kForever);
  /// The first frame, kept or arriving, that matches. Code::timeout at `deadline`.
  Result<Frame> receive(const Match& match, double deadline = kForever);
  /// Takes every frame that matches, kept or arriving, waiting until `deadline` for the first; `out` may stay
  /// empty at the deadline, which is not an error. When it fails `out` may hold frames all the same.
  Status receive_all(const Match& match, double deadline, std::vector<Frame>& out);
  /// As receive_all, but one wait at most: comes back without a frame also when it is woken.
  Status receive_some(const Match& match, double deadline, std::vector<Frame>& out);
  /// Reads what has arrived without waiting, and keeps it.
  Status poll();
  /// Reads until `done` holds, which is asked whenever something has come or the wait was ended early. Code::timeout at
  /// `deadline`.
  Status wait_until(const std::function<bool()>& done, double deadline);
  /// Ends the current wait early so that `check` runs again. Any thread.
  void wake() { inbox_->wake(); }
  /// `wake` for callers that may outlive this port.
  std::function<void()> waker() const;

  /// Where the bodies of frames to this address shall be read to. Any thread.
  Landings& landings() noexcept { return inbox_->landings(); }

  /// Frames that have been read and not asked for yet.
  size_t kept() const noexcept { return kept_.size() + arrived_.size() - next_; }

 private:
  static std::shared_ptr<Mailbox> attach(Transport& transport, Address self);
  enum class Take { no, more, last };

  /// Waits for frames, unless there are some to look at, and gives them to `take`; true when it took any. `now` is the
  /// time that the caller has seen just before.
  template <typename Taker>
  Result<bool> wait(double now, double deadline, Taker take);
  /// Gives what has arrived to `take` until it says `last`; keeps what it does not want.
  template <typename Taker>
  Result<bool> examine(Taker take);
  void take_matching(const Match& match, std::vector<Frame>& out);
  Status timed_out(const char* what) const;

  Transport& transport_;
  const Address self_;
  const Clock& clock_;
  const std::shared_ptr<Mailbox> inbox_;  // shared with wake-ups for room that may outlive this port
  std::deque<Frame> kept_;
  std::vector<Frame> arrived_;  // taken from the mailbox; those before next_ are dealt with
  size_t next_ = 0;
  Check check_;
  KindRange guest_kinds_ = kKindRanges[0];
  PortGuest* guest_ = nullptr;
  NodeStats* stats_ = nullptr;
};

}  // namespace actorhost
