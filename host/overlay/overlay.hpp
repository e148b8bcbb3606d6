#pragma once
// A node's part of the overlay: who is near it on the ring, who is far, who owns a key, how many there are, and uniform
// samples of them. There is no centre. Passive: it is handed frames and the time, and has frames to send; the README
// tells how it works.
//
//   Overlay overlay(self, seed, now);
//   overlay.join(contacts, now);          // some nodes that may live; with none it is the first
//   ...
//   overlay.on_frame(frame, now);         // of kinds 0x07xx, for this node
//   double next = overlay.tick(now);      // after each of the others, and at the time that it has returned
//   for (Frame& frame : overlay.take_frames()) transport.send(std::move(frame));

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "host/base/result.hpp"
#include "host/overlay/aggregate_tree.hpp"
#include "host/overlay/finder.hpp"
#include "host/overlay/gossip.hpp"
#include "host/overlay/size_census.hpp"
#include "host/overlay/uniform_sampler.hpp"

namespace actorhost {

class Overlay {
 public:
  /// A node that may live, whose id is not known.
  struct Contact {
    NodeId node = 0;
    ProcessId process = 0;
  };

  /// `seed` is the run's, the same for all nodes.
  Overlay(const Contact& self, uint64_t seed, double now);
  Overlay(const Overlay&) = delete;
  Overlay& operator=(const Overlay&) = delete;

  /// Finds the overlays that these nodes belong to, and makes them one with its own. Contacts that do not answer are
  /// tried again, ever less often.
  void join(const std::vector<Contact>& contacts, double now);
  /// Behind `join`, of nodes that begin together: this one has the smallest id of them, so that it is the first root of
  /// the tree. Without this the root waits, in case there is another one.
  void found_tree() { tree_.found(); }
  /// Says goodbye. All that is asked of the node or by it ends.
  void leave(double now);
  /// The process is gone: its connection is closed. As if its nodes had not answered.
  void lose_process(ProcessId process, double now);

  /// Who owns the key. `done` comes once, from here or from a later call; Code::timeout, unreachable, interrupted.
  void find(RingId key, double now, Finder::OnLocated done);
  /// Up to `count` different live nodes, each set equally likely, with what they say of themselves. Within `seconds`.
  void sample(uint32_t count, double seconds, double now, UniformSampler::OnSampled done);
  SizeEstimate size_estimate(double now) const { return census_.estimate(self(), near_.window(), now); }
  /// What samples tell of this node.
  void set_state(std::string state) { state_ = std::move(state); }

  /// This node's clock, which only rises, or that it takes no part (any longer); and what it gives to the sum. The
  /// clock counts once the node is included, and is then the others' least if that is greater: where a node begins that
  /// has come late.
  void set_clock(std::optional<uint64_t> clock, uint64_t sum) { tree_.set_clock(clock, sum); }
  Aggregate aggregate(double now) const { return tree_.aggregate(now); }
  /// Told by `tick` when the least changes, or whether the node is included. It may set the clock, nothing else.
  void on_aggregate(std::function<void(const Aggregate&)> told) { tree_.on_aggregate(std::move(told)); }
  const TreeTraffic& traffic() const noexcept { return tree_.traffic(); }

  const Peer& self() const noexcept { return requests_.self(); }
  const Neighbourhood& near() const noexcept { return near_; }
  /// The newest time that was handed in.
  double now() const noexcept { return requests_.now(); }
  /// No contact that was given has still to answer, or one of them has and the node has its place on the ring.
  bool joined() const noexcept { return joined_; }

  /// Code::bad_data: not a message of the overlay, and nothing has changed.
  Status on_frame(const Frame& frame, double now);
  double tick(double now);
  std::vector<Frame> take_frames() { return requests_.take_frames(); }

 private:
  // A peer that is not believed to live when others say so, and when it is tried again.
  struct Lost {
    Peer peer;
    double since = 0;
    double next = 0;
    double wait = 0;  // until the next try but one
    bool contact = false;
  };

  // A contact that has answered, and when its ring is asked for this node.
  struct Check {
    Peer peer;
    double next;
    double wait;
  };

  void hear(const Peer& from);
  void remember(const Peer& peer);
  void meet(const Peer& of, const Window& window);
  void greet(const Peer& peer, int tries);
  void tell(const std::vector<Peer>& fresh);
  void on_silence(const Peer& peer, Kind asked);
  void lose(const Peer& peer, bool tell);
  void take_other_id();
  void reach(const Peer& peer);
  void try_lost();
  void look_around();
  void check_contact();
  void look_for_finger();
  bool believed(const Peer& peer);

  Status on_find(const Frame& frame);
  Status on_found(const Frame& frame);
  Status on_greeting(const Frame& frame);
  Status on_leaving(const Frame& frame);
  Status on_suspect(const Frame& frame);
  Status on_report(const Frame& frame);
  Status on_result(const Frame& frame);
  Status on_part(const Frame& frame);

  uint64_t seed_;
  uint32_t attempt_ = 0;  // ids that others had already
  Requests requests_;
  Neighbourhood near_;
  Fingers fingers_;
  Gossip gossip_;
  std::string state_;
  Finder finder_;
  Rng rng_;
  UniformSampler sampler_;
  SizeCensus census_;
  AggregateTree tree_;
  std::map<NodeId, Lost> lost_;
  std::set<NodeId> suspected_;  // by others, who have told all around
  bool joined_ = true;
  bool reaching_ = false;
  bool left_ = false;
  uint32_t turn_ = 0;  // of the window's peers
  uint32_t rounds_ = 0;
  std::vector<Check> checks_;
  std::vector<Peer> remembered_;
  double last_loss_ = -kForever;
  double next_try_ = 0;
  double next_doubt_ = 0;
  double next_look_;
  double next_finger_;
  double woken_;  // when the last tick wanted the next one
};

}  // namespace actorhost
