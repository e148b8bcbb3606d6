#pragma once
// Checkpoints of the parameter server in open formats: a directory of files that numpy and any JSON reader can read. A
// checkpoint is complete or absent (host/data/file/atomic_dir.hpp).
//
//   PREFIX-000000000012/
//     values.npz   "value.NAME" each tensor whole, whatever the number of shards; "state0.NAME", "state1.NAME" its
//                  optimiser's state; for a Lua value its encoding as bytes and "tensor0.NAME" ... its tensors
//     state.json   {"format": 1, "run", "seed", "updates", "seconds", "clocks": {worker: steps}, "finished": {run:
//     summary},
//                   "values": [{"key", "canonical", "array", "kind", "step", "version", "optimiser", "state", "made",
//                   "tensors"}], "tasks": the policy's account of its tasks, in the form of a value}
//     manifest.json
//
// NAME is the key if the key is a plain word, else "@" and a number.

#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "host/base/log.hpp"
#include "host/base/tasks.hpp"
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

  /// Writes the store's part of the values into `store`.
  Status restore(ParamStore& store) const;
};

/// The location of the checkpoints with one prefix.
struct CheckpointFolder {
  std::filesystem::path directory;
  std::string prefix = "checkpoint";
  size_t keep = 3;  // number of newest checkpoints to keep; older ones are removed
};

/// Writes the checkpoint with the next free number and returns its path. Blocks on the disk.
Result<std::filesystem::path> save_checkpoint(const CheckpointFolder& folder, const ParamCheckpoint& checkpoint);

/// Collects the shards' parts of a checkpoint and writes them on its own thread. Thread-safe; `begin` and `add` only
/// copy references. If checkpoints arrive faster than the disk writes them, the oldest waiting checkpoint is dropped.
class ParamCheckpointer final : public CheckpointSink {
 public:
  /// `failed` is called on the writer's thread for each checkpoint that cannot be written.
  ParamCheckpointer(CheckpointFolder folder, uint32_t shards, Log& log, std::function<void(const Error&)> failed = {});
  /// Writes complete checkpoints first.
  ~ParamCheckpointer() override;

  void begin(const RunState& state) override;
  void add(uint64_t number, uint32_t shard, std::vector<std::pair<ParamKey, Stored>> values) override;
  void finished(RunId run, const ParamSummary& summary) override;

  /// Blocks until every complete checkpoint is on disk. Returns the last failure since the last call.
  Status flush();
  /// Whether a checkpoint is being collected or written.
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
  WaitPoint changed_;
  std::optional<Collected> open_;     // not all shards have added their part
  std::optional<Collected> waiting_;  // complete, written next
  std::map<RunId, ParamSummary> finished_;
  bool writing_ = false;
  bool quit_ = false;
  Status failure_;
  uint64_t skipped_ = 0;  // checkpoints that a later checkpoint replaced
  Task thread_;
};

/// Whether checkpoints can be written there; tests this with a file. Creates the directory.
Status try_to_checkpoint(const std::filesystem::path& directory);

/// The newest complete and intact checkpoint, or nothing. A damaged checkpoint is skipped with a warning of
/// `log_source` that names it. Code::io if an object storage cannot be read.
Result<std::optional<ParamCheckpoint>> load_newest_checkpoint(const std::filesystem::path& directory, Log& log,
                                                              const std::string& prefix = "checkpoint",
                                                              const std::string& log_source = "server 0");

}  // namespace actorhost
