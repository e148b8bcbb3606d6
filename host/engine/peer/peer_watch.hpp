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

  explicit PeerWatch(const Overlay& overlay) : calls_(overlay.self()) {}

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
  std::vector<Frame> take_frames() { return calls_.take_frames(); }

 private:
  struct Watched {
    Peer peer;
    double due = 0;  // time of the next request; kForever until a reply to the last one arrives
  };
  struct Watcher {
    Peer peer;
    double expires = 0;
  };

  void request(Watched& watched);
  void lose(NodeId node);

  PeerCalls calls_;
  std::string state_;
  OnState on_state_;
  std::map<NodeId, Watched> watched_;
  std::map<NodeId, Watcher> watchers_;
};

}  // namespace actorhost
