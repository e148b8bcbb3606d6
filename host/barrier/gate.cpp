#include "host/barrier/gate.hpp"

#include <algorithm>

namespace actorhost {

Status BarrierRule::decide_partly(const Progress& /*progress*/, Slot /*requester*/, const PartialSight& /*sight*/,
                                  double /*now*/, Decision& /*out*/) {
  return Error{Code::unsupported, "this rule has to know all clocks"};
}

bool Waiting::request(NodeId id, double now) {
  const Slot slot = progress_.slot(id);
  if (slot == kNoSlot) return false;
  if (progress_.tickets()[slot] != 0) return true;
  progress_.request(id, now);
  waiters_.push_back(Waiter{id, progress_.tickets()[slot], -kForever});
  return true;
}

bool Waiting::state_changed(Watch watch) const noexcept {
  if (all_due_ || progress_.layout() != seen_layout_) return true;
  switch (watch) {
    case Watch::floor: return progress_.size() > 0 && progress_.min() != seen_floor_;
    case Watch::event: return progress_.changes() != seen_changes_;
    case Watch::timer:
    case Watch::worker: break;
  }
  return false;
}

bool Waiting::reached(NodeId id, int32_t step) const noexcept {
  const Slot slot = progress_.slot(id);
  return slot == kNoSlot || progress_.steps()[slot] >= step;
}

bool Waiting::some_reached() const noexcept {
  if (progress_.changes() == seen_changes_) return false;
  return some_unnamed_ || std::any_of(awaited_.begin(), awaited_.end(),
                                      [this](const auto& one) { return reached(one.first, one.second); });
}

std::span<const Slot> Waiting::begin(double now, Watch watch) {
  const bool all = state_changed(watch) || (watch == Watch::worker && watch_ != Watch::worker);
  const bool some = !all && watch == Watch::worker && some_reached();
  watch_ = watch;
  now_ = now;
  from_ = all || some || now >= next_time_ ? 0 : fresh_;
  pick(all, some);
  // Until finish, a repeated begin picks all workers, because this round's answers may be lost.
  all_due_ = all_due_ || !requesters_.empty();
  decisions_.assign(requesters_.size(), Decision{});
  return requesters_;
}

void Waiting::pick(bool all, bool reached_too) {
  picked_.clear();
  requesters_.clear();
  for (size_t i = from_; i < waiters_.size(); ++i) {
    Waiter& waiter = waiters_[i];
    const Slot slot = progress_.slot(waiter.id);
    const bool waits = waiter.ticket != 0 && slot != kNoSlot && progress_.tickets()[slot] == waiter.ticket;
    if (!waits) {
      waiter.ticket = 0;
    } else if (all || waiter.due <= now_ ||
               (reached_too && (waiter.step == 0 || reached(waiter.worker, waiter.step)))) {
      picked_.push_back(i);
      requesters_.push_back(slot);
    }
  }
}

// Notes the recheck time and the awaited worker of a waiter.
void Waiting::await(const Waiter& waiter) {
  next_time_ = std::min(next_time_, waiter.due);
  if (watch_ != Watch::worker) return;
  if (waiter.step == 0) {
    some_unnamed_ = true;
    return;
  }
  const auto [at, first] = awaited_.try_emplace(waiter.worker, waiter.step);
  if (!first) at->second = std::min(at->second, waiter.step);
}

void Waiting::finish(std::vector<NodeId>& passed) {
  for (size_t k = 0; k < picked_.size(); ++k) {
    Waiter& waiter = waiters_[picked_[k]];
    if (decisions_[k].pass) {
      progress_.pass(waiter.id);
      passed.push_back(waiter.id);
      waiter.ticket = 0;
      ++passed_;
    } else {
      ++refused_;
      waiter.due = now_ + std::max(decisions_[k].recheck_seconds, kMinRecheck);
      waiter.worker = decisions_[k].worker;
      waiter.step = decisions_[k].step;
    }
  }
  if (from_ == 0) {
    next_time_ = kForever;
    awaited_.clear();
    some_unnamed_ = false;
  }
  size_t retained = from_;
  for (size_t i = from_; i < waiters_.size(); ++i) {
    if (waiters_[i].ticket == 0) continue;
    await(waiters_[i]);
    waiters_[retained++] = waiters_[i];
  }
  waiters_.resize(retained);
  fresh_ = retained;
  picked_.clear();
  all_due_ = false;
  seen_layout_ = progress_.layout();
  seen_changes_ = progress_.changes();
  if (progress_.size() > 0) seen_floor_ = progress_.min();
}

void Gate::set_rule(BarrierRule& rule) {
  rule_ = &rule;
  rule_version_ = rule.version();
  waiting_.mark_all_due();
}

Status Gate::poll(double now, std::vector<NodeId>& passed) {
  if (rule_->version() != rule_version_) set_rule(*rule_);
  const std::span<const Slot> requesters = waiting_.begin(now, rule_->watch());
  if (!requesters.empty()) AH_TRY(rule_->decide(progress_, requesters, now, waiting_.decisions()));
  waiting_.finish(passed);
  return {};
}

}  // namespace actorhost
