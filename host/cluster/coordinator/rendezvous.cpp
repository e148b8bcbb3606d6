#include "host/cluster/coordinator/rendezvous.hpp"

#include <algorithm>

namespace actorhost {

namespace {

Error refused(std::string why) { return {Code::refused, std::move(why)}; }

}  // namespace

std::string differing(const std::map<std::string, std::string>& here, const std::map<std::string, std::string>& there) {
  std::string list;
  for (const auto& [name, value] : there) {
    const auto ours = here.find(name);
    const std::string& our_value = ours == here.end() ? std::string() : ours->second;
    if (our_value != value)
      list += (list.empty() ? "--" : ", --") + name + " " + value +
              " (here: " + (our_value.empty() ? "not given" : our_value) + ")";
  }
  return list;
}

Status Rendezvous::add(ProcessId process, const JoinMessage& join, double now) {
  if (join.group_size == 0 || join.group_index >= join.group_size || join.group_size > kMaxNodes + 1 ||
      join.nodes > kMaxNodes) {
    return refused("join message with impossible counts");
  }
  if (join.nodes > end_id_ - next_id_) return refused("there are no numbers left for its workers");
  // Only the parent process of an --isolate host has no nodes.
  if (join.nodes == 0 && (join.group_size == 1 || join.group_index != 0)) return refused("it brings no nodes");
  if (!groups_.contains(join.group)) AH_TRY(add_group(join));
  Group& group = groups_.at(join.group);
  if (group.admitted) return refused("host " + group.host + " is part of the run already");
  if (group.size != join.group_size || group.parts.contains(join.group_index)) {
    return refused("place " + std::to_string(join.group_index) + " of host " + group.host + " is taken");
  }
  group.parts[join.group_index] = Part{process, join.nodes};
  if (!started_ && !enough_since_ && hosts() >= config_.min_hosts) enough_since_ = now;
  return {};
}

Status Rendezvous::add_group(const JoinMessage& join) {
  if (started_ && !elastic()) {
    return refused("the run has started with " + std::to_string(config_.max_hosts) +
                   " hosts and is not elastic; start it with --nnodes MIN:MAX to let hosts join later");
  }
  for (const auto& [id, group] : groups_) {
    if (join.node_rank >= 0 && group.node_rank == join.node_rank) {
      return refused("node rank " + std::to_string(join.node_rank) + " is already taken by " + group.host);
    }
  }
  if (groups_.size() >= config_.max_hosts) {
    return refused("the run already has its " + std::to_string(config_.max_hosts) + " hosts (--nnodes)");
  }
  Group group;
  group.size = join.group_size;
  group.arrival = arrivals_++;
  group.node_rank = join.node_rank;
  group.host = join.host;
  groups_.emplace(join.group, std::move(group));
  return {};
}

void Rendezvous::resume(NodeId first, NodeId end) {
  started_ = true;
  next_id_ = first;
  end_id_ = end;
}

void Rendezvous::readmit(ProcessId process, const JoinMessage& join) {
  Group& group = groups_[join.group];
  if (group.parts.empty()) group = {join.group_size, arrivals_++, join.node_rank, true, join.host, {}};
  group.parts[join.group_index] = Part{process, join.nodes};
}

std::vector<ProcessId> Rendezvous::remove(ProcessId process) {
  std::vector<ProcessId> stranded;
  for (auto at = groups_.begin(); at != groups_.end(); ++at) {
    Group& group = at->second;
    const auto part = std::find_if(group.parts.begin(), group.parts.end(),
                                   [&](const auto& entry) { return entry.second.process == process; });
    if (part == group.parts.end()) continue;
    group.parts.erase(part);
    if (!group.admitted) {
      for (const auto& [index, other] : group.parts) stranded.push_back(other.process);
    }
    if (group.parts.empty() || !group.admitted) groups_.erase(at);
    break;
  }
  if (!started_ && hosts() < config_.min_hosts) enough_since_.reset();
  return stranded;
}

uint32_t Rendezvous::hosts() const {
  uint32_t count = 0;
  for (const auto& [id, group] : groups_) count += group.admitted || group.complete();
  return count;
}

std::optional<Rendezvous::Admission> Rendezvous::admit(double now) {
  if (!started_) {
    if (!enough_since_) return std::nullopt;
    if (hosts() < config_.max_hosts && now < *enough_since_ + config_.grace) return std::nullopt;
  }
  std::vector<Group*> ready;
  for (auto& [id, group] : groups_) {
    if (!group.admitted && group.complete()) ready.push_back(&group);
  }
  if (ready.empty()) return std::nullopt;
  started_ = true;
  std::sort(ready.begin(), ready.end(), [](const Group* a, const Group* b) {
    const auto place = [](const Group* g) { return g->node_rank < 0 ? INT32_MAX : g->node_rank; };
    return std::pair(place(a), a->arrival) < std::pair(place(b), b->arrival);
  });
  Admission admission;
  for (Group* group : ready) {
    group->admitted = true;
    for (const auto& [index, part] : group->parts) {
      admission.processes.push_back(part.process);
      for (uint32_t i = 0; i < part.nodes; ++i) admission.workers.push_back(Member{next_id_++, part.process});
    }
  }
  return admission;
}

std::optional<Error> Rendezvous::overdue(double now) const {
  if (started_ || enough_since_ || now < opened_ + config_.timeout) return std::nullopt;
  std::string here;
  for (const auto& [id, group] : groups_) {
    here += (here.empty() ? "" : ", ") + group.host;
    if (!group.complete()) {
      here += " (" + std::to_string(group.parts.size()) + " of " + std::to_string(group.size) + " processes)";
    }
  }
  return Error{Code::timeout, "rendezvous: " + std::to_string(hosts()) + " of " + std::to_string(config_.min_hosts) +
                                  " hosts after " + std::to_string(static_cast<long>(config_.timeout)) +
                                  " s (here: " + here +
                                  "); start the same command on the others, or change --nnodes or --start-timeout"};
}

}  // namespace actorhost
