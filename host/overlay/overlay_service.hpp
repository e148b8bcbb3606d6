#pragma once
// The peers of a process: a task of its courier with an Overlay for each worker that has entered. What the membership
// tells is used where there is one: whom a peer may contact first, and whose connection is closed.

#include <deque>
#include <functional>
#include <map>
#include <memory>

#include "host/cluster/service_thread.hpp"
#include "host/overlay/overlay.hpp"

namespace actorhost {

class OverlayService final : public ServiceTask {
 public:
  /// Adds itself to the courier, which has not been started.
  explicit OverlayService(ServiceThread& courier);

  /// A worker of this process becomes a peer, and stays one until it leaves. `seed` is the run's. Any thread.
  void enter(NodeId node, uint64_t seed);
  /// Nothing happens if it is none. Any thread.
  void leave(NodeId node);
  /// Calls back on the courier's thread, with nullptr when the worker is no peer. Any thread.
  void with(NodeId node, std::function<void(Overlay*, double now)> call);

  void on_frame(Frame&& frame, double now) override;
  void on_membership(const MembershipPtr& membership, double now) override;
  double tick(double now) override;

 private:
  struct Place {
    std::unique_ptr<Overlay> overlay;
    double due = 0;  // its next tick; 0: as soon as possible
  };

  std::vector<Overlay::Contact> contacts_of(NodeId node, uint64_t seed) const;
  void send_all(Overlay& overlay);
  void take_local(double now);

  ServiceThread& courier_;
  MembershipPtr membership_;
  std::map<NodeId, Place> places_;
  std::deque<Frame> local_;  // from one node of this process to another
};

}  // namespace actorhost
