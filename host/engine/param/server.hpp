#pragma once
// The state machine of a server node for one run: a shard, and on shard 0 the controller. The owner hands in frames
// and the time; decisions for the policy and frames to send are handed out:
//
//   handle(frame, now)*; while (request = next(now)) answer it; send frames(); sleep until a frame or next_time()
//
// The owner answers each request before it calls `next` again. It may handle frames in between (a policy that reads
// values waits for other shards). Passive: never blocks, belongs to the server's thread, and needs no Lua. After the
// run it still replies to get, set and keys.

#include <memory>
#include <optional>
#include <vector>

#include "host/engine/param/controller.hpp"
#include "host/engine/param/shard.hpp"

namespace actorhost {

class ParamServer {
 public:
  struct Config {
    UpdateRule update;
    ControllerConfig run;  // all shards use `run` and `shards`; only shard 0 uses the rest
    FilterSpec pull = {};  // for replies to workers in the loop
  };

  /// `rule` and `checkpoints` outlive the server. Only shard 0 uses `rule`, which may be null elsewhere.
  ParamServer(const Config& config, ParamStore& store, BarrierRule* rule, Log& log,
              CheckpointSink* checkpoints = nullptr);

  /// Handles a frame of kind 0x03xx for this address. Stores frames of a later run (take_early).
  void handle(Frame&& frame, double now);
  // Membership changes, on shard 0 only.
  void lost(NodeId id, double now);
  void joined(NodeId id);
  void suspect(NodeId id, bool suspected);
  void set_rule(BarrierRule& rule);
  void stop(const std::string& reason);
  /// Writes a checkpoint at the next decision; false where no checkpoint can be written.
  bool checkpoint_now();
  /// Writes a checkpoint as soon as possible, because the process ends soon; false if there is nothing to write.
  bool last_checkpoint();
  /// Whether a checkpoint is requested and not yet started.
  bool checkpoint_requested() const noexcept { return controller_ && controller_->checkpoint_requested(); }

  std::optional<ServerRequest> next(double now);
  double next_time() const { return controller_ ? controller_->next_time() : kForever; }
  Status answer_pull(const std::vector<ParamEntry>& values);
  void answer_stop(bool stop);
  void answer_state(CarriedValue state);
  Status answer_schedule(std::map<NodeId, std::vector<ParamEntry>> tasks, double now,
                         const std::map<NodeId, uint64_t>& numbers = {});
  std::vector<TaskOutcome> take_outcomes();

  /// The frames to send, in order. Frames to other shards must be in their mailboxes before later frames are sent to
  /// workers.
  std::vector<Frame> take_frames();
  /// Frames of workers that are already in a later run, for the server of that run.
  std::vector<Frame> take_early() { return std::exchange(early_, {}); }

  bool in_pull() const noexcept { return shard_.in_pull(); }
  const ParamController* controller() const noexcept { return controller_.get(); }
  ParamShard& shard() noexcept { return shard_; }
  ParamStore& store() noexcept { return shard_.store(); }

 private:
  void settle(double now);

  RunId run_;
  CheckpointSink* checkpoints_;
  std::vector<Frame> out_;
  ParamShard shard_;
  std::unique_ptr<ParamController> controller_;
  std::vector<Frame> early_;
};

}  // namespace actorhost
