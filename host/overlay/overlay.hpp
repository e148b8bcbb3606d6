#pragma once
// A node's part of the overlay: its ring neighbours, its finger table, key lookup, an estimate of the number of nodes,
// and uniform samples of nodes. No node is central. Passive: inputs are frames and the time, outputs are frames. The
// README describes the algorithms.
//
//   Overlay overlay(self, seed, now);
//   overlay.join(contacts, now);          // nodes that may be live; without any, this node is the first
//   ...
//   overlay.on_frame(frame, now);         // kinds 0x07xx, addressed to this node
//   double next = overlay.tick(now);      // after each call above, and at the time that the last tick returned
//   for (Frame& frame : overlay.take_frames()) transport.send(std::move(frame));

#include <functional>
#include <string>
#include <vector>

#include "host/base/non_copyable.hpp"
#include "host/base/result.hpp"
#include "host/overlay/aggregate_tree.hpp"
#include "host/overlay/finder.hpp"
#include "host/overlay/ring_watch.hpp"
#include "host/overlay/size_census.hpp"
#include "host/overlay/uniform_sampler.hpp"

namespace actorhost {

class Overlay : private NonCopyable {
 public:
  /// A node that may be live; its ring id is unknown.
  struct Contact {
    NodeId node = 0;
    ProcessId process = 0;
  };

  /// `seed` is the run's seed, equal on all nodes.
  Overlay(const Contact& self, uint64_t seed, double now);

  /// Finds the overlays of these nodes and merges them with this node's overlay. Retries unresponsive contacts at
  /// growing intervals.
  void join(const std::vector<Contact>& contacts, double now);
  /// Call after `join`, if nodes start together and this node has the smallest id among them: it becomes the first root
  /// of the tree at once. Otherwise the root waits, because another root may exist.
  void bootstrap_tree() { tree_.bootstrap(); }
  /// Notifies the neighbours and leaves. Requests in flight to and from this node end.
  void leave(double now);
  /// The connection to the process has closed. Treats its nodes as unresponsive.
  void lose_process(ProcessId process, double now);

  /// Looks up the owner of the key. Calls `done` once, now or from a later call; errors: Code::timeout, unreachable,
  /// interrupted.
  void find(RingId key, double now, Finder::OnLocated done);
  /// Samples up to `count` different live nodes with their published states within `seconds`. Each set is equally
  /// likely.
  void sample(uint32_t count, double seconds, double now, UniformSampler::OnSampled done);
  SizeEstimate size_estimate(double now) const { return census_.estimate(self(), near_.lists(), now); }
  /// The state that samples return for this node.
  void set_state(std::string state) { finder_.set_state(std::move(state)); }

  /// Sets this node's clock, which only increases (nullopt: the node takes no part, or no longer), and its contribution
  /// to the sum. The clock counts once the node is included. It is then raised to at least the global minimum: a late
  /// joiner starts there.
  void set_clock(std::optional<uint64_t> clock, uint64_t sum) { tree_.set_clock(clock, sum); }
  /// In a run with a membership table: whether this node votes, and the sum of node_hash of all nodes that vote. The
  /// minimum then increases only while all of them participate, so a partitioned node delays the others until the table
  /// no longer counts it.
  void set_voters(bool votes, uint64_t all) { tree_.set_voters(votes, all); }
  Aggregate aggregate(double now) const { return tree_.aggregate(now); }
  /// Called by `tick` when the minimum or `included` changes. The callback may set the clock, nothing else.
  void on_aggregate(std::function<void(const Aggregate&)> callback) { tree_.on_aggregate(std::move(callback)); }
  const TreeTraffic& traffic() const noexcept { return tree_.traffic(); }

  const Peer& self() const noexcept { return near_.self(); }
  const Neighbourhood& near() const noexcept { return near_; }
  /// The latest time passed in.
  double now() const noexcept { return calls_.now(); }
  /// True if no contact is pending, or a contact has replied and the node has its place on the ring.
  bool joined() const noexcept { return joined_; }

  /// Code::bad_data: not a message of the overlay; the state is unchanged.
  Status on_frame(const Frame& frame, double now);
  double tick(double now);
  std::vector<Frame> take_frames() { return calls_.take_frames(); }

 private:
  // A contact that has replied, and when its ring is next checked for this node.
  struct Check {
    Peer peer;
    double next;
    double wait;
  };

  void end_waiting_alone();
  void mark_live(const Peer& from);
  void remember(const Peer& peer);
  void merge_lists(const Peer& of, const NeighbourLists& lists);
  void contact_new(const std::vector<Peer>& fresh);
  void take_other_id();
  void join_through(const Peer& peer);
  void check_contact();
  void find_finger();

  template <typename M>
  Status read(const Frame& frame);
  Status take(const Frame& frame, const Find& find);
  Status take(const Frame& frame, const Found& found);
  Status take(const Frame& frame, const PeerProbe& probe);
  Status take(const Frame& frame, const Envelope& envelope);
  Status take(const Frame& frame, const Suspect& suspect);
  Status take(const Frame& frame, const TreeReport& report);
  Status take(const Frame& frame, const TreeResult& result);

  uint64_t seed_;
  uint32_t attempt_ = 0;  // ids rejected because other nodes had them
  Neighbourhood near_;
  PeerCalls calls_;
  Fingers fingers_;
  Gossip gossip_;
  Finder finder_;
  Rng rng_;
  RingWatch watch_;
  UniformSampler sampler_;
  SizeCensus census_;
  AggregateTree tree_;
  bool joined_ = true;
  bool joining_through_ = false;
  bool left_ = false;
  uint32_t rounds_ = 0;
  std::vector<Check> checks_;
  std::vector<Peer> remembered_;
  double next_finger_;
  double woken_;  // the next tick time that the last tick returned
};

}  // namespace actorhost
