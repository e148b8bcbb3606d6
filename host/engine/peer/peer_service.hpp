#pragma once
// The peers of a process: a courier task that owns an overlay node and the keys of each entered worker. If the run has
// a membership table, it supplies the first contacts and reports closed connections.

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

/// Number of messages sent by a peer so far.
struct PeerTraffic {
  uint64_t lookups = 0;  // lookups and samples, including replies to others
  uint64_t upkeep = 0;   // maintenance of the ring
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
    double due = 0;               // the next tick; 0: as soon as possible
    double leaves_at = kForever;  // it leaves: the earliest departure before all keys are handed over
  };

  /// Adds itself to the courier, which must not have been started.
  explicit PeerService(ServiceThread& courier);

  /// Makes a worker of this process a peer until it leaves. Does nothing while a leaving worker hands over its keys;
  /// call again later. `seed` and `replicas` (of each key) are the run's; `stats` counts the sent and received
  /// messages. Thread-safe.
  void enter(NodeId node, uint64_t seed, uint32_t replicas, std::shared_ptr<NodeStats> stats);
  /// Hands over the worker's keys, then removes it. Does nothing if the worker is no peer. Thread-safe.
  void leave(NodeId node);
  /// Calls back on the courier thread, with nullptr if the worker is no peer. `soon` as in ServiceThread::post.
  /// Thread-safe.
  void with(NodeId node, std::function<void(PeerNode*, double now)> call, bool soon = true);
  /// Runs deferred calls now. Thread-safe.
  void flush() { courier_.wake(); }

  /// Values of keys that the worker leads, without the courier thread; nullopt if it does not lead all of them or
  /// cannot reply at once. `mark`: the last step that it has completed. Thread-safe.
  std::optional<LedValues> read(NodeId node, std::span<const ParamKey> keys, Mark mark, double now);

  void on_frame(Frame&& frame, double now) override;
  void on_membership(const MembershipPtr& membership, double now) override;
  double tick(double now) override;

 private:
  /// Runs the call on the courier thread.
  void post(std::function<void()> call, bool soon = true);
  std::vector<Peer> founders(uint64_t seed) const;
  std::vector<ProcessId> live_processes() const;
  void set_voters(PeerNode& peer) const;
  std::vector<Peer> all_workers(uint64_t seed) const;
  void reply_departed(const Frame& request, const Envelope& envelope);
  std::vector<Overlay::Contact> contacts_of(NodeId node, uint64_t seed) const;
  void take(Frame&& frame, double now);
  Status dispatch(PeerNode& peer, Frame&& frame, double now);
  void take_frames(PeerNode& peer);
  void take_local(double now);
  bool others_remain(NodeId node) const;
  bool tick_peer(PeerNode& peer, double now);
  double exchange(double now);

  ServiceThread& courier_;
  std::mutex mutex_;  // guards all following fields; the courier thread holds it in all calls here
  MembershipPtr membership_;
  std::map<NodeId, std::unique_ptr<PeerNode>> peers_;
  std::set<NodeId> entered_;  // at any time
  std::deque<Frame> local_;   // between nodes of this process
  struct Early {
    NodeId to;
    double until;
    Frame frame;
  };
  std::deque<Early> early_;  // for workers before they enter
  std::vector<Frame> out_;   // to other processes
};

}  // namespace actorhost
