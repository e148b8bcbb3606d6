#pragma once
// Peers that a node waits for tell it of each change of their state, until it has passed (the policy `sticky`), and one
// that is gone is noticed. The node's own state, for those that watch it. Passive.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/engine/peer/peer_pace.hpp"

namespace actorhost {

class PeerWatch {
 public:
  /// A watched peer's state, as often as it changes; nothing when the peer is gone, and is watched no longer.
  using OnState = std::function<void(NodeId, std::optional<std::string>)>;

  explicit PeerWatch(const Overlay& overlay) : overlay_(overlay) {}

  /// Watches these as well.
  void watch(const std::vector<Peer>& peers, double now);
  void on_state(OnState told) { told_ = std::move(told); }
  /// Watches nobody.
  void stop();
  void set_state(std::string state);

  /// Code::bad_data: not a message of watching.
  Status on_frame(const Frame& frame, double now);
  void lose_process(ProcessId process);
  double tick(double now);
  std::vector<Frame> take_frames() { return std::exchange(frames_, {}); }

 private:
  struct Watched {
    Peer peer;
    double due = 0;  // is asked again then
    int silent = 0;  // times that it has been asked without an answer
  };
  struct Watcher {
    Peer peer;
    double expires = 0;
  };

  void ask(const Peer& peer, bool on);
  void tell(const Peer& peer);
  void lose(NodeId node);

  const Overlay& overlay_;
  std::string state_;
  OnState told_;
  std::map<NodeId, Watched> watched_;
  std::map<NodeId, Watcher> watchers_;
  std::vector<Frame> frames_;
};

}  // namespace actorhost
