#include "host/sim/admission_step.hpp"

#include <algorithm>

namespace actorhost {

void StepAdmission::requested(NodeId id, double now) {
  progress_.request(id, now);
  waiting_ = progress_.waiting();
  const int32_t step = progress_.steps()[progress_.slot(id)];
  const auto at = std::find_if(groups_.begin(), groups_.end(), [step](const Group& one) { return one.step == step; });
  if (at != groups_.end()) return at->ids.push_back(id);
  groups_.push_back(Group{step, {id}, 0});
}

void StepAdmission::left(NodeId id) {
  ProgressAdmission::left(id);
  const auto departed = [this](NodeId one) { return progress_.slot(one) == kNoSlot; };
  const auto led = [id](const Group& one) { return one.ids[one.first] == id; };
  const auto at = std::find_if(groups_.begin(), groups_.end(), led);
  if (at == groups_.end()) return;
  while (at->first < at->ids.size() && departed(at->ids[at->first])) ++at->first;
  if (at->first == at->ids.size()) {
    groups_.erase(at);
  } else {
    std::sort(groups_.begin(), groups_.end(), [this](const Group& a, const Group& b) { return ticket(a) < ticket(b); });
  }
}

// Every request changes the clocks, so the rule runs for all waiting workers or for none.
Status StepAdmission::decide(double now, std::vector<NodeId>& passed) {
  if (progress_.changes() == seen_changes_) return {};
  seen_changes_ = progress_.changes();
  if (groups_.empty()) return {};
  first_waiters_.clear();
  for (const Group& group : groups_) first_waiters_.push_back(progress_.slot(group.ids[group.first]));
  decisions_.assign(groups_.size(), Decision{});
  checks_ += waiting_;
  AH_TRY(rule_.decide(progress_, first_waiters_, now, decisions_));
  pass(passed);
  waiting_ = progress_.waiting();
  return {};
}

void StepAdmission::pass(std::vector<NodeId>& passed) {
  passing_.clear();
  size_t remaining = 0;
  for (size_t i = 0; i < groups_.size(); ++i) {
    Group& group = groups_[i];
    if (!decisions_[i].pass) {
      if (remaining != i) groups_[remaining] = std::move(group);
      ++remaining;
      continue;
    }
    for (size_t k = group.first; k < group.ids.size(); ++k) {
      const NodeId id = group.ids[k];
      if (progress_.slot(id) != kNoSlot) passing_.emplace_back(ticket(id), id);
    }
  }
  groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(remaining), groups_.end());
  std::sort(passing_.begin(), passing_.end());
  for (const auto& [ticket, id] : passing_) {
    progress_.pass(id);
    passed.push_back(id);
  }
}

}  // namespace actorhost
