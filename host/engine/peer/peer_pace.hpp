#pragma once
// A worker's clock as its peers see it. Samples carry it as the state of an overlay's node (Overlay::set_state);
// whoever waits for a peer may watch it, kinds 0x0880 on:
//
//   watch    WatchPeer    tell me of your state, now and whenever it changes, or no longer
//   watched  WatchedPeer

#include <cmath>
#include <optional>
#include <string>

#include "host/cluster/peer_view.hpp"
#include "host/engine/peer/peer_messages.hpp"
#include "host/overlay/overlay.hpp"

namespace actorhost {

namespace peer_kind {
inline constexpr auto watch = Kind{0x0880};
inline constexpr auto watched = Kind{0x0881};
}  // namespace peer_kind

// Clocks that are no steps. A run's, in their order: the node is there, has completed `step` steps, takes no further
// one after so many, and has merged all that was pushed to it. So the smallest of all clocks tells when all are there,
// how far the slowest is, when all have stopped, and when no update is missing.
inline constexpr uint64_t kMaxStep = (uint64_t{1} << 38) - 1;
constexpr Mark present_in(RunId run) noexcept { return mark_of(run, 0) - 1; }
constexpr Mark stopped_in(RunId run, uint64_t step) noexcept { return mark_of(run, (uint64_t{1} << 38) | step); }
constexpr Mark settled_in(RunId run, uint64_t step) noexcept { return mark_of(run, (uint64_t{1} << 39) | step); }
/// Of any of these: none by one that is only there.
constexpr uint64_t completed(Mark mark) noexcept {
  return step_of(mark) == step_of(present_in(1)) ? 0 : mark & kMaxStep;
}
/// It works in that run.
constexpr bool takes_part(Mark mark, RunId run) noexcept {
  return mark >= mark_of(run, 0) && mark < stopped_in(run, 0);
}

struct PeerPace {
  Mark mark = 0;
  bool busy = false;
  double started = 0;   // seconds since its run began: when its step (the last one) did
  double duration = 0;  // seconds of its last step
  double average = 0;   // and of its recent ones
  static void fields(auto& m, auto&& field) { field(m.mark, m.busy, m.started, m.duration, m.average); }
  bool sound() const {
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
