#pragma once
// What a node and its peers have told each other of their windows. A greeting carries the sender's window only where
// one of the two may not know the other's as it is now; otherwise its sum is enough. Both windows travel whenever one
// has changed, since a changed one may have room for what was no news before.

#include <unordered_map>

#include "host/base/clock.hpp"
#include "host/overlay/neighbourhood.hpp"
#include "host/overlay/overlay_messages.hpp"

namespace actorhost {

class Gossip {
 public:
  explicit Gossip(const Neighbourhood& near) : near_(near) {}

  /// A question for this peer. `whole`: with the window in any case.
  Greeting question(NodeId to, bool whole);
  /// What answers a question that has been taken in.
  Greeting answer(const Greeting& question);
  /// Says only that this node is there.
  Greeting announcement() const { return {{}, sum_of(near_.window()), {}}; }

  /// A greeting has come.
  void take(const Greeting& greeting, double now);
  /// It answers a question; `whole`: that carried the window.
  void take_answer(const Greeting& answer, bool whole);
  /// When the last one came from this peer; -kForever: none has.
  double heard(NodeId node) const;
  void forget(NodeId node) { told_.erase(node); }
  void forget_all() { told_.clear(); }

 private:
  struct Told {
    uint64_t mine = 0;  // sum of the window that the peer was told last; 0: it is to be told anew
    uint64_t theirs = 0;
    double heard = -kForever;
  };
  static uint64_t sum_of(const Window& window) noexcept;
  Told& told(NodeId node);

  const Neighbourhood& near_;
  std::unordered_map<NodeId, Told> told_;
};

}  // namespace actorhost
