#pragma once
// Requests of a node to peers with one reply message each, and the node's outgoing frames. A request is resent every
// half second; it fails after a few attempts. Passive; Overlay and PeerKeys own one each.

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

  /// `self`: this node; its ring id may change.
  explicit PeerCalls(const Peer& self) : self_(self) {}

  /// The time, for this class and all its users; set it before each other call.
  double now() const noexcept { return now_; }
  void set_now(double now) noexcept { now_ = now; }
  const Peer& self() const noexcept { return self_; }
  /// Called for each peer that left a request without reply and sent no message since the first attempt.
  void on_silence(std::function<void(const Peer&, Kind kind)> callback) { silent_ = std::move(callback); }

  /// Sends the request up to `tries` times. The kind of the reply follows `kind`.
  template <typename M>
  void call(const Peer& to, Kind kind, M message, int tries, OnReply done) {
    send(kind, to, ++last_tag_, std::move(message));
    pending_.emplace(last_tag_, Call{to, frames_.back(), tries - 1, now_ + kPatience, std::move(done)});
    next_ = std::min(next_, now_ + kPatience);
  }
  /// The same for a reply in one frame. nullptr: no reply has arrived, or it is malformed.
  template <typename Reply, typename M>
  void call_for(const Peer& to, Kind kind, M message, int tries, std::function<void(const Reply*)> done) {
    call(to, kind, std::move(message), tries, [done = std::move(done)](const Frame* frame) {
      if (frame == nullptr) return done(nullptr);
      const auto reply = read_message<Reply>(*frame);
      done(reply.ok() ? &*reply : nullptr);
    });
  }
  /// Sends a message once.
  template <typename M>
  void send(Kind kind, const Peer& to, uint32_t tag, M message) {
    if constexpr (requires { message.envelope; }) {
      message.envelope = {self_, to.node};
    } else {
      message = {self_, to.node};
    }
    send(message_frame(kind, courier_address(to.process), tag, message));
  }
  template <typename M>
  void reply(const Frame& request, const Peer& to, Kind kind, M message) {
    send(kind, to, request.tag, std::move(message));
  }
  void send(Frame&& frame) {
    frame.src = courier_address(self_.process);
    frames_.push_back(std::move(frame));
  }

  bool is_pending(NodeId node, Kind kind) const;
  /// A message of this peer has arrived.
  void mark_live(NodeId node);
  /// Ignores a reply to no pending request.
  void take_reply(const Frame& frame, NodeId from);
  /// Requests to these peers fail at the next tick.
  void lose(const LostPeer& lost);
  /// Forgets all pending requests.
  void clear() { pending_.clear(); }
  /// The node was suspended for this time and could receive nothing: delays all timeouts.
  void postpone(double seconds);
  /// Resends or fails overdue requests; returns the time of the next call.
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
    bool silent = true;  // the peer has sent no message since the first attempt
  };

  const Peer& self_;
  double now_ = 0;
  std::function<void(const Peer&, Kind)> silent_;
  uint32_t last_tag_ = 0;
  std::map<uint32_t, Call> pending_;
  double next_ = kForever;  // no request is due earlier
  std::vector<Frame> frames_;
};

}  // namespace actorhost
