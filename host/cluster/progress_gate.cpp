#include "host/cluster/progress_gate.hpp"

#include <algorithm>

namespace actorhost {

Status BarrierRule::decide_partly(const Progress& /*progress*/, Slot /*asking*/, const PartialSight& /*sight*/,
                                  double /*now*/, Decision& /*out*/) {
  return Error{Code::unsupported, "this rule has to know all clocks"};
}

bool Waiting::ask(NodeId id, double now) {
  const Slot slot = progress_.slot(id);
  if (slot == kNoSlot) return false;
  if (progress_.tickets()[slot] != 0) return true;
  progress_.ask(id, now);
  waiters_.push_back(Waiter{id, progress_.tickets()[slot], -kForever});
  return true;
}

bool Waiting::state_changed(Watch watch) const noexcept {
  if (ask_all_ || progress_.layout() != seen_layout_) return true;
  switch (watch) {
    case Watch::floor: return progress_.size() > 0 && progress_.min() != seen_floor_;
    case Watch::event: return progress_.changes() != seen_changes_;
    case Watch::timer: break;
  }
  return false;
}

std::span<const Slot> Waiting::begin(double now, Watch watch) {
  const bool all = state_changed(watch);
  now_ = now;
  from_ = all || now >= next_time_ ? 0 : fresh_;
  pick(all);
  // Until finish, a repeated begin asks about everybody: this round's answers may have got lost.
  ask_all_ = ask_all_ || !asking_.empty();
  decisions_.assign(asking_.size(), Decision{});
  return asking_;
}

void Waiting::pick(bool all) {
  picked_.clear();
  asking_.clear();
  for (size_t i = from_; i < waiters_.size(); ++i) {
    Waiter& waiter = waiters_[i];
    const Slot slot = progress_.slot(waiter.id);
    const bool waits = waiter.ticket != 0 && slot != kNoSlot && progress_.tickets()[slot] == waiter.ticket;
    if (!waits) {
      waiter.ticket = 0;
    } else if (all || waiter.due <= now_) {
      picked_.push_back(i);
      asking_.push_back(slot);
    }
  }
}

void Waiting::finish(std::vector<NodeId>& passed) {
  for (size_t k = 0; k < picked_.size(); ++k) {
    Waiter& waiter = waiters_[picked_[k]];
    if (decisions_[k].pass) {
      progress_.pass(waiter.id);
      passed.push_back(waiter.id);
      waiter.ticket = 0;
    } else {
      waiter.due = now_ + std::max(decisions_[k].recheck_seconds, kMinRecheck);
    }
  }
  if (from_ == 0) next_time_ = kForever;
  size_t kept = from_;
  for (size_t i = from_; i < waiters_.size(); ++i) {
    if (waiters_[i].ticket == 0) continue;
    next_time_ = std::min(next_time_, waiters_[i].due);
    waiters_[kept++] = waiters_[i];
  }
  waiters_.resize(kept);
  fresh_ = kept;
  picked_.clear();
  ask_all_ = false;
  seen_layout_ = progress_.layout();
  seen_changes_ = progress_.changes();
  if (progress_.size() > 0) seen_floor_ = progress_.min();
}

void Gate::set_rule(BarrierRule& rule) {
  rule_ = &rule;
  rule_version_ = rule.version();
  waiting_.ask_everybody();
}

Status Gate::poll(double now, std::vector<NodeId>& passed) {
  if (rule_->version() != rule_version_) set_rule(*rule_);
  const std::span<const Slot> asking = waiting_.begin(now, rule_->watch());
  if (!asking.empty()) AH_TRY(rule_->decide(progress_, asking, now, waiting_.decisions()));
  waiting_.finish(passed);
  return {};
}

}  // namespace actorhost
