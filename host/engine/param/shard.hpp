#pragma once
// The work of every shard: replies to get, set and keys, receives pushes, and applies pushes at once or when shard 0
// commits them. Passive: frames are handed in, frames to send go to `out`, and batches for a Lua `pull` are handed out.
// Used by the thread of its server.
//
// Pushes. An unstaged native push is applied frame by frame as its frames arrive. A staged push is stored until a
// commit names it or a discard drops it, so every shard applies the same pushes in the same order. For `replace` and
// Lua pulls a push is processed only when it is complete.
//
// While a Lua `pull` has a batch, frames wait in order, so a reader that must see the values after that batch never
// gets the older values. Frames with kNow are sent from inside a `pull` and do not wait.

#include <deque>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "host/base/log.hpp"
#include "host/base/non_copyable.hpp"
#include "host/engine/param/param_messages.hpp"
#include "host/engine/values/message_assembler.hpp"
#include "host/engine/values/param_store.hpp"
#include "host/engine/values/update.hpp"
#include "host/wire/carried_value.hpp"

namespace actorhost {

/// The progress of a run, as stored in a checkpoint.
struct RunState {
  uint64_t number = 0;  // of the checkpoint; increases within a run's directory
  RunId run = 0;
  std::map<NodeId, uint64_t> clocks;
  uint64_t updates = 0;
  double seconds = 0;
  CarriedValue tasks = {};            // the policy's account of its tasks; nil without an account
  std::optional<uint64_t> seed = {};  // of the run
};

/// Receives snapshots for checkpoints. Called by the shards' threads; takes over the blobs without copying.
class CheckpointSink : public Interface {
 public:
  /// Shard 0's decision, before any shard adds its part.
  virtual void begin(const RunState& state) = 0;
  virtual void add(uint64_t number, uint32_t shard, std::vector<std::pair<ParamKey, Stored>> values) = 0;
  /// Marks this run as finished in later checkpoints.
  virtual void finished(RunId run, const ParamSummary& summary) = 0;
};

class ParamShard {
 public:
  using PushName = std::pair<NodeId, uint64_t>;  // worker, step

  ParamShard(ParamStore& store, RunId run, const UpdateRule& update, Log& log, std::vector<Frame>& out,
             CheckpointSink* checkpoints = nullptr);

  /// Sets the filter for replies to workers that request filtering.
  void set_pull_filter(const FilterSpec& spec) { filter_ = ParamFilter(spec); }

  /// Handles kinds 0300 to 0305, push, commit, discard and cut. Ignores other kinds.
  void handle(Frame&& frame);

  /// Applies the received parts of the named pushes.
  void commit(const Commit& commit);
  void discard(const Discard& discard);

  /// The scalar product of the parts of two complete staged pushes on this shard: over their tensors of floats.
  double dot(const PushName& a, const PushName& b) const;
  /// The values of a complete staged push. Tensors are whole, and share their bytes with the push where they can.
  Result<std::vector<ParamEntry>> values_of(const PushName& name) const;
  /// Gives a complete staged push other values. An error names the key that does not fit, and changes nothing.
  Status set_values(const PushName& name, std::vector<ParamEntry> values);

  /// Hands the sink the currently stored values; does nothing without a sink.
  void cut(uint64_t number);

  /// Adds the value of `key` to a reply for `worker`, filtered.
  void pack_filtered(NodeId worker, const ParamKey& key, EntryPacker& reply);

  /// Whether a batch waits for answer_pull. `pull` returns the batch, or nullptr.
  bool in_pull() const noexcept { return !batches_.empty(); }
  std::vector<PullEntry>* pull() noexcept { return batches_.empty() ? nullptr : &batches_.front(); }
  /// Writes the whole values that the Lua `pull` returned and sends values of other shards to these shards; then
  /// handles the waiting frames. An error names the key that cannot be set; the batch is finished in any case.
  Status answer_pull(const std::vector<ParamEntry>& values);

  struct Done {
    NodeId worker = 0;
    uint64_t step = 0;
    double seconds = 0;         // the worker's claim: its working time
    ParamTraffic traffic = {};  // the worker's claim: its traffic
  };
  /// Pushes whose last frame was handled since the last call.
  std::vector<Done> take_done() { return std::exchange(done_, {}); }
  /// Pushes with infinite values or NaN since the last call, each once.
  std::vector<ShardReport> take_reports() { return std::exchange(reports_, {}); }

  ParamStore& store() noexcept { return store_; }

 private:
  struct Push {
    std::vector<ParamEntry> entries;
    bool refused = false;  // a reject was sent to the worker
  };

  void dispatch(Frame&& frame);
  void on_get(const Frame& frame);
  void on_keys(const Frame& frame);
  void on_set(Frame&& frame);
  void on_push(Frame&& frame);
  void resume();

  void apply_at_once(const PushName& name, Frame& frame, std::vector<ParamEntry>& entries);
  Status finish_push(const PushName& name, Push& push, double scale, std::vector<PullEntry>& batch);
  Status mix(std::vector<ParamEntry>& entries, double weight) const;
  Status apply_all(std::vector<ParamEntry>& entries, const UpdateContext& context, const PushName& name);
  void commit_each(const Commit& commit);
  void commit_combined(const Commit& commit);
  void refuse(const PushName& name, const Error& error);
  void report(const PushName& name, const ParamKey& key);
  void append(std::vector<ParamEntry>& entries, std::vector<ParamEntry>& into);
  Status to_pull(std::vector<ParamEntry>& entries, const PushName& name, double weight, std::vector<PullEntry>& out);
  void fail(const Frame& frame, const Error& error);

  ParamStore& store_;
  RunId run_;
  UpdateRule update_;
  Log& log_;
  std::vector<Frame>& out_;
  CheckpointSink* checkpoints_;
  ParamFilter filter_;
  std::map<PushName, Push> pushes_;
  MessageAssembler<Address> sets_;
  std::unordered_set<NodeId> lost_;
  std::unordered_map<NodeId, uint64_t> ignored_from_;  // first step that is ignored
  std::deque<std::vector<PullEntry>> batches_;
  std::deque<Frame> waiting_;
  std::vector<Done> done_;
  std::vector<ShardReport> reports_;
  std::unordered_map<NodeId, uint64_t> reported_;  // the step after the last reported step
};

}  // namespace actorhost
