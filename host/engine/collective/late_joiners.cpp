#include "host/engine/collective/late_joiners.hpp"

#include <algorithm>
#include <utility>

#include "host/engine/collective/call_clock.hpp"

namespace actorhost {

namespace {

bool is_admission(const Frame& frame) { return frame.kind == collective_kind::admit; }

}  // namespace

Result<JoinPoint> LateJoiners::await_admission(uint32_t& waits) {
  static constexpr EngineCall kCall{Cause::collective, "joining"};
  const Activity activity(node_.stats(), kCall);
  const std::string subject = node_.name() + " has joined late";
  node_.log().info(node_.name(), "has joined late: its first collective waits for the others' join_point()");
  std::optional<NodeId> requested_from;
  bool ended = false;
  bool reported = false;
  CallClock clock(node_.clock().now());
  std::vector<Frame> admissions;
  while (admissions.empty()) {
    AH_TRY(node_.check());
    node_.refresh();
    const NodeId leader = node_.membership().workers().front().id;
    if (leader == node_.index()) {
      node_.leave_out();
      return Error{Code::interrupted, subject + ", and all workers that could have admitted it are lost"};
    }
    if (requested_from != leader) {
      const Status sent = node_.port().send(make_frame(collective_kind::join, node_.address(), worker_address(leader),
                                                       0, pack(Route{0, node_.index(), 0})));
      if (!sent.ok() && sent.error().code != Code::peer_lost) return sent.error();
      requested_from = leader;
    }
    AH_TRY(node_.receive_some(is_admission, clock.next_check(), admissions));
    if (!admissions.empty() || !clock.check_due(node_.clock().now())) continue;
    AH_TRY(check_for_end(++waits, subject, ended));
    reported = true;
    clock.checked(node_.clock().now(), true);
  }
  if (reported) {
    const LongWait over;
    AH_TRY(node_.whereabouts(&over));
  }
  auto point = unpack<JoinPoint>(admissions.front().body.view());
  if (point && !std::binary_search(point->ids.begin(), point->ids.end(), node_.index())) {
    return Error{Code::bad_data, "the join_point message does not list this worker"};
  }
  return point;
}

/// Finds out whether the other workers have ended. Two consecutive reports must confirm it, since a report may overtake
/// the message that admits this worker.
Status LateJoiners::check_for_end(uint32_t wait, const std::string& subject, bool& ended_before) {
  LongWait waiting{wait, subject};
  waiting.outside = true;
  AH_LET(const auto list, node_.whereabouts(&waiting));
  const NodeId leader = node_.membership().workers().front().id;
  const auto at = std::find_if(list.begin(), list.end(), [&](const Whereabouts& w) { return w.id == leader; });
  const bool ended = at != list.end() && at->ended;
  if (!ended || !std::exchange(ended_before, true)) return {};
  for (const Whereabouts& w : list) node_.skip_actions(w.actions);
  node_.leave_out();
  return Error{Code::interrupted, subject +
                                      ": the others have come to the end of their scripts without another "
                                      "collective.join_point()"};
}

/// The waiting late workers in id order, so that ranks have the same order as in the whole run: a worker is admitted
/// only after all late workers with lower ids.
Result<std::vector<NodeId>> LateJoiners::collect() {
  std::vector<Frame> requests;
  const auto wanted = [](const Frame& frame) { return frame.kind == collective_kind::join; };
  AH_TRY(node_.port().receive_all(wanted, node_.clock().now(), requests));
  for (const Frame& request : requests) joiners_.insert(address_index(request.src));
  std::vector<NodeId> late;
  for (const Member& member : node_.newest_membership()->workers()) {
    if (member.id < joined_) continue;
    if (!joiners_.contains(member.id)) break;
    late.push_back(member.id);
  }
  return late;
}

void LateJoiners::admit(const JoinPoint& point) {
  raise(point.ids.back() + 1);
  std::erase_if(joiners_, [this](NodeId id) { return id < joined_; });
}

}  // namespace actorhost
