#include "host/engine/average/replica.hpp"

#include <utility>

namespace actorhost {

AverageReplica::AverageReplica(const std::vector<AverageModel::Part>& parts, double long_step, const Clock& clock,
                               std::function<void()> wake_courier)
    : model_(parts), long_step_(long_step), clock_(clock), wake_courier_(std::move(wake_courier)) {}

Status AverageReplica::raise_fault() {
  if (std::exchange(fault_reported_, true)) return {};
  return Error{Code::bad_argument, fault_};
}

Status AverageReplica::lock() {
  const double start = clock_.now();
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) {
    lock.lock();
    stats_.waiting += clock_.now() - start;
  }
  AH_TRY(raise_fault());
  if (last_step_ >= long_step_ && copy_state_ != CopyState::copied && !change_) {
    const double from = clock_.now();
    make_copy();
    has_step_copy_ = fault_.empty();
    stats_.copying += clock_.now() - from;
    AH_TRY(raise_fault());
  }
  held_ = true;
  since_ = clock_.now();
  return {};
}

Status AverageReplica::unlock() {
  std::lock_guard lock(mutex_);
  held_ = false;
  has_step_copy_ = false;
  const double now = clock_.now();
  last_step_ = now - since_;
  ++stats_.steps;
  return serve_rounds(now);
}

Status AverageReplica::pause() {
  std::lock_guard lock(mutex_);
  has_step_copy_ = false;
  return serve_rounds(clock_.now());
}

/// Does the pending requests of rounds.
Status AverageReplica::serve_rounds(double now) {
  if (copy_state_ != CopyState::requested && !change_) return {};
  work();
  stats_.copying += clock_.now() - now;
  wake_courier_();
  return raise_fault();
}

bool AverageReplica::held() const {
  std::lock_guard lock(mutex_);
  return held_;
}

AverageReplica::Stats AverageReplica::stats() const {
  std::lock_guard lock(mutex_);
  Stats out = stats_;
  out.age = stats_.steps - changed_step_;
  return out;
}

/// Does the work between two steps: first the change, so that the next copy includes it.
void AverageReplica::work() {
  if (change_) change(*std::exchange(change_, std::nullopt));
  if (copy_state_ != CopyState::requested) return;
  make_copy();
  copy_state_ = fault_.empty() ? CopyState::copied : CopyState::refused;
}

void AverageReplica::make_copy() {
  copy_step_ = stats_.steps;
  fault_ = model_.copy_to(copy_);
  if (!fault_.empty()) fault_reported_ = false;
}

void AverageReplica::change(const Change& pending) {
  stats_.distance = model_.change(pending.result, pending.copy);
  ++stats_.rounds;
  stats_.staleness = stats_.steps - pending.step;
  stats_.all_staleness += stats_.staleness;
  changed_step_ = stats_.steps;
}

void AverageReplica::free_copy() {
  std::lock_guard lock(mutex_);
  const bool in_use = copy_state_ == CopyState::requested || copy_state_ == CopyState::copied;
  if (!in_use && !change_) copy_ = {};
}

void AverageReplica::expect() {
  std::lock_guard lock(mutex_);
  awaits_outcome_ = true;
  outcome_.reset();
}

bool AverageReplica::settled() const {
  std::lock_guard lock(mutex_);
  return outcome_.has_value();
}

Status AverageReplica::outcome() {
  std::lock_guard lock(mutex_);
  awaits_outcome_ = false;
  if (!outcome_->ok()) fault_reported_ = true;  // the error explains a refusal of this model
  return *std::exchange(outcome_, std::nullopt);
}

void AverageReplica::set_wake(std::function<void()> wake) {
  std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
}

void AverageReplica::settle(Status outcome) {
  std::function<void()> wake;
  {
    std::lock_guard lock(mutex_);
    if (!awaits_outcome_ || outcome_) return;
    outcome_ = std::move(outcome);
    wake = wake_;
  }
  if (wake) wake();
}

void AverageReplica::request_copy() {
  std::lock_guard lock(mutex_);
  copy_state_ = CopyState::requested;
  if (!held_) return work();
  if (has_step_copy_) {
    copy_state_ = CopyState::copied;
  } else if (change_ && last_step_ >= long_step_) {
    copy_state_ = CopyState::refused;
  }
}

AverageReplica::Copied AverageReplica::copied() const {
  std::lock_guard lock(mutex_);
  return copy_state_ == CopyState::copied    ? Copied::yes
         : copy_state_ == CopyState::refused ? Copied::refused
                                             : Copied::no;
}

std::string AverageReplica::fault() const {
  std::lock_guard lock(mutex_);
  return fault_;
}

Blob AverageReplica::copy() const {
  std::lock_guard lock(mutex_);
  return copy_;
}

void AverageReplica::forget_copy(bool missed) {
  std::lock_guard lock(mutex_);
  copy_state_ = CopyState::none;
  if (missed) ++stats_.missed;
}

void AverageReplica::apply(const AverageResult& result, bool full, uint64_t bytes_sent) {
  std::lock_guard lock(mutex_);
  stats_.bytes += bytes_sent;
  change_ = Change{result, full ? Blob() : copy_, copy_step_};
  copy_state_ = CopyState::none;
  has_step_copy_ = false;
  if (!held_) work();
}

void AverageReplica::broken() {
  std::lock_guard lock(mutex_);
  copy_state_ = CopyState::none;
  ++stats_.broken;
}

}  // namespace actorhost
