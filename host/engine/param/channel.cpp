#include "host/engine/param/channel.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

namespace actorhost {

namespace {

std::vector<NodeId> ids_of(const Membership& membership) {
  std::vector<NodeId> ids;
  for (const Member& member : membership.workers()) ids.push_back(member.id);
  return ids;
}

/// The elements of `a` missing in `b`. Both are sorted.
std::vector<NodeId> without(const std::vector<NodeId>& a, const std::vector<NodeId>& b) {
  std::vector<NodeId> out;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

}  // namespace

Status NodeChannel::send(Frame&& frame, double deadline) {
  const Node::RequiresFirstCoordinator needs(node_, "param");
  AH_TRY(node_.check_first_coordinator("param"));
  return node_.port().send(std::move(frame), deadline);
}

Status NodeChannel::receive(std::vector<Frame>& out, double deadline) {
  const auto wanted = [](const Frame& frame) { return param_kind::is_one(frame.kind); };
  const bool worker = node_.role() == Role::worker;
  static constexpr std::array<EngineCall, 3> kPhases = {{{Cause::server, "param"},  // by ParamPhase
                                                         {Cause::server, "task"},
                                                         {Cause::server, "pull"}}};
  static constexpr EngineCall kServing{Cause::other, "serving"};
  const Activity activity(node_.stats(), worker ? kPhases[static_cast<size_t>(phase_)] : kServing);
  const Node::RequiresFirstCoordinator needs(node_, "param");
  // A server's wait follows the membership; a worker's wait ends with the run.
  if (worker) return node_.receive_all(wanted, deadline, out);
  return node_.receive_all(wanted, deadline, out, seen_news_);
}

ParamChannel::Changes NodeChannel::changes() {
  const uint64_t news = node_.cluster().news();
  if (news == seen_news_) return {};
  seen_news_ = news;
  const MembershipPtr newest = node_.newest_membership();
  const std::set<ProcessId> silent = node_.cluster().suspected();
  std::vector<NodeId> suspected;
  for (const Member& member : newest->workers()) {
    if (silent.count(member.process) != 0) suspected.push_back(member.id);
  }
  const std::vector<NodeId> before = ids_of(*seen_);
  const std::vector<NodeId> after = ids_of(*newest);
  Changes changes{without(after, before), without(before, after), without(suspected, suspected_),
                  without(suspected_, suspected)};
  suspected_ = std::move(suspected);
  seen_ = newest;
  return changes;
}

Result<std::vector<NodeId>> NodeChannel::members() { return node_.at_work(*seen_); }

}  // namespace actorhost
