#pragma once
// A node's part of the keys of a job. No central node stores all keys: each key is replicated on the node that owns its
// place on the ring and on that node's successors. Combines the client (requests of this node) and the server (replies
// to others). Passive: inputs are frames and the time, outputs are frames. PeerService owns it; runs on the courier
// thread.

#include "host/engine/peer/key_client.hpp"
#include "host/engine/peer/key_holder.hpp"
#include "host/engine/peer/led_values.hpp"
#include "host/engine/peer/split_client.hpp"

namespace actorhost {

class PeerKeys {
 public:
  /// Stores `copies` replicas of each key, as far as there are nodes. Splits tensors of more than `part_bytes` into
  /// parts of this size.
  PeerKeys(Overlay& overlay, uint32_t copies, size_t part_bytes = kChunkBytes);

  SplitClient& client() noexcept { return values_; }
  /// As KeyClient::pending.
  std::vector<KeyClient::Pending> pending() const { return client_.pending(); }
  KeyHolder& holder() noexcept { return holder_; }
  GroupReconfiguration& reconfiguration() noexcept { return reconfiguration_; }
  PeerLiveness& liveness() noexcept { return liveness_; }
  const KeyTable& table() const noexcept { return table_; }
  const RangeMap& ranges() const noexcept { return ranges_; }
  /// Whether a replica on this node has unmerged updates of marks below this one.
  bool has_staged(Mark below) const;

  /// The current time; set it before each other call.
  void set_now(double now) { calls_.set_now(now); }
  /// Code::bad_data: not a message of peers; the state is unchanged.
  Status on_frame(Frame&& frame, double now);
  void lose_process(ProcessId process, double now);
  double tick(double now);
  /// Publishes changes in `state`. Call before take_frames.
  void publish(LedState& state);
  std::vector<Frame> take_frames();

 private:
  Status take(Frame&& frame);
  void forget(const LostPeer& lost);
  double tidy_parts(double now);

  PeerCalls calls_;
  KeyTable table_;
  RangeMap ranges_;
  KeyLog log_;
  KeySync sync_;
  PeerLiveness liveness_;
  GroupReconfiguration reconfiguration_;
  KeyClient client_;
  SplitClient values_;
  KeyHolder holder_;
  double next_tidy_ = 0;
  uint64_t published_changes_ = 0;
};

}  // namespace actorhost
