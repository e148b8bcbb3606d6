#include "host/cluster/coordinator_lease.hpp"

#include <algorithm>

#include "host/base/clock.hpp"

namespace actorhost {

uint64_t RenewalTimes::next(double now) {
  times_.push_back(now);
  if (times_.size() > kMaxTimes) times_.pop_front();
  return ++newest_;
}

double RenewalTimes::sent(uint64_t number) const {
  if (number > newest_ || newest_ - number >= times_.size()) return -1;
  return times_[times_.size() - 1 - (newest_ - number)];
}

void CoordinatorLease::confirm(ProcessId process, uint64_t number, uint64_t epoch) {
  Confirmed& confirmed = confirmed_[process];
  confirmed.sent = std::max(confirmed.sent, renewals_.sent(number));
  confirmed.epoch = std::max(confirmed.epoch, epoch);
}

bool CoordinatorLease::has_accepted(ProcessId process, uint64_t epoch) const {
  const auto at = confirmed_.find(process);
  return at != confirmed_.end() && at->second.epoch >= epoch;
}

bool CoordinatorLease::since(ProcessId process, double time) const {
  const auto at = confirmed_.find(process);
  return at != confirmed_.end() && at->second.sent >= time;
}

double CoordinatorLease::until(const Quorum& quorum, ProcessId self) const {
  if (quorum.majority([self](ProcessId process) { return process == self; })) return kForever;
  std::vector<double> times;
  for (const auto& [process, confirmed] : confirmed_) {
    if (confirmed.sent >= 0) times.push_back(confirmed.sent);
  }
  std::sort(times.begin(), times.end(), std::greater<>());
  for (const double time : times) {
    if (quorum.majority([&](ProcessId process) { return process == self || since(process, time); })) {
      return time + kCoordinatorLease;
    }
  }
  return 0;
}

void ProcessLease::begin(double now) { latest_end_ = std::max(latest_end_, now); }

bool ProcessLease::set(double until, double now) {
  const double before = until_.exchange(until);
  latest_end_ = std::max(latest_end_, std::min(until, now + kCoordinatorLease));
  return now >= before && now < until;
}

bool ProcessLease::receive(const LeaseRenewal& renewal, double now) {
  received_ = std::max(received_, renewal.number);
  received_at_ = now;
  const double sent = replies_.sent(renewal.acknowledged);
  return sent >= 0 && renewal.lease > 0 && set(std::max(until(), sent + renewal.lease), now);
}

LeaseRenewal ProcessLease::reply(double now) { return {replies_.next(now), received_, 0, accepted_}; }

void ProcessLease::accept(uint64_t epoch) { accepted_ = std::max(accepted_, epoch); }

}  // namespace actorhost
