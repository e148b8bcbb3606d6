#pragma once
// The pace of a worker, which the barrier rules of other peers see: its clock, and the times of its steps. A worker
// publishes its pace as its state in the overlay (Overlay::set_state), so samples of overlay nodes include it. A node
// whose rule waits for a particular peer watches that peer by messages, kinds 0x0880 on. Plain values.
//
//  watch    WatchPeer    a request to send the pace now and at each change, or no longer
//  watched  WatchedPeer  the sender's pace

#include <cmath>
#include <string>

#include "host/engine/peer/peer_messages.hpp"
#include "host/overlay/overlay.hpp"

namespace actorhost {

namespace peer_kind {
inline constexpr auto watch = Kind{0x0880};
inline constexpr auto watched = Kind{0x0881};
}  // namespace peer_kind

// The clock of a worker in a run. A clock never falls; its values are, in ascending order:
//
//   present_in(run)        the worker has reached the run
//   mark_of(run, step)     it has completed `step` steps
//   stopped_in(run, step)  it has completed `step` steps and takes no more steps
//   settled_in(run, step)  it has stopped, and all updates of keys on its node are merged
//
// So the minimum clock of all workers is the clock of the slowest worker. It also shows that all workers have reached
// the run, that all have stopped, or that all updates are merged.
inline constexpr uint64_t kMaxStep = (uint64_t{1} << 38) - 1;
constexpr Mark present_in(RunId run) noexcept { return mark_of(run, 0) - 1; }
constexpr Mark stopped_in(RunId run, uint64_t step) noexcept { return mark_of(run, (uint64_t{1} << 38) | step); }
constexpr Mark settled_in(RunId run, uint64_t step) noexcept { return mark_of(run, (uint64_t{1} << 39) | step); }
/// The number of completed steps in any of these values; 0 for present_in.
constexpr uint64_t completed(Mark mark) noexcept {
  return step_of(mark) == step_of(present_in(1)) ? 0 : mark & kMaxStep;
}
/// The worker takes steps in this run: it has begun and has not stopped.
constexpr bool takes_part(Mark mark, RunId run) noexcept {
  return mark >= mark_of(run, 0) && mark < stopped_in(run, 0);
}

struct PeerPace {
  Mark mark = 0;
  bool busy = false;
  double started = 0;   // start of its current or last step, in seconds since its run began
  double duration = 0;  // of its last step, in seconds
  double average = 0;   // mean duration of its recent steps, in seconds
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
  std::string state;  // a packed PeerPace
  static void fields(auto& m, auto&& field) { field(m.envelope, m.state); }
};

}  // namespace actorhost
