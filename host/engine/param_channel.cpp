#include "host/engine/param_channel.hpp"

#include <algorithm>
#include <iterator>

namespace actorhost {

namespace {

std::vector<NodeId> ids_of(const Membership& membership) {
  std::vector<NodeId> ids;
  for (const Member& member : membership.workers()) ids.push_back(member.id);
  return ids;
}

}  // namespace

Status NodeChannel::receive(std::vector<Frame>& out, double deadline) {
  const auto wanted = [](const Frame& frame) { return param::is_param(frame.kind); };
  // Servers follow the membership; a worker's waits end with the run.
  if (node_.role() == Role::worker) return node_.receive_all(wanted, deadline, out);
  return node_.receive_all(wanted, deadline, out, seen_->epoch());
}

ParamChannel::Changes NodeChannel::changes() {
  const MembershipPtr newest = node_.newest_membership();
  if (newest->epoch() == seen_->epoch()) return {};
  const std::vector<NodeId> before = ids_of(*seen_);
  const std::vector<NodeId> after = ids_of(*newest);
  Changes changes;
  std::set_difference(after.begin(), after.end(), before.begin(), before.end(), std::back_inserter(changes.joined));
  std::set_difference(before.begin(), before.end(), after.begin(), after.end(), std::back_inserter(changes.lost));
  seen_ = newest;
  return changes;
}

Result<std::vector<NodeId>> NodeChannel::members() { return node_.at_work(*seen_); }

}  // namespace actorhost
