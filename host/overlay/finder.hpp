#pragma once
// Lookups of the owner of a key. The requesting node contacts one peer after another (iterative routing). Each peer
// replies with peers nearer to the key, until a peer replies that it is the owner. So an unresponsive peer costs time
// but does not fail the lookup. Passive; the Overlay owns it.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "host/base/result.hpp"
#include "host/overlay/fingers.hpp"
#include "host/overlay/peer_calls.hpp"

namespace actorhost {

struct Located {
  Peer owner;
  NeighbourLists lists;  // the owner's
  std::string state;     // the owner's published state (Overlay::set_state)
  uint32_t hops = 0;     // peers that replied, including the owner
};

class Finder {
 public:
  /// Called exactly once. Code::timeout: the owner has not replied by the deadline.
  using OnLocated = std::function<void(Result<Located>)>;

  Finder(PeerCalls& calls, const Neighbourhood& near, const Fingers& fingers)
      : calls_(calls), near_(near), fingers_(fingers) {}

  /// `through`: starts at this peer and follows only its replies; the peer may belong to another overlay.
  void find(RingId key, double deadline, OnLocated done, const Peer* through = nullptr);
  /// Ends expired lookups; returns the time of the next call.
  double tick();
  void fail_all();

  /// This node's published state (Overlay::set_state).
  const std::string& state() const noexcept { return state_; }
  void set_state(std::string state) { state_ = std::move(state); }
  /// This node's reply to another node's lookup.
  Found make_reply(RingId key) const;

 private:
  struct Candidate {
    Peer peer;
    bool owner = false;  // according to another peer
    bool queried = false;
  };
  struct Lookup {
    RingId key = 0;
    double deadline = 0;
    OnLocated done;
    bool through = false;
    std::vector<Candidate> candidates;  // reported owners first, then by distance before the key
    uint32_t hops = 0;
    uint32_t restarts = 0;
  };

  static constexpr uint32_t kMostHops = 64;
  static constexpr uint32_t kMostRestarts = 3;
  static constexpr size_t kNamed = 3;

  void advance(uint32_t id);
  void take(uint32_t id, const Peer& from, const Found* found);
  bool fill(Lookup& lookup) const;
  static void add_candidate(Lookup& lookup, const Peer& peer, bool owner);
  void end(uint32_t id, Result<Located> result);

  PeerCalls& calls_;
  const Neighbourhood& near_;
  const Fingers& fingers_;
  std::string state_;
  uint32_t last_id_ = 0;
  std::map<uint32_t, Lookup> lookups_;
};

}  // namespace actorhost
