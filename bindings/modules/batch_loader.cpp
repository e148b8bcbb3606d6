#include "bindings/modules/batch_loader.hpp"

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
  changed_.wait(lock, [this] { return done_ > 0; });
  const Misfit misfit = batches_.front().misfit;
  batches_.pop_front();
  --done_;
  return misfit;
}

void BatchLoader::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return quit_ || done_ < batches_.size(); });
    if (quit_) return;
    Batch& batch = batches_[done_];  // stays where it is while others are put behind it or taken before it
    lock.unlock();
    batch.misfit = gather(batch);
    lock.lock();
    ++done_;
    changed_.notify_all();
  }
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
