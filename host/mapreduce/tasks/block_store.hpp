#pragma once
// Stores the outputs of this process's tasks, by stage, task and bucket. One per process; thread-safe. Blocks stay in
// memory while the budget allows. Beyond the budget, large blocks go to the spill file oldest first, then small blocks.
// A spilled block is read from disk each time: moving it back would only push out another block.
//
// A task writes through an Attempt. The attempt's blocks may go to disk at any time, but no output has them before
// `commit`; they are dropped when the task fails. The lock is never held during disk access.

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "host/base/non_copyable.hpp"
#include "host/base/result.hpp"
#include "host/mapreduce/rows/block.hpp"
#include "host/mapreduce/rows/memory_budget.hpp"
#include "host/mapreduce/rows/spill_file.hpp"
#include "host/mapreduce/tasks/plan.hpp"

namespace actorhost {

struct BlockStoreFigures {
  uint64_t outputs = 0;
  uint64_t blocks = 0;
  uint64_t rows = 0;
  uint64_t memory_bytes = 0;
  uint64_t spilled_bytes = 0;  // of rows now on disk, before compression
};

struct OutputFigures {
  uint64_t blocks = 0;
  uint64_t rows = 0;
  uint64_t bytes = 0;  // in memory and on disk
};

enum class BlockPlace : uint8_t { memory, disk };

class BlockStore : private NonCopyable {
  struct Stored;
  using StoredList = std::list<std::shared_ptr<Stored>>;
  struct Output {
    std::vector<std::shared_ptr<Stored>> blocks;
    OutputFigures figures;
  };
  using TaskOutputs = std::vector<std::optional<Output>>;  // by bucket
  using TaskId = std::pair<StageId, uint32_t>;

 public:
  /// Both outlive the store.
  BlockStore(MemoryBudget& budget, SpillFile& spill) : budget_(budget), spill_(spill) {}
  ~BlockStore();

  /// The outputs of one running task. One thread at a time; does not outlive the store.
  class Attempt {
   public:
    Attempt(Attempt&& other) noexcept = default;
    Attempt& operator=(Attempt&& other) = delete;
    ~Attempt();

    /// Adds a block; blocks while blocks are written to disk. Returns the spill file's error; a block for memory is
    /// stored even then.
    Status append(uint32_t bucket, RowBlock block);
    /// Makes the blocks the task's outputs, replacing all earlier outputs of the task.
    void commit();
    OutputFigures figures() const noexcept { return figures_; }

   private:
    friend class BlockStore;
    struct Detach {
      void operator()(BlockStore*) const noexcept {}
    };
    Attempt(BlockStore* store, TaskId task, uint32_t buckets, BlockPlace place);

    std::unique_ptr<BlockStore, Detach> store_;  // null after a move or a commit
    TaskId task_;
    BlockPlace place_;
    TaskOutputs outputs_;
    OutputFigures figures_;
  };
  /// After the commit each bucket exists, also a bucket without rows.
  Attempt begin(StageId stage, uint32_t task, uint32_t buckets, BlockPlace place = BlockPlace::memory);

  /// Stores one whole output, replacing an earlier one.
  Status put(OutputId id, RowBlocks blocks);

  /// The number of blocks; nothing when there is no such output.
  std::optional<size_t> blocks(OutputId id) const;
  std::optional<OutputFigures> output(OutputId id) const;
  /// Code::bad_argument when there is no such block, the spill file's error when a block cannot be read back.
  Result<RowBlock> block(OutputId id, size_t index) const;

  void forget(StageId stage);
  void forget(StageId stage, uint32_t task);
  void clear();

  /// Spills until memory is within the budget or no block is left to spill. Returns the spill file's error.
  Status make_room();

  BlockStoreFigures figures() const;

 private:
  const Output* find(OutputId id) const;                           // locked
  void add(Output& output, RowBlock block);                        // locked
  void add(Output& output, const SpillRef& ref);                   // locked
  void drop(TaskOutputs& outputs, std::vector<SpillRef>& unused);  // locked
  void drop(Output& output, std::vector<SpillRef>& unused);        // locked
  void replace(TaskId task, TaskOutputs outputs);
  std::shared_ptr<Stored> victim();
  Status spill(const std::shared_ptr<Stored>& victim);
  void give_back(const std::vector<SpillRef>& unused);

  MemoryBudget& budget_;
  SpillFile& spill_;
  mutable std::mutex mutex_;
  std::map<TaskId, TaskOutputs> tasks_;
  StoredList large_, small_;  // in memory and not being spilled, oldest first
  BlockStoreFigures figures_;
};

}  // namespace actorhost
