#include "host/cluster/membership.hpp"

#include <algorithm>

namespace actorhost {

Membership::Membership(uint64_t epoch, std::vector<Member> workers, std::vector<ProcessInfo> processes, NodeId founders)
    : epoch_(epoch), founders_(founders), workers_(std::move(workers)), processes_(std::move(processes)) {
  std::sort(workers_.begin(), workers_.end(), [](const Member& a, const Member& b) { return a.id < b.id; });
  std::sort(processes_.begin(), processes_.end(),
            [](const ProcessInfo& a, const ProcessInfo& b) { return a.process < b.process; });
}

std::optional<uint32_t> Membership::rank_of(NodeId id) const noexcept {
  const auto at = std::lower_bound(workers_.begin(), workers_.end(), id,
                                   [](const Member& member, NodeId wanted) { return member.id < wanted; });
  if (at == workers_.end() || at->id != id) return std::nullopt;
  return static_cast<uint32_t>(at - workers_.begin());
}

const ProcessInfo* Membership::process(ProcessId process) const noexcept {
  const auto at = std::lower_bound(processes_.begin(), processes_.end(), process,
                                   [](const ProcessInfo& info, ProcessId wanted) { return info.process < wanted; });
  return at != processes_.end() && at->process == process ? &*at : nullptr;
}

ProcessId Membership::home_of(Address address) const noexcept {
  ProcessId home = kNoProcess;
  if (is_server(address)) {
    home = 0;
  } else if (is_of_process(address)) {
    home = address_index(address);
  } else if (const auto rank = rank_of(address)) {
    home = workers_[*rank].process;
  }
  return process(home) != nullptr ? home : kNoProcess;
}

std::string Membership::machine_of(Address address) const {
  const auto machine = [](const ProcessInfo& info) { return info.host.substr(0, info.host.rfind(':')); };
  const ProcessInfo* home = process(home_of(address));
  const bool several =
      home != nullptr && std::any_of(processes_.begin(), processes_.end(),
                                     [&](const ProcessInfo& info) { return machine(info) != machine(*home); });
  return several ? machine(*home) : "";
}

std::string Membership::describe(Address address) const {
  std::string name = address_name(address);
  const ProcessInfo* home = process(home_of(address));
  if ((is_data(address) || is_courier(address)) && home) return name + " (" + home->host + ")";
  const auto rank = rank_of(address);
  if (!rank) return name;
  return "rank " + std::to_string(*rank) + " (" + name + (home ? " on " + home->host : "") + ")";
}

bool Membership::is_valid() const noexcept {
  for (size_t i = 0; i < processes_.size(); ++i) {
    if (processes_[i].process >= kAddressMask) return false;
    if (i > 0 && processes_[i].process <= processes_[i - 1].process) return false;
  }
  for (size_t i = 0; i < workers_.size(); ++i) {
    if (!is_worker(workers_[i].id) || process(workers_[i].process) == nullptr) return false;
    if (i > 0 && workers_[i].id <= workers_[i - 1].id) return false;
  }
  return true;
}

}  // namespace actorhost
