#include "host/cluster/coordinator/process_roster.hpp"

#include <algorithm>
#include <tuple>

#include "host/base/printable.hpp"

namespace actorhost {

namespace {

bool concerns(const auto& broken, ProcessId process) {
  return broken.first.first == process || broken.first.second == process;
}

}  // namespace

void ProcessRoster::add(Process process, double now) {
  const ProcessId id = process.info.process;
  if (id != self_) detector_.watch(id, now);
  processes_[id] = std::move(process);
}

std::optional<ProcessRoster::Process> ProcessRoster::remove(ProcessId process) {
  auto removed = processes_.extract(process);
  if (removed.empty()) return std::nullopt;
  detector_.forget(process);
  suspected_.erase(process);
  std::erase_if(broken_, [process](const auto& entry) { return concerns(entry, process); });
  return std::move(removed.mapped());
}

const ProcessRoster::Process* ProcessRoster::find(ProcessId process) const {
  const auto at = processes_.find(process);
  return at == processes_.end() ? nullptr : &at->second;
}

ProcessRoster::Process* ProcessRoster::find_link(LinkId link) {
  const auto at = std::find_if(processes_.begin(), processes_.end(),
                               [link](const auto& entry) { return entry.second.link == link; });
  return at == processes_.end() ? nullptr : &at->second;
}

void ProcessRoster::linked(ProcessId process, LinkId link) {
  const auto at = processes_.find(process);
  if (at != processes_.end() && at->second.awaited) at->second.link = link;
}

std::vector<ProcessId> ProcessRoster::followers(bool admitted) const {
  std::vector<ProcessId> out;
  for (const auto& [id, process] : processes_) {
    if (id != self_ && !process.awaited && (process.admitted || !admitted)) out.push_back(id);
  }
  return out;
}

std::vector<ProcessInfo> ProcessRoster::infos() const {
  std::vector<ProcessInfo> out;
  for (const auto& [id, process] : processes_) {
    if (process.admitted) out.push_back(process.info);
  }
  return out;
}

bool ProcessRoster::alone() const {
  return std::none_of(processes_.begin(), processes_.end(),
                      [this](const auto& entry) { return entry.first != self_ && entry.second.admitted; });
}

void ProcessRoster::watch_all(double now) {
  for (auto& [id, process] : processes_) {
    process.failed = false;
    if (id != self_) detector_.watch(id, now);
  }
}

const std::set<ProcessId>* ProcessRoster::tick(double now, double late, bool in_charge) {
  const FailureDetector::Verdict verdict = detector_.check(now, late);
  for (auto& [id, process] : processes_) process.failed = false;
  for (const ProcessId id : verdict.suspected) {
    if (in_charge) log_.warn("cluster", processes_.at(id).info.host + " has been silent for over a second");
    processes_.at(id).suspected_at = now;
    suspected_.insert(id);
  }
  for (const ProcessId id : verdict.cleared) {
    log_.info("cluster", processes_.at(id).info.host + " sends again");
    suspected_.erase(id);
  }
  for (const ProcessId id : verdict.dead) {
    processes_.at(id).failed = in_charge;
    detector_.watch(id, now);
  }
  return verdict.suspected.empty() && verdict.cleared.empty() ? nullptr : &suspected_;
}

void ProcessRoster::report_broken(ProcessId process, ProcessId other, double now) {
  if (other == self_ || process == self_ || other == process || !processes_.contains(other)) return;
  log_.debug("cluster", "host " + std::to_string(process) + " has lost its link to host " + std::to_string(other));
  broken_.emplace(std::minmax(process, other), now);
}

/// If a process with a broken link is dying, the failure detector reports it soon. Otherwise chooses the process that
/// more processes have lost; if the counts are equal, the process with the later suspicion; without suspicions the
/// later process.
std::optional<ProcessRoster::Loss> ProcessRoster::next_loss(double now) const {
  for (const auto& [id, process] : processes_) {
    if (process.closed) return Loss{id, *process.closed, false};
    if (process.failed) return Loss{id, "no heartbeat for " + seconds_text(times_.dead), true};
    if (process.awaited && now >= *process.awaited + times_.dead) {
      return Loss{id, "it has not attached to the new coordinator", false};
    }
  }
  const auto due = std::find_if(broken_.begin(), broken_.end(),
                                [&](const auto& entry) { return now >= entry.second + times_.dead; });
  if (due == broken_.end()) return std::nullopt;
  const auto faults = [this](ProcessId process) {
    const auto count = std::count_if(broken_.begin(), broken_.end(),
                                     [process](const auto& entry) { return concerns(entry, process); });
    return std::tuple(count, processes_.at(process).suspected_at, process);
  };
  const auto [low, high] = due->first;
  const auto [victim, other] = faults(low) > faults(high) ? std::pair(low, high) : std::pair(high, low);
  return Loss{victim, "its link to " + processes_.at(other).info.host + " is broken", true};
}

}  // namespace actorhost
