#include "host/engine/peer/peer_calls.hpp"

#include <algorithm>

namespace actorhost {

bool PeerCalls::take_reply(const Frame& frame, NodeId from) {
  const auto at = pending_.find(frame.tag);
  if (at == pending_.end() || at->second.to.node != from) return false;
  const OnReply done = std::move(at->second.done);
  pending_.erase(at);
  done(&frame);
  return true;
}

void PeerCalls::lose_process(ProcessId process) {
  for (auto& [tag, call] : pending_) {
    if (call.to.process != process) continue;
    call.tries = 0;
    call.due = now_;
  }
}

void PeerCalls::lose_node(NodeId node) {
  for (auto& [tag, call] : pending_) {
    if (call.to.node != node) continue;
    call.tries = 0;
    call.due = now_;
  }
}

double PeerCalls::tick() {
  std::vector<OnReply> failed;
  double next = kForever;
  for (auto at = pending_.begin(); at != pending_.end();) {
    Call& call = at->second;
    if (call.due <= now_ && call.tries <= 0) {
      failed.push_back(std::move(call.done));
      at = pending_.erase(at);
      continue;
    }
    if (call.due <= now_) {
      --call.tries;
      call.due = now_ + kPatience;
      frames_.push_back(call.frame);
    }
    next = std::min(next, call.due);
    ++at;
  }
  for (const OnReply& done : failed) done(nullptr);
  // The callbacks may have sent further requests.
  for (const auto& [tag, call] : pending_) next = std::min(next, call.due);
  return next;
}

}  // namespace actorhost
