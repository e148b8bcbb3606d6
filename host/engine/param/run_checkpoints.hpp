#pragma once
// The checkpoints of a run, on shard 0: when the next checkpoint is due, and the steps of making it. No push is
// committed from the start of a checkpoint to its cut. Passive; belongs to the run's ParamController.
//
//   none --start--> shards (each has merged all commits) --> state (the policy's account) --> ready --cut--> none

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "host/engine/param/server_requests.hpp"

namespace actorhost {

/// When checkpoints are made: after so many steps of the slowest worker or after so many seconds, whichever is first (0
/// disables either), and at the end.
struct CheckpointPlan {
  uint64_t steps = 0;
  double seconds = 0;
};

class RunCheckpoints {
 public:
  struct Config {
    CheckpointPlan plan;
    uint32_t shards = 1;
    bool lua_pull = false;     // values may belong to other shards, which confirm that they have merged all commits
    bool keeps_tasks = false;  // a checkpoint contains the policy's state
  };

  /// `resumed`: the checkpoint that the run continues; `step`: the clock of its slowest worker.
  RunCheckpoints(const Config& config, const RunState& resumed, uint64_t step, std::vector<Frame>& out)
      : config_(config), out_(out), number_(resumed.number), step_(step), updates_(resumed.updates) {}

  /// The run begins.
  void begin(double now) noexcept { time_ = now; }
  void request() noexcept { requested_ = true; }
  /// Requests a checkpoint that waits for no worker. False if nothing was merged since the last checkpoint.
  bool request_urgent(uint64_t updates) noexcept {
    if (updates == updates_) return false;
    return requested_ = urgent_ = true;
  }
  bool requested() const noexcept { return requested_; }
  /// Whether the request is urgent; true once.
  bool take_urgent() noexcept { return std::exchange(urgent_, false); }
  bool due(uint64_t step, double now) const noexcept;
  /// Whether the end of the run makes a checkpoint; true once.
  bool take_last() noexcept;

  /// A checkpoint was started and waits for its cut.
  bool active() const noexcept { return stage_ != Stage::none; }
  /// Starts a checkpoint of this state, which gets its number here. `step`: the clock of the slowest worker.
  void start(RunState state, uint64_t step, double now);
  /// Advances the checkpoint by one step; returns nothing while it waits. Later pushes are not in the checkpoint.
  std::optional<ServerRequest> advance();
  void on_settled(uint64_t checkpoint);
  void answer_state(CarriedValue state);

 private:
  enum class Stage { none, shards, state, ready };

  void send_cut(bool query);

  const Config config_;
  std::vector<Frame>& out_;
  uint64_t number_;
  uint64_t step_;     // of the slowest worker at the last checkpoint
  uint64_t updates_;  // merged updates at the last checkpoint
  double time_ = 0;   // of the last checkpoint
  bool requested_ = false;
  bool urgent_ = false;
  bool last_made_ = false;  // the checkpoint at the end was made
  Stage stage_ = Stage::none;
  uint32_t unsettled_ = 0;  // shards that have not confirmed that all commits are merged
  RunState state_;
};

}  // namespace actorhost
