#include "host/barrier/progress.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace actorhost {

void StepCounts::add(int32_t step) {
  if (total_ == 0) {
    counts_.assign(1, 0);
    base_ = min_ = max_ = step;
  }
  if (step < base_) {
    counts_.insert(counts_.begin(), static_cast<size_t>(base_ - step), 0);
    base_ = step;
  }
  const auto needed = static_cast<size_t>(step - base_) + 1;
  if (counts_.size() < needed) counts_.resize(needed, 0);
  ++count(step);
  ++total_;
  min_ = std::min(min_, step);
  max_ = std::max(max_, step);
}

void StepCounts::remove(int32_t step) {
  assert(total_ > 0 && count(step) > 0);
  --count(step);
  --total_;
  if (total_ > 0) settle();
}

void StepCounts::advance(int32_t step) {
  assert(total_ > 0 && count(step) > 0);
  const auto next = static_cast<size_t>(step - base_) + 1;
  if (next == counts_.size()) counts_.push_back(0);
  --counts_[next - 1];
  ++counts_[next];
  max_ = std::max(max_, step + 1);
  if (step == min_) settle();
}

void StepCounts::settle() {
  while (count(min_) == 0) ++min_;
  while (count(max_) == 0) --max_;
  // Removes the steps below the minimum in one piece, once they are most of the array.
  const auto dead = static_cast<size_t>(min_ - base_);
  if (dead < 64 || dead < counts_.size() / 2) return;
  counts_.erase(counts_.begin(), counts_.begin() + static_cast<std::ptrdiff_t>(dead));
  base_ = min_;
}

uint32_t StepCounts::below(int64_t step) const noexcept {
  if (total_ == 0 || step <= min_) return 0;
  if (step > max_) return total_;
  uint32_t sum = 0;
  for (int32_t s = min_; s < step; ++s) sum += counts_[static_cast<size_t>(s - base_)];
  return sum;
}

int32_t StepCounts::at_rank(uint32_t rank) const noexcept {
  assert(rank >= 1 && rank <= total_);
  int32_t step = min_;
  for (uint32_t sum = counts_[static_cast<size_t>(step - base_)]; sum < rank;) {
    ++step;
    sum += counts_[static_cast<size_t>(step - base_)];
  }
  return step;
}

Status Progress::add(NodeId id, int32_t step) {
  const std::string name = "worker " + std::to_string(id);
  if (id > kMaxId) return Error{Code::bad_argument, name + ": ids go up to " + std::to_string(kMaxId)};
  if (slot(id) != kNoSlot || parked(id)) return Error{Code::bad_argument, name + " is known already"};
  if (step < 0) return Error{Code::bad_argument, name + ": step " + std::to_string(step) + " is negative"};
  if (size() > 0 && std::max(step, max()) - std::min(step, min()) > kMaxSpread) {
    return Error{Code::bad_argument, name + ": step " + std::to_string(step) + " is more than " +
                                         std::to_string(kMaxSpread) + " away from the other workers"};
  }
  insert(id, Parked{step, 0, 0, 0, 1});
  return {};
}

Status Progress::add(NodeId id, const WorkerState& state) {
  AH_TRY(add(id, state.step));
  const Slot at = slot(id);
  busy_[at] = state.busy ? 1 : 0;
  started_[at] = state.started;
  durations_[at] = state.duration;
  averages_[at] = state.average;
  return {};
}

Status Progress::join(NodeId id, int32_t first) { return add(id, size() > 0 ? min() : first); }

void Progress::insert(NodeId id, const Parked& worker) {
  const Slot slot = size();
  slots_.set(id, slot);
  ids_.push_back(id);
  steps_.push_back(worker.step);
  busy_.push_back(0);
  alive_.push_back(worker.alive);
  pulled_.push_back(worker.pulled);
  durations_.push_back(worker.duration);
  averages_.push_back(worker.average);
  started_.push_back(0);
  requested_.push_back(0);
  tickets_.push_back(0);
  if (everyone_.size() < ids_.size()) everyone_.push_back(slot);
  counts_.add(worker.step);
  ++layout_;
  ++changes_;
}

void Progress::erase(Slot slot) {
  counts_.remove(steps_[slot]);
  if (tickets_[slot] != 0) --waiting_;
  slots_.set(ids_.back(), slot);  // the last worker moves into the gap
  const auto close = [slot](auto& array) {
    array[slot] = array.back();
    array.pop_back();
  };
  close(ids_), close(steps_), close(busy_), close(alive_), close(pulled_);
  close(durations_), close(averages_), close(started_), close(requested_), close(tickets_);
  ++layout_;
  ++changes_;
}

bool Progress::remove(NodeId id) {
  const Slot at = slot(id);
  if (at == kNoSlot) return parked_.erase(id) != 0;
  erase(at);
  slots_.set(id, kNoSlot);
  return true;
}

bool Progress::park(NodeId id) {
  const Slot at = slot(id);
  if (at == kNoSlot) return false;
  parked_[id] = Parked{steps_[at], pulled_[at], durations_[at], averages_[at], alive_[at]};
  erase(at);
  slots_.set(id, kNoSlot);
  return true;
}

bool Progress::unpark(NodeId id) {
  const auto found = parked_.find(id);
  if (found == parked_.end()) return false;
  Parked worker = found->second;
  if (size() > 0) worker.step = std::max(worker.step, min());
  parked_.erase(found);
  insert(id, worker);
  return true;
}

bool Progress::start(NodeId id, double now) {
  const Slot at = slot(id);
  if (at == kNoSlot) return false;
  busy_[at] = 1;
  started_[at] = now;
  return true;
}

bool Progress::complete(NodeId id, double now) {
  const Slot at = slot(id);
  if (at == kNoSlot) return false;
  if (busy_[at] != 0) {
    durations_[at] = now - started_[at];
    averages_[at] = averaged(averages_[at], durations_[at]);
  }
  busy_[at] = 0;
  counts_.advance(steps_[at]++);
  ++events_;
  ++changes_;
  return true;
}

bool Progress::pulled(NodeId id, double version) {
  const Slot at = slot(id);
  if (at == kNoSlot) return false;
  pulled_[at] = version;
  return true;
}

bool Progress::suspect(NodeId id, bool suspected) {
  const auto alive = static_cast<uint8_t>(suspected ? 0 : 1);
  const Slot at = slot(id);
  if (at == kNoSlot) {
    const auto found = parked_.find(id);
    if (found != parked_.end()) found->second.alive = alive;
    return false;
  }
  if (alive_[at] != alive) ++changes_;
  alive_[at] = alive;
  return true;
}

bool Progress::request(NodeId id, double now) {
  const Slot at = slot(id);
  if (at == kNoSlot) return false;
  if (tickets_[at] != 0) return true;
  tickets_[at] = ++requests_;
  requested_[at] = now;
  ++waiting_;
  return true;
}

bool Progress::pass(NodeId id) {
  const Slot at = slot(id);
  if (at == kNoSlot || tickets_[at] == 0) return false;
  tickets_[at] = 0;
  --waiting_;
  return true;
}

double Progress::quantile(double q) const noexcept {
  if (size() == 0) return std::numeric_limits<double>::infinity();
  const double rank = std::ceil(std::clamp(q, 0.0, 1.0) * size());
  return counts_.at_rank(std::max(1U, static_cast<uint32_t>(rank)));
}

}  // namespace actorhost
