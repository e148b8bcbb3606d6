#pragma once
// What the tasks of this process have put out, by stage, task and bucket. One per process; any thread. Blocks are kept
// in memory as long as the budget allows; beyond that the oldest large ones go to the spill file, then the oldest small
// ones. A block that was spilled is read from there each time: putting it back would only push out another.
//
// A task writes through an Attempt. Its blocks can be spilled from the start, or lie on disk from the start, but no
// output has them before the attempt is committed; they are dropped when the task fails. The lock is never held while
// the disk is waited for.

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

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
  uint64_t spilled_bytes = 0;  // of rows that lie on disk now, before compression
};

struct OutputFigures {
  uint64_t blocks = 0;
  uint64_t rows = 0;
  uint64_t bytes = 0;  // wherever they are
};

enum class BlockPlace : uint8_t { memory, disk };

class BlockStore {
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
  BlockStore(const BlockStore&) = delete;
  BlockStore& operator=(const BlockStore&) = delete;

  /// The outputs of one task that is running. One thread at a time; does not outlive the store.
  class Attempt {
   public:
    Attempt(Attempt&& other) noexcept = default;
    Attempt& operator=(Attempt&& other) = delete;
    ~Attempt();

    /// Blocks while this one or others are written to disk. Its error is the spill file's; a block that was to be in
    /// memory is kept all the same.
    Status append(uint32_t bucket, RowBlock block);
    /// They are the task's outputs now, all of them, instead of those that it may have had.
    void commit();
    OutputFigures figures() const noexcept { return figures_; }

   private:
    friend class BlockStore;
    struct Detach {
      void operator()(BlockStore*) const noexcept {}
    };
    Attempt(BlockStore* store, TaskId task, uint32_t buckets, BlockPlace place);

    std::unique_ptr<BlockStore, Detach> store_;  // none when moved from or committed
    TaskId task_;
    BlockPlace place_;
    TaskOutputs outputs_;
    OutputFigures figures_;
  };
  /// Each of the buckets exists once it is committed, also those without rows.
  Attempt begin(StageId stage, uint32_t task, uint32_t buckets, BlockPlace place = BlockPlace::memory);

  /// One whole output at once, instead of the one that there may be.
  Status put(OutputId id, RowBlocks blocks);

  /// How many blocks; nothing when there is no such output.
  std::optional<size_t> blocks(OutputId id) const;
  std::optional<OutputFigures> output(OutputId id) const;
  /// Code::bad_argument when there is no such block, the spill file's error when it cannot be read back.
  Result<RowBlock> block(OutputId id, size_t index) const;

  void forget(StageId stage);
  void forget(StageId stage, uint32_t task);
  void clear();

  /// Spills until the budget is kept, or there is nothing more to spill. Its error is the spill file's.
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
