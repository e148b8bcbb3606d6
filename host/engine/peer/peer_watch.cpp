#include "host/engine/peer/peer_watch.hpp"

#include <algorithm>

namespace actorhost {

namespace {

constexpr double kRetryInterval = 0.5;  // seconds, for an unresponsive peer
constexpr int kWatchTries = 3;          // then it has failed
constexpr double kRenew = 2;            // for a responsive peer
constexpr double kExpires = 3 * kRenew;

}  // namespace

void PeerWatch::send_watch(const Peer& peer, bool on) {
  Frame frame =
      message_frame(peer_kind::watch, courier_address(peer.process), 0, WatchPeer{{overlay_.self(), peer.node}, on});
  frame.src = courier_address(overlay_.self().process);
  frames_.push_back(std::move(frame));
}

void PeerWatch::send_state(const Peer& peer) {
  Frame frame = message_frame(peer_kind::watched, courier_address(peer.process), 0,
                              WatchedPeer{{overlay_.self(), peer.node}, state_});
  frame.src = courier_address(overlay_.self().process);
  frames_.push_back(std::move(frame));
}

void PeerWatch::watch(const std::vector<Peer>& peers, double now) {
  for (const Peer& peer : peers) {
    if (peer.node == overlay_.self().node) continue;
    watched_[peer.node] = {peer, now + kRetryInterval, 1};
    send_watch(peer, true);
  }
}

void PeerWatch::stop() {
  for (const auto& [node, watched] : watched_) send_watch(watched.peer, false);
  watched_.clear();
}

void PeerWatch::set_state(std::string state) {
  if (state == state_) return;
  state_ = std::move(state);
  for (const auto& [node, watcher] : watchers_) send_state(watcher.peer);
}

Status PeerWatch::on_frame(const Frame& frame, double now) {
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
    send_state(from);
    return {};
  }
  auto report = unpack_head<WatchedPeer>(in);
  if (!report.ok()) return malformed(frame, report.error().message);
  const auto at = watched_.find(report->envelope.from.node);
  if (at == watched_.end()) return {};
  at->second.silent = 0;
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
  std::erase_if(watchers_, [&](const auto& one) { return one.second.peer.process == process; });
}

double PeerWatch::tick(double now) {
  double next = kForever;
  std::vector<NodeId> failed;
  for (auto& [node, watched] : watched_) {
    if (watched.due <= now) {
      if (watched.silent >= kWatchTries) {
        failed.push_back(node);
        continue;
      }
      ++watched.silent;
      watched.due = now + kRetryInterval;
      send_watch(watched.peer, true);
    }
    next = std::min(next, watched.due);
  }
  for (const NodeId node : failed) lose(node);
  std::erase_if(watchers_, [&](const auto& one) { return one.second.expires <= now; });
  return next;
}

}  // namespace actorhost
