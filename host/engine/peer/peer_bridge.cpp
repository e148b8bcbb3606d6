#include "host/engine/peer/peer_bridge.hpp"

namespace actorhost {

std::vector<KeyClient::Open> PeerBridge::open() {
  const auto answer = std::make_shared<PeerAnswer<std::vector<KeyClient::Open>>>();
  service_.with(node_.index(), [answer, wake = node_.port().waker()](PeerService::PeerNode* peer, double) {
    answer->value = peer != nullptr ? peer->keys.open() : std::vector<KeyClient::Open>();
    answer->there = true;
    wake();
  });
  const Status there = node_.wait_until([&] { return answer->there.load(); }, {}, "peer");
  return there.ok() ? *std::move(answer->value) : std::vector<KeyClient::Open>();
}

std::string PeerBridge::describe_others() {
  constexpr size_t kMostNamed = 4;
  size_t others = 0;
  std::string out;
  for (const Member& member : node_.newest_membership()->workers()) {
    if (!member.votes || member.id == node_.index() || ++others > kMostNamed) continue;
    out += (out.empty() ? "" : ", ") + describe(member.id);
  }
  if (others > kMostNamed) out += " and " + std::to_string(others - kMostNamed) + " other workers";
  return out;
}

std::string PeerBridge::describe(const std::vector<KeyClient::Open>& questions) {
  std::string out;
  for (const KeyClient::Open& question : questions) {
    out += out.empty() ? "" : "; ";
    out += question.owner ? describe(*question.owner) : "an unknown owner";
    out += " for key " + question.key.print();
    for (const NodeId node : question.awaited) {
      out += (node == question.awaited.front() ? ", which waits for " : ", ") + describe(node);
    }
  }
  return out;
}

}  // namespace actorhost
