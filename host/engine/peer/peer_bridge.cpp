#include "host/engine/peer/peer_bridge.hpp"

namespace actorhost {

std::vector<KeyClient::Pending> PeerBridge::pending() {
  const auto result = std::make_shared<PeerResult<std::vector<KeyClient::Pending>>>();
  service_.with(node_.index(), [result, wake = node_.port().waker()](PeerService::PeerNode* peer, double) {
    result->value = peer != nullptr ? peer->keys.pending() : std::vector<KeyClient::Pending>();
    result->ready = true;
    wake();
  });
  const Status there = node_.wait_until([&] { return result->ready.load(); }, {}, "peer");
  return there.ok() ? *std::move(result->value) : std::vector<KeyClient::Pending>();
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

std::string PeerBridge::describe(const std::vector<KeyClient::Pending>& requests) {
  std::string out;
  for (const KeyClient::Pending& request : requests) {
    out += out.empty() ? "" : "; ";
    out += request.owner ? describe(*request.owner) : "an unknown owner";
    out += " for key " + request.key.print();
    for (const NodeId node : request.awaited) {
      out += (node == request.awaited.front() ? ", which waits for " : ", ") + describe(node);
    }
  }
  return out;
}

}  // namespace actorhost
