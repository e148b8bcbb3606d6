#include "host/engine/peer/peer_watch.hpp"

#include <algorithm>

namespace actorhost {

namespace {

constexpr int kWatchTries = 3;  // then the peer has failed
constexpr double kRenew = 2;    // seconds, for a responsive peer
constexpr double kExpires = 3 * kRenew;

}  // namespace

void PeerWatch::request(Watched& watched) {
  watched.due = kForever;
  calls_.call(watched.peer, peer_kind::watch, WatchPeer{{}, true}, kWatchTries,
              [this, node = watched.peer.node](const Frame* frame) {
                const auto at = watched_.find(node);
                if (frame == nullptr && at != watched_.end() && at->second.due == kForever) lose(node);
              });
}

void PeerWatch::watch(const std::vector<Peer>& peers, double now) {
  calls_.set_now(now);
  for (const Peer& peer : peers) {
    if (peer.node != calls_.self().node) request(watched_[peer.node] = {peer});
  }
}

void PeerWatch::stop() {
  calls_.clear();
  for (const auto& [node, watched] : watched_) calls_.send(peer_kind::watch, watched.peer, 0, WatchPeer{{}, false});
  watched_.clear();
}

void PeerWatch::set_state(std::string state) {
  if (state == state_) return;
  state_ = std::move(state);
  for (const auto& [node, watcher] : watchers_)
    calls_.send(peer_kind::watched, watcher.peer, 0, WatchedPeer{{}, state_});
}

Status PeerWatch::on_frame(const Frame& frame, double now) {
  calls_.set_now(now);
  Unpacker in(frame.meta.view());
  if (frame.kind == peer_kind::watch) {
    const auto watch = unpack_head<WatchPeer>(in);
    if (!watch.ok()) return malformed(frame, watch.error().message);
    const Peer& from = watch->envelope.from;
    if (!watch->on) {
      watchers_.erase(from.node);
      return {};
    }
    watchers_[from.node] = {from, now + kExpires};
    calls_.reply(frame, from, peer_kind::watched, WatchedPeer{{}, state_});
    return {};
  }
  auto report = unpack_head<WatchedPeer>(in);
  if (!report.ok()) return malformed(frame, report.error().message);
  calls_.take_reply(frame, report->envelope.from.node);
  const auto at = watched_.find(report->envelope.from.node);
  if (at == watched_.end()) return {};
  at->second.due = now + kRenew;
  on_state_(at->first, std::move(report->state));
  return {};
}

void PeerWatch::lose(NodeId node) {
  watched_.erase(node);
  on_state_(node, std::nullopt);
}

void PeerWatch::lose_process(ProcessId process) {
  std::vector<NodeId> failed;
  for (const auto& [node, watched] : watched_) {
    if (watched.peer.process == process) failed.push_back(node);
  }
  for (const NodeId node : failed) lose(node);
  calls_.lose([&](const Peer& peer) { return peer.process == process; });
  std::erase_if(watchers_, [&](const auto& one) { return one.second.peer.process == process; });
}

double PeerWatch::tick(double now) {
  calls_.set_now(now);
  double next = kForever;
  for (auto& [node, watched] : watched_) {
    if (watched.due <= now) request(watched);
    next = std::min(next, watched.due);
  }
  std::erase_if(watchers_, [&](const auto& one) { return one.second.expires <= now; });
  return std::min(next, calls_.tick());
}

}  // namespace actorhost
