#include "host/sim/admission_event.hpp"

#include <algorithm>
#include <cmath>

namespace actorhost {

EventAdmission::EventAdmission(const Clocks& clocks, uint32_t beta, int32_t staleness, uint64_t seed)
    : Admission(clocks), beta_(beta), staleness_(staleness), rng_(seed, kFirstSalt), fuse_(rng_.exponential()) {}

// Extends below_ to one step beyond `step`.
void EventAdmission::reach(int32_t step) {
  while (below_.size() <= static_cast<size_t>(step) + 1) below_.push_back(clocks_.size());
}

void EventAdmission::joined(NodeId id) {
  changed_ = true;
  const int32_t step = clocks_.step(id);
  while (below_.size() <= static_cast<size_t>(step) + 1) below_.push_back(clocks_.size() - 1);
  for (size_t k = static_cast<size_t>(step) + 1; k < below_.size(); ++k) ++below_[k];
}

void EventAdmission::left(NodeId id) {
  changed_ = true;
  const auto step = static_cast<size_t>(clocks_.step(id));
  for (size_t k = step + 1; k < below_.size(); ++k) --below_[k];
  if (step < groups_.size()) waiting_ -= static_cast<uint32_t>(std::erase(groups_[step], id));
}

void EventAdmission::completed(NodeId id, double /*now*/) {
  changed_ = true;
  const int32_t step = clocks_.step(id);
  reach(step);
  --below_[static_cast<size_t>(step)];
  if (groups_.size() <= static_cast<size_t>(step)) groups_.resize(static_cast<size_t>(step) + 1);
  groups_[static_cast<size_t>(step)].push_back(id);
  lowest_ = waiting_ == 0 ? static_cast<size_t>(step) : std::min(lowest_, static_cast<size_t>(step));
  ++waiting_;
}

uint32_t EventAdmission::behind(size_t step) const noexcept {
  const auto bound = static_cast<size_t>(staleness_);
  return step > bound ? below_[step - bound] : 0;
}

double EventAdmission::hazard(uint32_t behind) {
  const uint32_t n = clocks_.size();
  if (n != hazards_size_) {
    hazards_.assign(size_t{n} + 1, NAN);
    hazards_size_ = n;
  }
  double& known = hazards_[behind];
  if (!std::isnan(known)) return known;
  double pass = 1;
  for (uint32_t i = 0; i < std::min(beta_, n) && pass > 0; ++i) {
    pass *= n > behind + i ? static_cast<double>(n - behind - i) / (n - i) : 0;
  }
  // log(1 - p) would lose the digits of a small p.
  known = pass < 1e-5 ? pass + pass * pass / 2 : -log_of(1 - pass);
  return known;
}

Status EventAdmission::decide(double /*now*/, std::vector<NodeId>& passed) {
  if (!changed_) return {};
  changed_ = false;
  checks_ += waiting_;
  for (size_t step = lowest_; step < groups_.size(); ++step) {
    if (!groups_[step].empty()) try_group(step, passed);
    if (step == lowest_ && groups_[step].empty()) ++lowest_;
  }
  return {};
}

void EventAdmission::try_group(size_t step, std::vector<NodeId>& passed) {
  std::vector<NodeId>& waiters = groups_[step];
  const uint32_t behind = this->behind(step);
  if (behind == 0 || beta_ == 0) {
    passed.insert(passed.end(), waiters.begin(), waiters.end());
    waiting_ -= static_cast<uint32_t>(waiters.size());
    waiters.clear();
    return;
  }
  const double each = hazard(behind);
  for (size_t tried = 0; tried < waiters.size();) {
    const double all = each * static_cast<double>(waiters.size() - tried);
    if (fuse_ >= all) {  // also when both are 0: no worker passes with probability 0
      fuse_ -= all;
      return;
    }
    // The fuse ends within this group, at trial fuse_ / each from here.
    tried += std::min(static_cast<size_t>(fuse_ / each), waiters.size() - tried - 1);
    passed.push_back(waiters[tried]);
    waiters[tried] = waiters.back();  // the last waiter, not tried yet, takes this place and is tried next
    waiters.pop_back();
    --waiting_;
    fuse_ = rng_.exponential();
  }
}

}  // namespace actorhost
