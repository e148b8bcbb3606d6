#include "host/overlay/peer_calls.hpp"

#include <algorithm>

namespace actorhost {

bool PeerCalls::is_pending(NodeId node, Kind kind) const {
  return std::any_of(pending_.begin(), pending_.end(), [&](const auto& entry) {
    return entry.second.to.node == node && entry.second.frame.kind == kind;
  });
}

void PeerCalls::mark_live(NodeId node) {
  for (auto& [tag, call] : pending_) call.silent = call.silent && call.to.node != node;
}

void PeerCalls::take_reply(const Frame& frame, NodeId from) {
  const auto at = pending_.find(frame.tag);
  if (at == pending_.end() || at->second.to.node != from) return;
  if (static_cast<int>(frame.kind) != static_cast<int>(at->second.frame.kind) + 1) return;
  const OnReply done = std::move(at->second.done);
  pending_.erase(at);
  done(&frame);
}

void PeerCalls::lose(const LostPeer& lost) {
  for (auto& [tag, call] : pending_) {
    if (!lost(call.to)) continue;
    call.tries = 0;
    call.due = next_ = now_;
    call.silent = false;
  }
}

void PeerCalls::postpone(double seconds) {
  for (auto& [tag, call] : pending_) call.due += seconds;
  next_ += seconds;
}

double PeerCalls::tick() {
  while (next_ <= now_) {
    std::vector<Call> failed;
    next_ = kForever;
    for (auto at = pending_.begin(); at != pending_.end();) {
      Call& call = at->second;
      if (call.due <= now_ && call.tries <= 0) {
        failed.push_back(std::move(call));
        at = pending_.erase(at);
        continue;
      }
      if (call.due <= now_) {
        --call.tries;
        call.due = now_ + kPatience;
        frames_.push_back(call.frame);
      }
      next_ = std::min(next_, call.due);
      ++at;
    }
    for (const Call& call : failed) {
      if (call.silent && silent_) silent_(call.to, call.frame.kind);
      call.done(nullptr);
    }
  }
  return next_;
}

}  // namespace actorhost
