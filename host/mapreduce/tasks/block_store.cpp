#include "host/mapreduce/tasks/block_store.hpp"

#include <string>

namespace actorhost {

namespace {

/// Smaller blocks are spilled only when there are no larger blocks: each costs a write and, later, a read.
constexpr size_t kLargeBytes = size_t{16} << 10;

}  // namespace

struct BlockStore::Stored {
  enum class State { memory, spilling, spilled, dropped };

  RowBlock block;  // without bytes once it is spilled or dropped
  SpillRef ref;
  State state = State::memory;
  StoredList* list = nullptr;  // the queue in which it waits to be spilled
  StoredList::iterator place;
};

BlockStore::~BlockStore() { clear(); }

BlockStore::Attempt::Attempt(BlockStore* store, TaskId task, uint32_t buckets, BlockPlace place)
    : store_(store), task_(task), place_(place), outputs_(buckets) {
  for (auto& output : outputs_) output.emplace();
}

BlockStore::Attempt BlockStore::begin(StageId stage, uint32_t task, uint32_t buckets, BlockPlace place) {
  return {this, {stage, task}, buckets, place};
}

BlockStore::Attempt::~Attempt() {
  if (!store_) return;
  std::vector<SpillRef> unused;
  {
    const std::lock_guard lock(store_->mutex_);
    store_->drop(outputs_, unused);
  }
  store_->give_back(unused);
}

Status BlockStore::Attempt::append(uint32_t bucket, RowBlock block) {
  if (block.rows == 0) return {};
  figures_.blocks += 1;
  figures_.rows += block.rows;
  figures_.bytes += block.bytes.size();
  if (place_ == BlockPlace::disk) {
    AH_LET(const auto ref, store_->spill_.append(block));
    const std::lock_guard lock(store_->mutex_);
    store_->add(*outputs_[bucket], ref);
    return {};
  }
  {
    const std::lock_guard lock(store_->mutex_);
    store_->add(*outputs_[bucket], std::move(block));
  }
  return store_->make_room();
}

void BlockStore::Attempt::commit() {
  store_->replace(task_, std::move(outputs_));
  store_.reset();
}

Status BlockStore::put(OutputId id, RowBlocks blocks) {
  std::vector<SpillRef> unused;
  {
    const std::lock_guard lock(mutex_);
    TaskOutputs& outputs = tasks_[{id.stage, id.task}];
    if (outputs.size() <= id.bucket) outputs.resize(id.bucket + 1);
    auto& output = outputs[id.bucket];
    if (output) drop(*output, unused);
    if (!output) figures_.outputs += 1;
    output.emplace();
    for (auto& block : blocks) {
      if (block.rows != 0) add(*output, std::move(block));
    }
  }
  give_back(unused);
  return make_room();
}

void BlockStore::replace(TaskId task, TaskOutputs outputs) {
  std::vector<SpillRef> unused;
  {
    const std::lock_guard lock(mutex_);
    TaskOutputs& place = tasks_[task];
    for (const auto& output : place) figures_.outputs -= output ? 1 : 0;
    drop(place, unused);
    place = std::move(outputs);
    figures_.outputs += place.size();
  }
  give_back(unused);
}

void BlockStore::add(Output& output, RowBlock block) {
  const size_t bytes = block.bytes.size();
  budget_.take(bytes);
  output.figures.blocks += 1;
  output.figures.rows += block.rows;
  output.figures.bytes += bytes;
  figures_.blocks += 1;
  figures_.rows += block.rows;
  figures_.memory_bytes += bytes;
  auto stored = std::make_shared<Stored>();
  stored->block = std::move(block);
  stored->list = bytes < kLargeBytes ? &small_ : &large_;
  stored->place = stored->list->insert(stored->list->end(), stored);
  output.blocks.push_back(stored);
}

void BlockStore::add(Output& output, const SpillRef& ref) {
  output.figures.blocks += 1;
  output.figures.rows += ref.rows;
  output.figures.bytes += ref.raw_bytes;
  figures_.blocks += 1;
  figures_.rows += ref.rows;
  figures_.spilled_bytes += ref.raw_bytes;
  auto stored = std::make_shared<Stored>();
  stored->block.rows = ref.rows;
  stored->ref = ref;
  stored->state = Stored::State::spilled;
  output.blocks.push_back(std::move(stored));
}

void BlockStore::drop(TaskOutputs& outputs, std::vector<SpillRef>& unused) {
  for (auto& output : outputs) {
    if (output) drop(*output, unused);
  }
}

void BlockStore::drop(Output& output, std::vector<SpillRef>& unused) {
  for (const auto& stored : output.blocks) {
    const size_t bytes = stored->block.bytes.size();
    figures_.blocks -= 1;
    figures_.rows -= stored->block.rows;
    if (stored->state == Stored::State::spilled) {
      figures_.spilled_bytes -= stored->ref.raw_bytes;
      unused.push_back(stored->ref);
    } else if (stored->state == Stored::State::memory) {
      figures_.memory_bytes -= bytes;
      budget_.give(bytes);
      stored->list->erase(stored->place);
      stored->block.bytes = {};
    }  // the thread that spills a block frees it
    stored->state = Stored::State::dropped;
  }
  output.blocks.clear();
}

void BlockStore::give_back(const std::vector<SpillRef>& unused) {
  for (const auto& ref : unused) spill_.drop(ref);
}

std::shared_ptr<BlockStore::Stored> BlockStore::victim() {
  const std::lock_guard lock(mutex_);
  StoredList& from = large_.empty() ? small_ : large_;
  if (from.empty()) return nullptr;
  auto stored = std::move(from.front());
  from.pop_front();
  stored->state = Stored::State::spilling;
  return stored;
}

Status BlockStore::spill(const std::shared_ptr<Stored>& victim) {
  // The bytes of a block do not change while it is spilled, so reading them needs no lock.
  auto ref = spill_.append(victim->block);
  const std::lock_guard lock(mutex_);
  const size_t bytes = victim->block.bytes.size();
  if (victim->state == Stored::State::dropped) {
    if (ref) spill_.drop(*ref);
  } else if (!ref) {
    victim->state = Stored::State::memory;
    victim->place = victim->list->insert(victim->list->end(), victim);
    return ref.error();
  } else {
    victim->state = Stored::State::spilled;
    victim->ref = *ref;
    figures_.spilled_bytes += bytes;
  }
  victim->block.bytes = {};
  figures_.memory_bytes -= bytes;
  budget_.give(bytes);
  return {};
}

Status BlockStore::make_room() {
  while (budget_.exceeded()) {
    const auto stored = victim();
    if (!stored) return {};
    AH_TRY(spill(stored));
  }
  return {};
}

const BlockStore::Output* BlockStore::find(OutputId id) const {
  const auto task = tasks_.find({id.stage, id.task});
  if (task == tasks_.end() || id.bucket >= task->second.size()) return nullptr;
  const auto& output = task->second[id.bucket];
  return output ? &*output : nullptr;
}

std::optional<size_t> BlockStore::blocks(OutputId id) const {
  const std::lock_guard lock(mutex_);
  const Output* output = find(id);
  return output != nullptr ? std::optional(output->blocks.size()) : std::nullopt;
}

std::optional<OutputFigures> BlockStore::output(OutputId id) const {
  const std::lock_guard lock(mutex_);
  const Output* output = find(id);
  return output != nullptr ? std::optional(output->figures) : std::nullopt;
}

Result<RowBlock> BlockStore::block(OutputId id, size_t index) const {
  const auto missing = [&] {
    return Error{Code::bad_argument, "no block " + std::to_string(index) + " of bucket " + std::to_string(id.bucket) +
                                         " of task " + std::to_string(id.task) + " of stage " +
                                         std::to_string(id.stage) + " is here"};
  };
  std::shared_ptr<Stored> stored;
  SpillRef ref;
  {
    const std::lock_guard lock(mutex_);
    const Output* output = find(id);
    if (output == nullptr || index >= output->blocks.size()) return missing();
    stored = output->blocks[index];
    if (stored->state != Stored::State::spilled) return stored->block;
    ref = stored->ref;
  }
  auto block = spill_.read(ref);
  if (block) return block;
  // Another thread may have dropped the block meanwhile, and freed its room on disk.
  const std::lock_guard lock(mutex_);
  if (stored->state == Stored::State::dropped) return missing();
  return block;
}

void BlockStore::forget(StageId stage) {
  std::vector<SpillRef> unused;
  {
    const std::lock_guard lock(mutex_);
    const auto first = tasks_.lower_bound({stage, 0});
    auto last = first;
    for (; last != tasks_.end() && last->first.first == stage; ++last) {
      for (const auto& output : last->second) figures_.outputs -= output ? 1 : 0;
      drop(last->second, unused);
    }
    tasks_.erase(first, last);
  }
  give_back(unused);
}

void BlockStore::forget(StageId stage, uint32_t task) {
  std::vector<SpillRef> unused;
  {
    const std::lock_guard lock(mutex_);
    const auto found = tasks_.find({stage, task});
    if (found == tasks_.end()) return;
    for (const auto& output : found->second) figures_.outputs -= output ? 1 : 0;
    drop(found->second, unused);
    tasks_.erase(found);
  }
  give_back(unused);
}

void BlockStore::clear() {
  std::vector<SpillRef> unused;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [task, outputs] : tasks_) drop(outputs, unused);
    tasks_.clear();
    figures_.outputs = 0;
  }
  give_back(unused);
}

BlockStoreFigures BlockStore::figures() const {
  const std::lock_guard lock(mutex_);
  return figures_;
}

}  // namespace actorhost
