#include "host/cluster/progress_gate.hpp"

#include <algorithm>

namespace actorhost {

void Gate::set_rule(BarrierRule& rule) {
  rule_ = &rule;
  ask_all_ = true;
}

bool Gate::ask(NodeId id, double now) {
  const Slot before = progress_.slot(id);
  if (before == kNoSlot) return false;
  if (progress_.tickets()[before] != 0) return true;
  progress_.ask(id, now);
  waiters_.push_back(Waiter{id, progress_.tickets()[before], -kForever});
  return true;
}

bool Gate::state_changed() const noexcept {
  if (ask_all_ || progress_.layout() != seen_layout_) return true;
  switch (rule_->watch()) {
    case Watch::floor:
      return progress_.size() > 0 && progress_.min() != seen_floor_;
    case Watch::event:
      return progress_.changes() != seen_changes_;
    case Watch::timer:
      break;
  }
  return false;
}

void Gate::remember_state() noexcept {
  ask_all_ = false;
  seen_layout_ = progress_.layout();
  seen_changes_ = progress_.changes();
  if (progress_.size() > 0) seen_floor_ = progress_.min();
}

void Gate::pick(size_t from, bool all, double now) {
  picked_.clear();
  asking_.clear();
  for (size_t i = from; i < waiters_.size(); ++i) {
    Waiter& waiter = waiters_[i];
    const Slot slot = progress_.slot(waiter.id);
    if (slot == kNoSlot || progress_.tickets()[slot] != waiter.ticket) {
      waiter.ticket = 0;
    } else if (all || waiter.due <= now) {
      picked_.push_back(i);
      asking_.push_back(slot);
    }
  }
}

void Gate::apply(size_t from, double now, std::vector<NodeId>& passed) {
  for (size_t k = 0; k < picked_.size(); ++k) {
    Waiter& waiter = waiters_[picked_[k]];
    if (decisions_[k].pass) {
      progress_.pass(waiter.id);
      passed.push_back(waiter.id);
      waiter.ticket = 0;
    } else {
      waiter.due = now + std::max(decisions_[k].recheck_seconds, kMinRecheck);
    }
  }
  size_t kept = from;
  for (size_t i = from; i < waiters_.size(); ++i) {
    if (waiters_[i].ticket == 0) continue;
    next_time_ = std::min(next_time_, waiters_[i].due);
    waiters_[kept++] = waiters_[i];
  }
  waiters_.resize(kept);
}

Status Gate::poll(double now, std::vector<NodeId>& passed) {
  const bool all = state_changed();
  const size_t from = all || now >= next_time_ ? 0 : fresh_;
  remember_state();
  if (from == 0) next_time_ = kForever;
  if (from < waiters_.size()) {
    pick(from, all, now);
    decisions_.assign(asking_.size(), Decision{});
    if (!asking_.empty()) AH_TRY(rule_->decide(progress_, asking_, now, decisions_));
    apply(from, now, passed);
  }
  fresh_ = waiters_.size();
  return {};
}

}  // namespace actorhost
