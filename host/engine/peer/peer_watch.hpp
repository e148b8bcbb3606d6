#pragma once
// Watches the states of peers that a node waits for (the policy `sticky`): a watched peer sends its state at each
// change, and its failure is detected. Publishes the node's own state to its watchers. Passive; PeerService owns it.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/engine/peer/peer_pace.hpp"

namespace actorhost {

class PeerWatch {
 public:
  /// Called at each change of a watched peer's state; nullopt: the peer has failed or left and is no longer watched.
  using OnState = std::function<void(NodeId, std::optional<std::string>)>;

  explicit PeerWatch(const Overlay& overlay) : overlay_(overlay) {}

  /// Watches further peers.
  void watch(const std::vector<Peer>& peers, double now);
  void on_state(OnState callback) { on_state_ = std::move(callback); }
  /// Ends all watches.
  void stop();
  void set_state(std::string state);

  /// Code::bad_data: not a watch message.
  Status on_frame(const Frame& frame, double now);
  void lose_process(ProcessId process);
  double tick(double now);
  std::vector<Frame> take_frames() { return std::exchange(frames_, {}); }

 private:
  struct Watched {
    Peer peer;
    double due = 0;  // time of the next request
    int silent = 0;  // requests without a reply
  };
  struct Watcher {
    Peer peer;
    double expires = 0;
  };

  void send_watch(const Peer& peer, bool on);
  void send_state(const Peer& peer);
  void lose(NodeId node);

  const Overlay& overlay_;
  std::string state_;
  OnState on_state_;
  std::map<NodeId, Watched> watched_;
  std::map<NodeId, Watcher> watchers_;
  std::vector<Frame> frames_;
};

}  // namespace actorhost
