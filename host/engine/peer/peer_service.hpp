#pragma once
// The peers of a process: a task of its courier with an overlay and keys for each worker that has entered. What the
// membership tells is used where there is one: whom a peer may contact first, and whose connection is closed.

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>

#include "host/cluster/service_thread.hpp"
#include "host/engine/peer/peer_keys.hpp"
#include "host/engine/peer/peer_watch.hpp"

namespace actorhost {

/// Messages that a peer has sent so far.
struct PeerTraffic {
  uint64_t lookups = 0;  // to find owners and to draw samples, and answers to those of others
  uint64_t upkeep = 0;   // of the ring
  uint64_t watches = 0;
  uint64_t clocks = 0;
  uint64_t keys = 0;

  void count(Kind kind) noexcept;
  PeerTraffic operator-(const PeerTraffic& before) const noexcept {
    return {lookups - before.lookups, upkeep - before.upkeep, watches - before.watches, clocks - before.clocks,
            keys - before.keys};
  }
};

class PeerService final : public ServiceTask {
 public:
  struct PeerNode {
    PeerNode(const Overlay::Contact& self, uint64_t seed, uint32_t replicas, double now,
             std::shared_ptr<NodeStats> counts)
        : overlay(self, seed, now), keys(overlay, replicas), watch(overlay), stats(std::move(counts)) {}
    Overlay overlay;
    PeerKeys keys;
    PeerWatch watch;
    PeerTraffic sent;
    std::shared_ptr<NodeStats> stats;  // the worker's
    std::shared_ptr<LedState> led = std::make_shared<LedState>();
    double due = 0;             // its next tick; 0: as soon as possible
    double gone_at = kForever;  // it is leaving: until then at least, unless it has handed over all keys
  };

  /// Adds itself to the courier, which has not been started.
  explicit PeerService(ServiceThread& courier);

  /// A worker of this process becomes a peer, and stays one until it leaves. While it hands over its keys, as it
  /// leaves, nothing happens: call again. `seed` and `replicas`, the copies of each key, are the run's; `stats` count
  /// what the peer sends and takes. Any thread.
  void enter(NodeId node, uint64_t seed, uint32_t replicas, std::shared_ptr<NodeStats> stats);
  /// It hands over its keys and goes. Nothing happens if it is none. Any thread.
  void leave(NodeId node);
  /// Calls back on the courier's thread, with nullptr when the worker is no peer. Any thread.
  /// `soon` as in ServiceThread::post.
  void with(NodeId node, std::function<void(PeerNode*, double now)> call, bool soon = true);
  /// What has been put off is done now. Any thread.
  void look() { courier_.look(); }

  /// Values of keys that the worker leads, without the courier's thread; nothing when it does not lead all of them or
  /// cannot answer at once. `mark`: of the steps that it has completed. Any thread.
  std::optional<LedValues> read(NodeId node, std::span<const ParamKey> keys, Mark mark, double now);

  void on_frame(Frame&& frame, double now) override;
  void on_membership(const MembershipPtr& membership, double now) override;
  double tick(double now) override;

 private:
  /// Has it called on the courier's thread.
  void post(std::function<void()> call, bool soon = true);
  std::vector<Peer> founders(uint64_t seed) const;
  std::vector<ProcessId> live_processes() const;
  std::vector<Peer> everyone(uint64_t seed) const;
  void tell_departed(const Frame& request, const Envelope& envelope);
  std::vector<Overlay::Contact> contacts_of(NodeId node, uint64_t seed) const;
  void take(Frame&& frame, double now);
  Status hand_over(PeerNode& peer, Frame&& frame, double now);
  void take_frames(PeerNode& peer);
  void take_local(double now);
  bool has_heirs(NodeId node) const;
  bool look_after(PeerNode& peer, double now);
  double exchange(double now);

  ServiceThread& courier_;
  std::mutex mutex_;  // of what follows; the courier's thread holds it in all that it does here
  MembershipPtr membership_;
  std::map<NodeId, std::unique_ptr<PeerNode>> peers_;
  std::set<NodeId> entered_;  // ever
  std::deque<Frame> local_;   // from one node of this process to another
  struct Early {
    NodeId to;
    double until;
    Frame frame;
  };
  std::deque<Early> early_;  // for workers that have not entered yet
  std::vector<Frame> out_;   // to other processes
};

}  // namespace actorhost
