#pragma once
// Uniform samples of the nodes. Follows King and Saia, "Choosing a random peer", PODC 2004: random points of the ring,
// corrected for unequal arcs. A draw looks up a random point and picks one of the kSpread peers from its owner onwards,
// each with equal probability. So it picks a given peer with probability q = (the kSpread arcs that end at it) /
// kSpread, which varies much less than one arc. The peer is accepted with probability a / q, with the same a for all.
// Hence all nodes are equally likely among the accepted peers. About a third of the draws is accepted, for any number
// of nodes. A peer whose arcs are shorter than a third of the mean (about one in 1,000) is drawn too rarely, by some
// percent. Passive; the Overlay owns it.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "host/overlay/finder.hpp"
#include "host/overlay/size_census.hpp"

namespace actorhost {

struct Sampled {
  Peer peer;
  std::string state;  // its published state
};

class UniformSampler {
 public:
  /// Receives different nodes, possibly including the requesting node. There are fewer than requested if fewer exist or
  /// some have not replied by the deadline. Called once.
  using OnSampled = std::function<void(std::vector<Sampled>)>;

  UniformSampler(PeerCalls& calls, const Neighbourhood& near, Finder& finder, Rng rng)
      : calls_(calls), near_(near), finder_(finder), rng_(rng) {}

  void sample(uint32_t count, double nodes, double deadline, OnSampled done);
  double tick();
  void fail_all();
  /// Called with the result of each lookup for a draw.
  void on_located(std::function<void(const Located&)> callback) { on_located_ = std::move(callback); }

 private:
  struct Draw {
    uint32_t count = 0;
    uint32_t open = 0;   // lookups and visits in flight
    uint32_t tries = 0;  // remaining
    double accept = 0;
    double deadline = 0;
    OnSampled done;
    std::vector<Sampled> taken;
    std::vector<NodeId> visited;  // accepted, or being probed
    bool listed = false;          // all nodes are known: draws from the list
    std::vector<Peer> list;       // the remaining nodes
  };

  static constexpr int64_t kSpread = 12;
  static constexpr double kAccepted = 1.0 / 3;
  static constexpr uint32_t kTries = 30;  // per requested node; no acceptance in 30 has probability 5e-6

  void walk(uint32_t id, RingId at);
  void begin_some(uint32_t id);
  void consider(uint32_t id, const Located& located);
  void visit(uint32_t id, const Peer& peer);
  void take(uint32_t id, const Peer& peer, std::string state);
  void close_one(uint32_t id);

  PeerCalls& calls_;
  const Neighbourhood& near_;
  Finder& finder_;
  Rng rng_;
  std::function<void(const Located&)> on_located_;
  uint32_t last_id_ = 0;
  std::map<uint32_t, Draw> draws_;
};

}  // namespace actorhost
