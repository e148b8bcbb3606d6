#pragma once
// The state machine of a server VM for one run: a shard, and on shard 0 the coordinator. Frames and the time go in;
// what the policy has to decide, and frames to send, come out:
//
//   handle(frame, now)*; while (request = next(now)) answer it; send frames(); sleep until a frame or next_time()
//
// Answers are given before `next` is called again; frames may be handled in between (a policy that reads values waits
// for other shards). It never waits, belongs to the server's thread, and needs no Lua. It goes on answering get, set
// and keys after the run.

#include <memory>
#include <optional>
#include <vector>

#include "host/engine/param/coordinator.hpp"
#include "host/engine/param/shard.hpp"

namespace actorhost {

class ParamServer {
 public:
  struct Config {
    UpdateRule update;
    CoordinatorConfig run;  // on all shards: run and shards are used everywhere, the rest by shard 0
    FilterSpec pull = {};   // for answers to workers in the loop
  };

  /// `rule` and `checkpoints` outlive the server; `rule` is used by shard 0 only and may be null elsewhere.
  ParamServer(const Config& config, ParamStore& store, BarrierRule* rule, Log& log,
              CheckpointSink* checkpoints = nullptr);

  /// A frame of kind 0x03xx for this address. Frames for a later run are kept (take_early).
  void handle(Frame&& frame, double now);
  // What the membership says; shard 0 tells the others.
  void lost(NodeId id, double now);
  void joined(NodeId id);
  void suspect(NodeId id, bool suspected);
  void set_rule(BarrierRule& rule);
  void stop(const std::string& reason);
  /// Writes a checkpoint at the next decision; false where none can be written.
  bool checkpoint_now();
  /// Writes a checkpoint as soon as that can be, since the process ends soon; false where there is nothing to write.
  bool last_checkpoint();
  /// Whether a checkpoint has been asked for and not begun.
  bool checkpoint_asked() const noexcept { return coordinator_ && coordinator_->checkpoint_asked(); }

  std::optional<ServerRequest> next(double now);
  double next_time() const { return coordinator_ ? coordinator_->next_time() : kForever; }
  Status answer_pull(const std::vector<ParamEntry>& values);
  void answer_stop(bool stop);
  void answer_state(CarriedValue state);
  Status answer_schedule(std::map<NodeId, std::vector<ParamEntry>> tasks, double now,
                         const std::map<NodeId, uint64_t>& numbers = {});
  std::vector<TaskOutcome> take_outcomes();

  /// What there is to send, in order. Frames to other shards must be in their mailboxes before later ones go to
  /// workers.
  std::vector<Frame> take_frames();
  /// Frames of workers that are in a later run already, for its server.
  std::vector<Frame> take_early() { return std::exchange(early_, {}); }

  bool in_pull() const noexcept { return shard_.in_pull(); }
  const ParamCoordinator* coordinator() const noexcept { return coordinator_.get(); }
  const ParamShard& shard() const noexcept { return shard_; }
  ParamStore& store() noexcept { return shard_.store(); }

 private:
  void settle(double now);

  RunId run_;
  CheckpointSink* checkpoints_;
  std::vector<Frame> out_;
  ParamShard shard_;
  std::unique_ptr<ParamCoordinator> coordinator_;
  std::vector<Frame> early_;
};

}  // namespace actorhost
