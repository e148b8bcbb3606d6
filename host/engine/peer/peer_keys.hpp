#pragma once
// Keys of a job that no node keeps for all: each lies with the nodes that own its place on the ring and follow there. A
// node's part of this, what it asks and what it answers. Passive: it is handed frames and the time, and has frames to
// send.

#include "host/engine/peer/key_client.hpp"
#include "host/engine/peer/key_holder.hpp"
#include "host/engine/peer/led_values.hpp"
#include "host/engine/peer/spread_client.hpp"

namespace actorhost {

class PeerKeys {
 public:
  /// `copies` of each key, as far as there are nodes. Tensors of more than `part_bytes` are spread in parts of so many.
  PeerKeys(Overlay& overlay, uint32_t copies, size_t part_bytes = kChunkBytes);

  SpreadClient& client() noexcept { return values_; }
  /// As KeyClient::open.
  std::vector<KeyClient::Open> open() const { return client_.open(); }
  KeyHolder& holder() noexcept { return holder_; }
  KeySuccession& succession() noexcept { return succession_; }
  const KeyTable& table() const noexcept { return table_; }
  const RangeMap& ranges() const noexcept { return ranges_; }
  /// Whether a copy that this node holds has updates of marks below this one that are not merged.
  bool has_staged(Mark below) const;

  /// Time, to be set before anything else happens.
  void set_now(double now) { calls_.set_now(now); }
  /// Code::bad_data: not a message of peers, and nothing has changed.
  Status on_frame(Frame&& frame, double now);
  void lose_process(ProcessId process, double now);
  double tick(double now);
  /// Tells in `state` what has changed, to be called before frames are taken.
  void tell(LedState& state);
  std::vector<Frame> take_frames();

 private:
  Status take(Frame&& frame);
  double tidy_parts(double now);

  PeerCalls calls_;
  KeyTable table_;
  RangeMap ranges_;
  KeyLog log_;
  KeySync sync_;
  KeySuccession succession_;
  KeyClient client_;
  SpreadClient values_;
  KeyHolder holder_;
  double next_tidy_ = 0;
  uint64_t told_changes_ = 0;
};

}  // namespace actorhost
