#pragma once
// What every shard does: answers get, set and keys, takes pushes, and applies them, at once or when shard 0
// commits them. A passive state machine: frames go in, frames come out in `out`, and what a Lua `pull` has to decide is
// handed out as batches. Used by its server's thread.
//
// Pushes. An unstaged native push is applied frame by frame as it arrives. A staged one is kept until a commit names it
// (or a discard drops it), so that every shard applies the same pushes in the same order. For replace and Lua pulls a
// push is always completed before it is looked at.
//
// While a Lua `pull` has a batch, frames wait in order, so that a reader that is to see the values after that batch
// does not get those before it. Frames flagged kNow come from inside a `pull` and do not wait.

#include <deque>
#include <map>
#include <unordered_map>
#include <vector>

#include "host/base/log.hpp"
#include "host/engine/param/param_messages.hpp"
#include "host/engine/param/param_store.hpp"
#include "host/engine/param/update.hpp"
#include "host/wire/carried_value.hpp"

namespace actorhost {

/// Where a run stands, as a checkpoint has it.
struct RunState {
  uint64_t number = 0;  // of the checkpoint, counting up within a run's directory
  RunId run = 0;
  std::map<NodeId, uint64_t> clocks;
  uint64_t updates = 0;
  double seconds = 0;
  CarriedValue tasks = {};            // the policy's account of its tasks; nil without one
  std::optional<uint64_t> seed = {};  // of the run
};

/// Where snapshots for checkpoints go. Called by the shards' threads; takes over the blobs without copying.
class CheckpointSink {
 public:
  CheckpointSink() = default;
  CheckpointSink(const CheckpointSink&) = delete;
  CheckpointSink& operator=(const CheckpointSink&) = delete;
  virtual ~CheckpointSink() = default;
  /// Shard 0's decision, before any shard adds its part.
  virtual void begin(const RunState& state) = 0;
  virtual void add(uint64_t number, uint32_t shard, std::vector<std::pair<ParamKey, Stored>> values) = 0;
  /// Later checkpoints are to say that this run is over.
  virtual void finished(RunId run, const ParamSummary& summary) = 0;
};

/// One pushed value for a Lua `pull`: always whole.
struct PullEntry {
  ParamKey key;
  ParamValue value;
  uint64_t step = 0;  // completed by the worker with this push
  NodeId worker = 0;
};

class ParamShard {
 public:
  ParamShard(ParamStore& store, RunId run, const UpdateRule& update, Log& log, std::vector<Frame>& out,
             CheckpointSink* checkpoints = nullptr);

  /// Answers to workers that ask for it go through this filter.
  void set_pull_filter(const FilterSpec& spec) { filter_ = ParamFilter(spec); }

  /// Kinds 0300 to 0305, push, commit, discard and cut; others are not for a shard and are ignored.
  void handle(Frame&& frame);

  /// Applies pushes that are here, or the parts of them that are.
  void commit(const Commit& commit);
  void discard(const Discard& discard);

  /// Hands the sink what is stored now; does nothing without one.
  void cut(uint64_t number);

  /// Adds what is held under `key` to a reply for `worker`, filtered.
  void pack_filtered(NodeId worker, const ParamKey& key, EntryPacker& reply);

  /// The batch that waits for answer_pull; nullptr when none does.
  bool in_pull() const noexcept { return !batches_.empty(); }
  std::vector<PullEntry>* pull() noexcept { return batches_.empty() ? nullptr : &batches_.front(); }
  /// Writes the values that the Lua `pull` returned (whole ones; those of other shards are sent there), then handles
  /// the frames that have waited. An error names the key that cannot be set; the batch is over all the same.
  Status answer_pull(const std::vector<ParamEntry>& values);

  struct Done {
    NodeId worker = 0;
    uint64_t step = 0;
    double seconds = 0;         // that the worker says it worked
    ParamTraffic traffic = {};  // that it says it had
  };
  /// Pushes whose last frame has been dealt with since the last call.
  std::vector<Done> take_done() { return std::exchange(done_, {}); }
  /// Pushes that held infinite values or NaN, since the last call; each once.
  std::vector<ShardReport> take_reports() { return std::exchange(reports_, {}); }

  /// Pushes that are kept: incomplete, or not committed yet.
  size_t kept() const noexcept { return pushes_.size(); }
  ParamStore& store() noexcept { return store_; }

 private:
  using PushName = std::pair<NodeId, uint64_t>;  // worker, step
  struct Push {
    std::vector<ParamEntry> entries;
    bool refused = false;  // the worker has been told
  };

  void act(Frame&& frame);
  void on_get(const Frame& frame);
  void on_keys(const Frame& frame);
  void on_set(Frame&& frame);
  void on_push(Frame&& frame);
  void resume();

  bool collect(Frame&& frame, std::vector<ParamEntry>& complete);
  void apply_at_once(const PushName& name, Frame& frame, std::vector<ParamEntry>& entries);
  Status finish_push(const PushName& name, Push& push, double scale, std::vector<PullEntry>& batch);
  Status apply_all(std::vector<ParamEntry>& entries, const UpdateContext& context, const PushName& name);
  void commit_each(const Commit& commit);
  void commit_mean(const Commit& commit);
  void refuse(const PushName& name, const Error& error);
  void report(const PushName& name, const ParamKey& key);
  void keep(std::vector<ParamEntry>& entries, std::vector<ParamEntry>& into);
  Status to_pull(std::vector<ParamEntry>& entries, uint64_t step, NodeId worker, std::vector<PullEntry>& out);
  void fail(const Frame& frame, const Error& error);

  ParamStore& store_;
  RunId run_;
  UpdateRule update_;
  Log& log_;
  std::vector<Frame>& out_;
  CheckpointSink* checkpoints_;
  ParamFilter filter_;
  std::map<PushName, Push> pushes_;
  std::map<std::pair<Address, uint32_t>, std::vector<ParamEntry>> collecting_;  // set messages by sender and tag
  std::unordered_map<NodeId, uint64_t> gone_;                                   // first step that is ignored
  std::deque<std::vector<PullEntry>> batches_;
  std::deque<Frame> waiting_;
  std::vector<Done> done_;
  std::vector<ShardReport> reports_;
  std::unordered_map<NodeId, uint64_t> reported_;  // the step after the last one reported
};

}  // namespace actorhost
