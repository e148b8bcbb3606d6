#include "host/engine/collective/call_ledger.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace actorhost {

void CallLedger::enter(const CallKey& call, NodeId rank) {
  std::lock_guard lock(mutex_);
  Series& mine = series(call, rank);
  if (mine.entered == call.number && decided(mine, call.number)) return;
  mine.entered = call.number;
  mine.open.try_emplace(call.number);
}

void CallLedger::set_wake(NodeId rank, std::function<void()> wake) {
  std::lock_guard lock(mutex_);
  wakes_[rank] = std::move(wake);
}

const CallLedger::Series* CallLedger::find(const CallKey& call, NodeId rank) const {
  const auto found = series_.find({call.group, call.async, rank});
  return found == series_.end() ? nullptr : &found->second;
}

bool CallLedger::decided(const Series& series, uint32_t number) {
  return static_cast<int32_t>(number - series.entered) <= 0 && !series.open.contains(number);
}

bool CallLedger::open(const CallKey& call, NodeId rank) const {
  std::lock_guard lock(mutex_);
  const Series* mine = find(call, rank);
  if (mine == nullptr) return true;
  const auto found = mine->open.find(call.number);
  return found == mine->open.end() ? !decided(*mine, call.number) : !found->second.settled;
}

/// Records the decision of the rank.
void CallLedger::note(Series& series, uint32_t number, const Verdict& verdict) {
  series.open.erase(number);
  if (verdict.outcome.ok()) {
    series.retained_number = number;
    if (series.retained.size() != verdict.result.size() || !series.retained.unique()) {
      series.retained = Blob::allocate(verdict.result.size());
    }
    if (!verdict.result.empty()) std::memcpy(series.retained.data(), verdict.result.data(), verdict.result.size());
    return;
  }
  series.failure = verdict;
  auto range = series.failed.emplace(number, number).first;
  if (const auto next = std::next(range); next != series.failed.end() && next->first == number + 1) {
    range->second = next->second;
    series.failed.erase(next);
  }
  if (range != series.failed.begin() && std::prev(range)->second + 1 == number) {
    std::prev(range)->second = range->second;
    series.failed.erase(range);
  }
}

bool CallLedger::decide(const CallKey& call, NodeId rank, uint64_t ballot, const Verdict& verdict) {
  std::lock_guard lock(mutex_);
  Series& mine = series(call, rank);
  const auto found = mine.open.find(call.number);
  if (found == mine.open.end() || found->second.settled || ballot < found->second.promised) return false;
  note(mine, call.number, verdict);
  return true;
}

std::optional<Verdict> CallLedger::take_settled(const CallKey& call, NodeId rank) {
  std::lock_guard lock(mutex_);
  Series& mine = series(call, rank);
  const auto found = mine.open.find(call.number);
  if (found == mine.open.end() || !found->second.settled) return std::nullopt;
  std::optional<Verdict> verdict = std::move(found->second.settled);
  note(mine, call.number, *verdict);
  return verdict;
}

std::optional<Verdict> CallLedger::query(const CallKey& call, NodeId rank, uint64_t ballot) {
  std::lock_guard lock(mutex_);
  Series& mine = series(call, rank);
  if (!decided(mine, call.number)) {
    Open& open = mine.open[call.number];
    if (open.settled) return open.settled;
    open.promised = std::max(open.promised, ballot);
    return std::nullopt;
  }
  auto range = mine.failed.upper_bound(call.number);
  if (range != mine.failed.begin() && std::prev(range)->second >= call.number) return mine.failure;
  return Verdict{{}, 0, call.number == mine.retained_number ? Blob::copy_of(mine.retained.view()) : Blob()};
}

void CallLedger::settle(const CallKey& call, NodeId rank, uint64_t ballot, const Verdict& verdict) {
  std::lock_guard lock(mutex_);
  Series& mine = series(call, rank);
  if (decided(mine, call.number)) return;
  Open& open = mine.open[call.number];
  if (open.settled || ballot < open.promised) return;
  open.settled = verdict;
  if (const auto wake = wakes_.find(rank); wake != wakes_.end() && wake->second) wake->second();
}

}  // namespace actorhost
