#include "host/overlay/gossip.hpp"

namespace actorhost {

// A digest of the lists; never 0.
uint64_t Gossip::sum_of(const Window& window) noexcept {
  uint64_t sum = 1;
  const auto add = [&sum](uint64_t value) { sum = StepRng::mix(sum + value); };
  for (const Side* side : {&window.before, &window.after}) {
    add(side->span);
    add(side->peers.size());
    for (const Peer& peer : side->peers) {
      add(peer.id);
      add(uint64_t{peer.node} << 32 | peer.process);
    }
  }
  return sum | 1;
}

Gossip::Told& Gossip::told(NodeId node) {
  if (told_.size() > 4 * kReach) {
    std::erase_if(told_, [this](const auto& item) { return !near_.knows(item.first); });
  }
  return told_[node];
}

Greeting Gossip::question(NodeId to, bool whole) {
  Greeting greeting = announcement();
  Told& last = told(to);
  if (!whole && last.mine == greeting.sum) return greeting;
  last.mine = greeting.sum;
  greeting.window = near_.window();
  return greeting;
}

Greeting Gossip::answer(const Greeting& question) {
  Greeting greeting = announcement();
  Told& last = told(question.envelope.from.node);
  if (!question.window && last.theirs == question.sum && last.mine == greeting.sum) return greeting;
  last.mine = greeting.sum;
  greeting.window = near_.window();
  return greeting;
}

void Gossip::take(const Greeting& greeting, double now) {
  Told& last = told(greeting.envelope.from.node);
  last.heard = now;
  if (greeting.window) {
    last.theirs = greeting.sum;
  } else if (last.theirs != greeting.sum) {
    last.mine = 0;  // the next probe exchanges both lists
  }
}

void Gossip::take_answer(const Greeting& answer, bool whole) {
  // The peer lacked this node's lists, or requests them because its own lists have changed.
  if (answer.window && !whole) told(answer.envelope.from.node).mine = 0;
}

double Gossip::heard(NodeId node) const {
  const auto at = told_.find(node);
  return at == told_.end() ? -kForever : at->second.heard;
}

}  // namespace actorhost
