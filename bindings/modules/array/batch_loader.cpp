#include "bindings/modules/array/batch_loader.hpp"

#include <utility>

namespace actorhost {

BatchLoader::BatchLoader(std::vector<Gather> sources) : sources_(std::move(sources)), thread_([this] { run(); }) {}

BatchLoader::~BatchLoader() {
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void BatchLoader::submit(std::vector<int32_t> positions, std::vector<Target> targets) {
  {
    const std::lock_guard lock(mutex_);
    batches_.push_back({std::move(positions), std::move(targets)});
  }
  changed_.notify_all();
}

BatchLoader::Misfit BatchLoader::take() {
  std::unique_lock lock(mutex_);
  if (begun_ == 0) gather_next(lock);
  changed_.wait(lock, [this] { return batches_.front().done; });
  const Misfit misfit = batches_.front().misfit;
  batches_.pop_front();
  --begun_;
  return misfit;
}

void BatchLoader::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return quit_ || begun_ < batches_.size(); });
    if (quit_) return;
    gather_next(lock);
    changed_.notify_all();
  }
}

/// Releases the lock meanwhile. The batch keeps its address while others are added behind it or removed before it.
void BatchLoader::gather_next(std::unique_lock<std::mutex>& lock) {
  Batch& batch = batches_[begun_++];
  lock.unlock();
  batch.misfit = gather(batch);
  lock.lock();
  batch.done = true;
}

BatchLoader::Misfit BatchLoader::gather(const Batch& batch) {
  for (size_t i = 0; i < sources_.size(); ++i) {
    {
      const std::lock_guard lock(mutex_);
      if (quit_) return {};
    }
    if (const int64_t at = sources_[i](batch.positions.data(), batch.targets[i].to); at != 0) return {i, at};
  }
  return {};
}

}  // namespace actorhost
