#pragma once
// Lookups: who owns a key? The asking node itself goes from peer to peer (iterative routing), each of which names peers
// nearer to the key, until one says that it is the owner. So a peer that does not answer costs a while, not the lookup.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "host/base/result.hpp"
#include "host/overlay/fingers.hpp"
#include "host/overlay/requests.hpp"

namespace actorhost {

struct Located {
  Peer owner;
  Window window;      // the owner's
  std::string state;  // what the owner says of itself
  uint32_t hops = 0;  // peers that have answered, the owner among them
};

class Finder {
 public:
  /// Code::timeout: no owner has answered by the deadline. Called once.
  using OnLocated = std::function<void(Result<Located>)>;

  Finder(Requests& requests, const Neighbourhood& near, const Fingers& fingers, const std::string& state)
      : requests_(requests), near_(near), fingers_(fingers), state_(state) {}

  /// `through`: begins with this peer, and looks only where it leads; the peer may belong to another overlay.
  void find(RingId key, double deadline, OnLocated done, const Peer* through = nullptr);
  /// Lookups end at their deadline; returns the time of the next call.
  double tick();
  void fail_all();

  /// What the node answers to others.
  Found answer(RingId key) const;

 private:
  struct Candidate {
    Peer peer;
    bool owner = false;  // as another peer believes
    bool asked = false;
  };
  struct Lookup {
    RingId key = 0;
    double deadline = 0;
    OnLocated done;
    bool through = false;
    std::vector<Candidate> candidates;  // owners that were named first, then from the key on backwards
    uint32_t hops = 0;
    uint32_t restarts = 0;
  };

  static constexpr uint32_t kMostHops = 64;
  static constexpr uint32_t kMostRestarts = 3;
  static constexpr size_t kNamed = 3;

  void go_on(uint32_t id);
  void take(uint32_t id, const Peer& asked, const Found* found);
  bool fill(Lookup& lookup) const;
  static void name(Lookup& lookup, const Peer& peer, bool owner);
  void end(uint32_t id, Result<Located> result);

  Requests& requests_;
  const Neighbourhood& near_;
  const Fingers& fingers_;
  const std::string& state_;
  uint32_t begun_ = 0;
  std::map<uint32_t, Lookup> lookups_;
};

}  // namespace actorhost
