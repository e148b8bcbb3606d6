#include "host/engine/peer/peer_watch.hpp"

#include <algorithm>

namespace actorhost {

namespace {

constexpr double kAskAgain = 0.5;  // seconds, for an unresponsive peer
constexpr int kWatchTries = 3;     // then it has failed
constexpr double kRenew = 2;       // for a responsive peer
constexpr double kExpires = 3 * kRenew;

}  // namespace

void PeerWatch::ask(const Peer& peer, bool on) {
  Frame frame =
      message_frame(peer_kind::watch, courier_address(peer.process), 0, WatchPeer{{overlay_.self(), peer.node}, on});
  frame.src = courier_address(overlay_.self().process);
  frames_.push_back(std::move(frame));
}

void PeerWatch::tell(const Peer& peer) {
  Frame frame = message_frame(peer_kind::watched, courier_address(peer.process), 0,
                              WatchedPeer{{overlay_.self(), peer.node}, state_});
  frame.src = courier_address(overlay_.self().process);
  frames_.push_back(std::move(frame));
}

void PeerWatch::watch(const std::vector<Peer>& peers, double now) {
  for (const Peer& peer : peers) {
    if (peer.node == overlay_.self().node) continue;
    watched_[peer.node] = {peer, now + kAskAgain, 1};
    ask(peer, true);
  }
}

void PeerWatch::stop() {
  for (const auto& [node, watched] : watched_) ask(watched.peer, false);
  watched_.clear();
}

void PeerWatch::set_state(std::string state) {
  if (state == state_) return;
  state_ = std::move(state);
  for (const auto& [node, watcher] : watchers_) tell(watcher.peer);
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
    tell(from);
    return {};
  }
  auto told = unpack_head<WatchedPeer>(in);
  if (!told.ok()) return malformed(frame, told.error().message);
  const auto at = watched_.find(told->envelope.from.node);
  if (at == watched_.end()) return {};
  at->second.silent = 0;
  at->second.due = now + kRenew;
  told_(at->first, std::move(told->state));
  return {};
}

void PeerWatch::lose(NodeId node) {
  watched_.erase(node);
  told_(node, std::nullopt);
}

void PeerWatch::lose_process(ProcessId process) {
  std::vector<NodeId> gone;
  for (const auto& [node, watched] : watched_) {
    if (watched.peer.process == process) gone.push_back(node);
  }
  for (const NodeId node : gone) lose(node);
  std::erase_if(watchers_, [&](const auto& one) { return one.second.peer.process == process; });
}

double PeerWatch::tick(double now) {
  double next = kForever;
  std::vector<NodeId> gone;
  for (auto& [node, watched] : watched_) {
    if (watched.due <= now) {
      if (watched.silent >= kWatchTries) {
        gone.push_back(node);
        continue;
      }
      ++watched.silent;
      watched.due = now + kAskAgain;
      ask(watched.peer, true);
    }
    next = std::min(next, watched.due);
  }
  for (const NodeId node : gone) lose(node);
  std::erase_if(watchers_, [&](const auto& one) { return one.second.expires <= now; });
  return next;
}

}  // namespace actorhost
