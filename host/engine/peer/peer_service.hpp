#pragma once
// The peers of a process: a task of its courier with an overlay and keys for each worker that has entered. What the
// membership tells is used where there is one: whom a peer may contact first, and whose connection is closed.

#include <functional>
#include <map>
#include <memory>

#include "host/cluster/service_thread.hpp"
#include "host/engine/peer/peer_keys.hpp"

namespace actorhost {

class PeerService final : public ServiceTask {
 public:
  struct PeerNode {
    PeerNode(const Overlay::Contact& self, uint64_t seed, double now) : overlay(self, seed, now), keys(overlay) {}
    Overlay overlay;
    PeerKeys keys;
  };

  /// Adds itself to the courier, which has not been started.
  explicit PeerService(ServiceThread& courier);

  /// A worker of this process becomes a peer, and stays one until it leaves. `seed` is the run's. Any thread.
  void enter(NodeId node, uint64_t seed);
  /// Nothing happens if it is none. Any thread.
  void leave(NodeId node);
  /// Calls back on the courier's thread, with nullptr when the worker is no peer. Any thread.
  void with(NodeId node, std::function<void(PeerNode*, double now)> call);

  void on_frame(Frame&& frame, double now) override;
  void on_membership(const MembershipPtr& membership, double now) override;
  double tick(double now) override;

 private:
  std::vector<Overlay::Contact> contacts_of(NodeId node, uint64_t seed) const;
  void send_all(PeerNode& peer);

  ServiceThread& courier_;
  MembershipPtr membership_;
  std::map<NodeId, std::unique_ptr<PeerNode>> peers_;
};

}  // namespace actorhost
