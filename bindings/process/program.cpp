#include "bindings/process/program.hpp"

#include <algorithm>
#include <utility>

namespace actorhost {

void ProgramCall::give(uint32_t rank, std::vector<ProgramValue> values) {
  std::lock_guard lock(mutex_);
  if (!ended_) values_[rank] = std::move(values);
}

void ProgramCall::write(std::string_view output) {
  std::lock_guard lock(mutex_);
  output_ += output;
}

void ProgramCall::end(const Status& how) {
  std::lock_guard lock(mutex_);
  if (std::exchange(ended_, true)) return;
  result_ = how;
  changed_.notify_all();
}

bool ProgramCall::wait(double seconds) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, seconds, [this] { return ended_; });
}

std::string ProgramCall::take_output() {
  std::lock_guard lock(mutex_);
  return std::exchange(output_, {});
}

namespace {

void end_with(ProgramCall& call, const ProgramValue& summary) {
  call.give(0, {summary});
  call.end(Error{Code::aborted, "the run has ended"});
}

}  // namespace

void Program::add(ProgramCallPtr call) {
  std::lock_guard lock(mutex_);
  if (summary_) return end_with(*call, *summary_);  // first: the host may have ended since
  if (over_) return call->end(*over_);
  waiting_.push_back(std::move(call));
  has_call_ = true;
  if (wake_) wake_();
}

bool Program::withdraw(const ProgramCallPtr& call) {
  std::lock_guard lock(mutex_);
  const bool found = std::erase(waiting_, call) > 0;
  has_call_ = !waiting_.empty();
  return found;
}

ProgramCallPtr Program::take() {
  std::lock_guard lock(mutex_);
  if (waiting_.empty()) return nullptr;
  taken_ = std::move(waiting_.front());
  waiting_.pop_front();
  has_call_ = !waiting_.empty();
  return taken_;
}

void Program::set_wake(std::function<void()> wake) {
  std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
}

void Program::pause(ProgramValue summary) {
  std::lock_guard lock(mutex_);
  for (const ProgramCallPtr& call : std::exchange(waiting_, {})) end_with(*call, summary);
  has_call_ = false;
  summary_ = std::move(summary);
}

void Program::resume() {
  std::lock_guard lock(mutex_);
  summary_.reset();
}

uint64_t Program::number(const ProgramCallPtr& call) {
  std::lock_guard lock(mutex_);
  numbered_[++newest_] = call;
  if (over_) call->end(*over_);
  return newest_;
}

ProgramCallPtr Program::find(uint64_t number) const {
  std::lock_guard lock(mutex_);
  const auto at = numbered_.find(number);
  return at == numbered_.end() ? nullptr : at->second;
}

void Program::forget(uint64_t number) {
  std::lock_guard lock(mutex_);
  numbered_.erase(number);
}

void Program::end(const Error& why) {
  std::lock_guard lock(mutex_);
  over_ = why;
  if (taken_) taken_->end(why);  // if it has not ended, the end of the run has ended its chunk
  for (const ProgramCallPtr& call : std::exchange(waiting_, {})) call->end(why);
  has_call_ = false;
  for (const auto& [number, call] : std::exchange(numbered_, {})) call->end(why);
}

}  // namespace actorhost
