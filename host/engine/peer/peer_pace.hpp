#pragma once
// A worker's clock as other peers see it. Samples carry it as the state of an overlay node (Overlay::set_state). A node
// that waits for a peer may watch it, kinds 0x0880 on:
//
//  watch    WatchPeer    send me your state now and at each change, or stop
//  watched  WatchedPeer  my state

#include <cmath>
#include <string>

#include "host/engine/peer/peer_messages.hpp"
#include "host/overlay/overlay.hpp"

namespace actorhost {

namespace peer_kind {
inline constexpr auto watch = Kind{0x0880};
inline constexpr auto watched = Kind{0x0881};
}  // namespace peer_kind

// Clock values besides steps. In a run's order: the node is present, has completed `step` steps, stops after so many
// steps, and has merged all pushes sent to it. So the minimum clock shows when all are present, how far the slowest
// node is, when all have stopped, and when no update is missing.
inline constexpr uint64_t kMaxStep = (uint64_t{1} << 38) - 1;
constexpr Mark present_in(RunId run) noexcept { return mark_of(run, 0) - 1; }
constexpr Mark stopped_in(RunId run, uint64_t step) noexcept { return mark_of(run, (uint64_t{1} << 38) | step); }
constexpr Mark settled_in(RunId run, uint64_t step) noexcept { return mark_of(run, (uint64_t{1} << 39) | step); }
/// The completed steps of any of these clocks; 0 for a node that is only present.
constexpr uint64_t completed(Mark mark) noexcept {
  return step_of(mark) == step_of(present_in(1)) ? 0 : mark & kMaxStep;
}
/// The node takes steps in this run.
constexpr bool takes_part(Mark mark, RunId run) noexcept {
  return mark >= mark_of(run, 0) && mark < stopped_in(run, 0);
}

struct PeerPace {
  Mark mark = 0;
  bool busy = false;
  double started = 0;   // start of its current or last step, in seconds since its run began
  double duration = 0;  // of its last step, seconds
  double average = 0;   // of its recent steps, seconds
  static void fields(auto& m, auto&& field) { field(m.mark, m.busy, m.started, m.duration, m.average); }
  bool is_valid() const {
    return std::isfinite(started) && std::isfinite(duration) && std::isfinite(average) && completed(mark) < INT32_MAX;
  }
};

struct WatchPeer {
  Envelope envelope;
  bool on = true;
  static void fields(auto& m, auto&& field) { field(m.envelope, m.on); }
};

struct WatchedPeer {
  Envelope envelope;
  std::string state;
  static void fields(auto& m, auto&& field) { field(m.envelope, m.state); }
};

}  // namespace actorhost
