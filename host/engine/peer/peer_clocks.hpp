#pragma once
// STAND-IN for the tree of the overlay (Overlay::set_clock, aggregate, on_aggregate), to be deleted when that is there:
// each peer tells its clock to all others. Passive.

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "host/engine/peer/peer_pace.hpp"

namespace actorhost {

namespace peer_kind {
inline constexpr auto clock = Kind{0x08f0};
}  // namespace peer_kind

struct Aggregate {
  uint64_t least = 0;     // clock
  uint64_t count = 0;     // peers with a clock
  uint64_t sum = 0;       // over them
  bool included = false;  // this one is among them
};

struct ClockOfPeer {
  Envelope envelope;
  bool there = false;
  uint64_t clock = 0;
  uint64_t sum = 0;
  static void fields(auto& m, auto&& field) { field(m.envelope, m.there, m.clock, m.sum); }
};

class PeerClocks {
 public:
  explicit PeerClocks(const Overlay& overlay) : overlay_(overlay) {}

  void set_others(std::vector<Overlay::Contact> others);
  void set_clock(std::optional<uint64_t> clock, uint64_t sum);
  Aggregate aggregate() const;
  void on_aggregate(std::function<void(const Aggregate&)> told) { told_ = std::move(told); }

  Status on_frame(const Frame& frame);
  double tick(double now);
  std::vector<Frame> take_frames() { return std::exchange(frames_, {}); }

 private:
  struct Clock {
    uint64_t clock = 0;
    uint64_t sum = 0;
  };
  void tell_all();

  const Overlay& overlay_;
  std::vector<Overlay::Contact> others_;
  std::optional<Clock> own_;
  std::map<NodeId, Clock> clocks_;  // of others
  std::function<void(const Aggregate&)> told_;
  double next_ = 0;
  std::vector<Frame> frames_;
};

}  // namespace actorhost
