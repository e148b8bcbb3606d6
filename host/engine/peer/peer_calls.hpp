#pragma once
// Requests between peers with one reply message each, resent until the reply arrives. Passive; PeerKeys owns it.

#include <functional>
#include <map>
#include <vector>

#include "host/base/clock.hpp"
#include "host/overlay/overlay_messages.hpp"

namespace actorhost {

/// Whether a peer has failed or departed.
using LostPeer = std::function<bool(const Peer&)>;

class PeerCalls {
 public:
  /// nullptr: no reply has arrived.
  using OnReply = std::function<void(const Frame*)>;

  explicit PeerCalls(std::function<Peer()> self) : self_(std::move(self)) {}

  double now() const noexcept { return now_; }
  void set_now(double now) noexcept { now_ = now; }
  const Peer self() const { return self_(); }

  /// Sends the request up to `tries` times, half a second apart.
  template <typename M>
  void call(const Peer& to, Kind kind, M message, int tries, OnReply done) {
    const uint32_t tag = ++last_tag_;
    message.envelope = {self_(), to.node};
    Frame frame = message_frame(kind, courier_address(to.process), tag, message);
    frame.src = courier_address(self_().process);
    frames_.push_back(frame);
    pending_.emplace(tag, Call{to, std::move(frame), tries - 1, now_ + kPatience, std::move(done)});
  }
  template <typename M>
  void reply(const Frame& request, const Peer& to, Kind kind, M message) {
    message.envelope = {self_(), to.node};
    frames_.push_back(message_frame(kind, courier_address(to.process), request.tag, message));
    frames_.back().src = courier_address(self_().process);
  }
  void send(Frame&& frame) {
    frame.src = courier_address(self_().process);
    frames_.push_back(std::move(frame));
  }

  /// False: no such request is pending.
  bool take_reply(const Frame& frame, NodeId from);
  void lose_process(ProcessId process);
  /// The node has left: all requests to it fail.
  void lose_node(NodeId node);
  double tick();
  std::vector<Frame> take_frames() { return std::exchange(frames_, {}); }

 private:
  static constexpr double kPatience = 0.5;
  struct Call {
    Peer to;
    Frame frame;
    int tries;  // remaining, without the current one
    double due;
    OnReply done;
  };

  std::function<Peer()> self_;
  double now_ = 0;
  uint32_t last_tag_ = 0;
  std::map<uint32_t, Call> pending_;
  std::vector<Frame> frames_;
};

}  // namespace actorhost
