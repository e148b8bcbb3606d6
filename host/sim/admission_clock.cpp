#include "host/sim/admission_clock.hpp"

#include <algorithm>

namespace actorhost {

void ClockAdmission::completed(NodeId id, double /*now*/) {
  fresh_.push_back(id);
  ++waiting_;
}

void ClockAdmission::left(NodeId id) {
  const int32_t step = clocks_.step(id);
  if (std::erase(fresh_, id) > 0) {
    --waiting_;
  } else if (step >= base_ && static_cast<size_t>(step - base_) < waiters_.size()) {
    std::vector<Waiter>& waiters = waiters_[static_cast<size_t>(step - base_)];
    waiting_ -= static_cast<uint32_t>(std::erase_if(waiters, [id](const Waiter& w) { return w.id == id; }));
  }
}

std::vector<ClockAdmission::Waiter>& ClockAdmission::waiters_at(int32_t step) {
  if (waiters_.empty()) base_ = step;
  for (; step < base_; --base_) waiters_.emplace_front();
  while (waiters_.size() <= static_cast<size_t>(step - base_)) waiters_.emplace_back();
  return waiters_[static_cast<size_t>(step - base_)];
}

Status ClockAdmission::decide(double /*now*/, std::vector<NodeId>& passed) {
  if (staleness_ == NativeRule::kFree) {
    checks_ += fresh_.size();
    waiting_ = 0;
    passed.insert(passed.end(), fresh_.begin(), fresh_.end());
    fresh_.clear();
    return {};
  }
  const int32_t floor = clocks_.size() > 0 ? clocks_.min() : floor_;
  const bool moved = floor != floor_ || clocks_.layout() != layout_;
  checks_ += moved ? waiting_ : fresh_.size();
  for (const NodeId id : fresh_) {
    const int32_t step = clocks_.step(id);
    ++tickets_;
    if (!moved && step <= floor + staleness_) {
      passed.push_back(id);
      --waiting_;
    } else if (const auto row = static_cast<size_t>(step - base_); step >= base_ && row < waiters_.size()) {
      waiters_[row].push_back({id, tickets_});
    } else {
      waiters_at(step).push_back({id, tickets_});
    }
  }
  fresh_.clear();
  if (!moved) return {};
  floor_ = floor;
  layout_ = clocks_.layout();
  release(passed);
  return {};
}

// Orders the passing nodes by their requests, over all steps.
void ClockAdmission::release(std::vector<NodeId>& passed) {
  passing_.clear();
  size_t steps = 0;
  while (!waiters_.empty() && base_ <= floor_ + staleness_) {
    steps += waiters_.front().empty() ? 0 : 1;
    passing_.insert(passing_.end(), waiters_.front().begin(), waiters_.front().end());
    waiters_.pop_front();
    ++base_;
  }
  if (steps > 1) {
    std::sort(passing_.begin(), passing_.end(), [](const Waiter& a, const Waiter& b) { return a.ticket < b.ticket; });
  }
  for (const Waiter& waiter : passing_) passed.push_back(waiter.id);
  waiting_ -= static_cast<uint32_t>(passing_.size());
}

}  // namespace actorhost
