#pragma once
// Keys of a job that no node keeps for all: each lies with the node that owns its place on the ring. A node's part of
// this, what it asks and what it answers. Passive: it is handed frames and the time, and has frames to send.

#include "host/engine/peer/key_client.hpp"
#include "host/engine/peer/key_holder.hpp"

namespace actorhost {

class PeerKeys {
 public:
  explicit PeerKeys(Overlay& overlay) : client_(overlay), holder_(overlay) {}

  KeyClient& client() noexcept { return client_; }
  KeyHolder& holder() noexcept { return holder_; }

  /// Code::bad_data: not a message of peers, and nothing has changed.
  Status on_frame(Frame&& frame, double now);
  void lose_process(ProcessId process, double now) { client_.lose_process(process, now); }
  double tick(double now) { return client_.tick(now); }
  std::vector<Frame> take_frames();

 private:
  KeyClient client_;
  KeyHolder holder_;
};

}  // namespace actorhost
