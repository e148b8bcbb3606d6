#pragma once
// The pending requests of a node and its outgoing frames. A request is resent after a timeout, and fails after a few
// attempts. Passive.

#include <functional>
#include <map>
#include <unordered_map>
#include <variant>
#include <vector>

#include "host/base/clock.hpp"
#include "host/overlay/overlay_messages.hpp"

namespace actorhost {

class Requests {
 public:
  /// The reply; nullptr: the request failed.
  using OnFound = std::function<void(const Found*)>;
  using OnProbed = std::function<void(const PeerProbe*)>;

  Requests(const Peer& self, double patience) : self_(self), patience_(patience) {}

  const Peer& self() const noexcept { return self_; }
  void set_self(const Peer& self) noexcept { self_ = self; }

  /// The time, for this class and all its users; set it before each other call.
  double now() const noexcept { return now_; }
  void set_now(double now) noexcept { now_ = now; }
  /// Called for each peer that left a request without reply and sent no message since the first attempt.
  void on_silence(std::function<void(const Peer&, Kind kind)> callback) { silent_ = std::move(callback); }

  void find(const Peer& to, RingId key, int tries, OnFound done);
  void probe(const Peer& to, PeerProbe probe, int tries, OnProbed done);
  bool is_probing(NodeId node) const noexcept;
  /// A message of this peer has arrived.
  void mark_live(NodeId node);

  /// Takes a reply. False: no such request is pending.
  bool take_reply(uint32_t tag, const Found& found);
  bool take_reply(uint32_t tag, const PeerProbe& probe);
  /// Resends or fails overdue requests; returns the time of the next call.
  double tick();
  /// The node was suspended for this time and could receive nothing: delays all timeouts.
  void postpone(double seconds);
  /// Fails all requests to this node at once.
  void fail(NodeId node);
  void fail_all();

  template <typename M>
  void send(Kind kind, const Peer& to, uint32_t tag, M message) {
    if constexpr (requires { message.envelope; }) {
      message.envelope = {self_, to.node};
    } else {
      message = {self_, to.node};
    }
    Frame frame = message_frame(kind, courier_address(to.process), tag, message);
    frame.src = courier_address(self_.process);
    frames_.push_back(std::move(frame));
  }
  std::vector<Frame> take_frames() { return std::exchange(frames_, {}); }

 private:
  struct Request {
    Peer to;
    std::variant<Find, PeerProbe> message;
    int tries;  // remaining, without the current one
    double begun;
    double due;
    OnFound found;
    OnProbed probed;
  };
  // A peer with pending requests.
  struct PeerRequests {
    uint32_t requests = 0;
    uint32_t probes = 0;  // among these
    double received_at = -kForever;
  };
  using Pending = std::map<uint32_t, Request>;

  void send_request(Request&& request);
  Request take(Pending::iterator at);
  static void give_up(Request&& request);

  Peer self_;
  double patience_;
  double now_ = 0;
  std::function<void(const Peer&, Kind)> silent_;
  uint32_t last_tag_ = 0;
  Pending pending_;  // all have the same timeout, so they are due in order
  std::unordered_map<NodeId, PeerRequests> peers_;
  std::vector<Frame> frames_;
};

}  // namespace actorhost
