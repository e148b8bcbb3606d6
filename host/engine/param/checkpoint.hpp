#pragma once
// Checkpoints of the parameter server in open formats: a directory with what numpy and any JSON reader understand,
// complete or not there at all (host/data/atomic_dir.hpp).
//
//   PREFIX-000000000012/
//     values.npz   "value.NAME" each tensor whole, whatever the number of shards; "state0.NAME", "state1.NAME" its
//                  optimiser's state; for a Lua value its encoding as bytes and "tensor0.NAME" ... the tensors in it
//     state.json   {"format": 1, "run", "seed", "updates", "seconds", "clocks": {worker: steps}, "finished": {run:
//     summary},
//                   "values": [{"key", "canonical", "array", "kind", "step", "version", "optimiser", "state", "made",
//                   "tensors"}], "tasks": what the policy keeps of its tasks, as one of the values}
//     manifest.json
//
// NAME is the key where that is a plain word, else "@" and a number.

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "host/base/log.hpp"
#include "host/engine/param/param_messages.hpp"
#include "host/engine/param/shard.hpp"

namespace actorhost {

/// A checkpoint in memory.
struct ParamCheckpoint {
  struct Value {
    ParamKey key;
    CarriedValue value;  // a tensor or a Lua value
    std::vector<Tensor> state;
    std::optional<kernel::OptimiserKind> state_of;
    uint64_t made = 0;
    uint64_t step = 0;
    uint64_t version = 0;
  };
  RunState state;
  std::map<RunId, ParamSummary> finished;  // earlier runs of the job
  std::vector<Value> values;

  /// Puts what `store` holds of the values into it.
  Status restore(ParamStore& store) const;
};

/// Where the checkpoints of one name are.
struct CheckpointFolder {
  std::filesystem::path directory;
  std::string prefix = "checkpoint";
  size_t keep = 3;  // newest ones; older ones are removed
};

/// Writes it behind the newest complete one, and returns where it is. Blocks on the disk.
Result<std::filesystem::path> save_checkpoint(const CheckpointFolder& folder, const ParamCheckpoint& checkpoint);

/// Collects the shards' parts of a checkpoint and writes them on a thread of its own. Any thread may call; `begin` and
/// `add` only copy references. When checkpoints come faster than they can be written the oldest waiting one is dropped.
class ParamCheckpointer final : public CheckpointSink {
 public:
  /// `failed` hears on the writer's thread of one that could not be written.
  ParamCheckpointer(CheckpointFolder folder, uint32_t shards, Log& log, std::function<void(const Error&)> failed = {});
  /// Finishes what is complete.
  ~ParamCheckpointer() override;

  void begin(const RunState& state) override;
  void add(uint64_t number, uint32_t shard, std::vector<std::pair<ParamKey, Stored>> values) override;
  void finished(RunId run, const ParamSummary& summary) override;

  /// Waits until everything complete is on disk; the last failure since the last call, if there was one.
  Status flush();
  /// Whether one is being collected or written.
  bool pending() const;

 private:
  struct Collected {
    RunState state;
    std::map<RunId, ParamSummary> finished;
    std::map<uint32_t, std::vector<std::pair<ParamKey, Stored>>> parts;  // by shard
  };

  void run();
  Status write(const Collected& collected);

  const CheckpointFolder folder_;
  const std::function<void(const Error&)> failed_;
  const uint32_t shards_;
  Log& log_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Collected> open_;     // not all shards have added their part
  std::optional<Collected> waiting_;  // complete, to be written next
  std::map<RunId, ParamSummary> finished_;
  bool writing_ = false;
  bool quit_ = false;
  Status failure_;
  uint64_t skipped_ = 0;  // checkpoints that a later one overtook
  std::thread thread_;
};

/// Whether checkpoints can be written there, tried with a file; makes the directory.
Status try_to_checkpoint(const std::filesystem::path& directory);

/// The newest checkpoint that is complete and intact; nothing when there is none. One that is damaged is skipped with a
/// warning of `who` that names it.
Result<std::optional<ParamCheckpoint>> load_newest_checkpoint(const std::filesystem::path& directory, Log& log,
                                                              const std::string& prefix = "checkpoint",
                                                              const std::string& who = "server 0");

}  // namespace actorhost
