#include "host/rehearsal/deliveries.hpp"

#include <algorithm>
#include <utility>

namespace actorhost::rehearsal {

Deliveries::Deliveries(Scheduler& of, const NetworkSettings& with)
    : scheduler(of), settings(with), task_([this] { serve(); }) {}

Deliveries::~Deliveries() {
  ending_ = true;
  scheduler.wake(&queue_, true);
  task_.join();
}

void Deliveries::post(Time at, std::function<void()> run) {
  queue_.push({at, ++posted_, std::move(run)});
  scheduler.wake(&queue_, true);
}

void Deliveries::serve() {
  std::unique_lock lock(mutex);
  while (!ending_) {
    const Time next = queue_.empty() ? 0 : queue_.top().at;
    if (next == 0 || next > scheduler.time()) {
      lock.unlock();
      scheduler.park_until(&queue_, next);
      lock.lock();
      continue;
    }
    const std::function<void()> run = queue_.top().run;
    queue_.pop();
    run();
  }
}

Time Deliveries::latency() const {
  return settings.latency + (settings.jitter != 0 ? scheduler.random(settings.jitter) : 0);
}

Time Deliveries::arrival(uint32_t from, uint32_t to) const {
  Time leaves = scheduler.time();
  for (const Cut& cut : cuts) {
    if (cut.from.contains(from) && cut.to.contains(to)) leaves = std::max(leaves, cut.until);
  }
  return leaves + latency();
}

}  // namespace actorhost::rehearsal
