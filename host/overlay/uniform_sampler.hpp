#pragma once
// Uniform samples of the nodes (after King and Saia, "Choosing a random peer", PODC 2004: random points of the ring,
// and a correction for unequal arcs). A draw looks up a random point, and takes one of the kSpread peers from its owner
// on, each with the same chance. A peer is met so with the probability q = (the kSpread arcs that end at it) / kSpread,
// which varies much less than one arc; it is accepted with the probability a / q, the same a for all. Of the accepted
// ones each node is equally likely. A third of the draws is accepted, whatever the number of nodes; a peer whose arcs
// are less than a third of the mean would be drawn too seldom, which about one in 1,000 is, by some percent.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "host/overlay/finder.hpp"
#include "host/overlay/size_census.hpp"

namespace actorhost {

struct Sampled {
  Peer peer;
  std::string state;  // what it says of itself
};

class UniformSampler {
 public:
  /// Different nodes, fewer than were asked for when there are no more or when not all have answered by the deadline.
  /// The asking node may be among them. Called once.
  using OnSampled = std::function<void(std::vector<Sampled>)>;

  UniformSampler(Requests& requests, const Neighbourhood& near, Finder& finder, const std::string& state, Rng rng)
      : requests_(requests), near_(near), finder_(finder), state_(state), rng_(rng) {}

  void sample(uint32_t count, double nodes, double deadline, OnSampled done);
  double tick();
  void fail_all();
  /// What each lookup of a draw shows.
  void on_located(std::function<void(const Located&)> told) { told_ = std::move(told); }

 private:
  struct Draw {
    uint32_t count = 0;
    uint32_t open = 0;   // lookups and visits under way
    uint32_t tries = 0;  // left
    double accept = 0;
    double deadline = 0;
    OnSampled done;
    std::vector<Sampled> taken;
    std::vector<NodeId> visited;  // taken, or asked whether they live
    bool listed = false;          // all nodes are known: drawn from the list
    std::vector<Peer> list;       // those that are left
  };

  static constexpr int64_t kSpread = 12;
  static constexpr double kAccepted = 1.0 / 3;
  static constexpr uint32_t kTries = 30;  // for each that is wanted; that none is accepted has the chance 5e-6

  void walk(uint32_t id, RingId at);
  void begin_some(uint32_t id);
  void consider(uint32_t id, const Located& located);
  void visit(uint32_t id, const Peer& peer);
  void take(uint32_t id, const Peer& peer, std::string state);
  void close_one(uint32_t id);

  Requests& requests_;
  const Neighbourhood& near_;
  Finder& finder_;
  const std::string& state_;
  Rng rng_;
  std::function<void(const Located&)> told_;
  uint32_t begun_ = 0;
  std::map<uint32_t, Draw> draws_;
};

}  // namespace actorhost
