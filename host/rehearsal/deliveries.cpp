#include "host/rehearsal/deliveries.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace actorhost::rehearsal {

Deliveries::Deliveries(Scheduler& of, const NetworkSettings& with)
    : scheduler(of), chart(with.chart), settings_(with), latencies_(scheduler.random(UINT64_MAX)), task_([this] {
        serve();
      }) {}

Deliveries::~Deliveries() {
  ending_ = true;
  scheduler.wake(&queue_, true);
  task_.join();
}

void Deliveries::post(Time at, std::function<void()> run) {
  queue_.push_back({at, ++posted_, std::move(run)});
  std::ranges::push_heap(queue_, std::greater());
  scheduler.wake(&queue_, true);
}

void Deliveries::serve() {
  std::unique_lock lock(mutex);
  while (!ending_) {
    const Time next = queue_.empty() ? 0 : queue_.front().at;
    if (next == 0 || next > scheduler.time()) {
      lock.unlock();
      scheduler.park_until(&queue_, next);
      lock.lock();
      continue;
    }
    std::ranges::pop_heap(queue_, std::greater());
    const std::function<void()> run = std::move(queue_.back().run);
    queue_.pop_back();
    run();
  }
}

std::array<Deliveries::Hop, 4> Deliveries::path(uint32_t from, uint32_t to) const {
  const NetworkShape& shape = settings_.shape;
  const double between = group_of(from) == group_of(to) ? 0 : shape.between.bandwidth;
  return {{{{Lane::host_out, from}, shape.bandwidth_of(from)},
           {{Lane::group_out, group_of(from)}, between},
           {{Lane::group_in, group_of(to)}, between},
           {{Lane::host_in, to}, shape.bandwidth_of(to)}}};
}

Time Deliveries::arrival(uint32_t from, uint32_t to, size_t bytes) {
  const Time now = scheduler.time();
  Time leaves = now;
  if (from != to) {
    for (const Hop& hop : path(from, to)) {
      if (hop.bandwidth == 0) continue;
      Time& free = free_[hop.lane];
      free = std::max(free, now) + time_of(static_cast<double>(bytes) / hop.bandwidth);
      leaves = std::max(leaves, free);
    }
  }
  for (const Cut& cut : cuts) {
    const bool leaving = cut.part.contains(from) && !cut.part.contains(to);
    const bool entering = !cut.part.contains(from) && cut.part.contains(to);
    if (leaving || (cut.both && entering)) leaves = std::max(leaves, cut.until);
  }
  const NetworkShape::Link& link = group_of(from) == group_of(to) ? settings_.shape.within : settings_.shape.between;
  return leaves + time_of(link.latency.draw(latencies_));
}

size_t Deliveries::window(uint32_t from, uint32_t to) const {
  constexpr size_t kLeast = size_t{256} << 10;
  constexpr double kMost = 64 << 20;
  double narrowest = 0;
  for (const Hop& hop : path(from, to)) {
    if (hop.bandwidth != 0 && (narrowest == 0 || hop.bandwidth < narrowest)) narrowest = hop.bandwidth;
  }
  const NetworkShape::Link& link = group_of(from) == group_of(to) ? settings_.shape.within : settings_.shape.between;
  return std::max(kLeast, static_cast<size_t>(std::min(kMost, 2 * narrowest * link.latency.mean())));
}

}  // namespace actorhost::rehearsal
