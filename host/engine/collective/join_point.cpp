// How late workers are admitted to the collectives of all workers.

#include <algorithm>
#include <utility>

#include "host/engine/collective/collectives.hpp"

namespace actorhost {

namespace {

bool is_admission(const Frame& frame) { return frame.kind == collective_kind::admit; }

}  // namespace

/// The current rank 0 receives the `join` frames and decides in its own join_point which workers are admitted.
Result<uint32_t> Collectives::join_point(CallSpec spec, double timeout) {
  if (needs_admission()) {
    AH_TRY(wait_for_admission());
    return late_;
  }
  spec.kind = CollectiveKind::broadcast;
  spec.placed = true;
  AH_LET(auto placing, place(all_workers_));
  spec.stale = std::move(placing.unreported_loss);
  JoinPoint point;
  const bool leads = placing.place == 0U;
  if (leads) {
    AH_LET(auto late, collect_joiners());
    point = {all_workers_.calls + 1,
             all_workers_.async_calls,
             node_.actions(),
             node_.newest_membership()->epoch(),
             all_workers_.losses.placed(),
             static_cast<uint32_t>(late.size())};
    point.ids.insert(point.ids.end(), late.begin(), late.end());
    const std::string bytes = pack(point);
    spec.parcel = PackedValue{"", Blob::copy_of(bytes)};
  }
  AH_LET(auto made, run(all_workers_, std::move(spec), timeout));
  if (!leads) {
    AH_LET(point, unpack<JoinPoint>(made.parcel.body.view()));
  }
  if (point.late > 0) AH_TRY(admit(point));
  return point.late;
}

/// The waiting late workers in id order, so that ranks have the same order as in the whole run: a worker is admitted
/// only after all late workers with lower ids.
Result<std::vector<NodeId>> Collectives::collect_joiners() {
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

/// Notifies the admitted workers. Each rank that made the call does so, and one surviving rank is enough.
Status Collectives::admit(const JoinPoint& point) {
  AH_TRY(catch_up(point.epoch));
  joined_ = std::max(joined_, point.ids.back() + 1);
  all_workers_.losses.admit(point.ids, node_.actions());
  std::erase_if(joiners_, [this](NodeId id) { return id < joined_; });
  const std::string bytes = pack(point);
  const double until = node_.clock().now() + CallClock::kMaxPropagation;
  for (size_t i = point.ids.size() - point.late; i < point.ids.size(); ++i) {
    AH_TRY(send(all_workers_, point.ids[i], collective_kind::admit, {}, Blob::copy_of(bytes), until));
  }
  return {};
}

Status Collectives::wait_for_admission() {
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
      AH_TRY(send(all_workers_, leader, collective_kind::join, pack(Route{0, node_.index(), 0}), {}, kForever));
      requested_from = leader;
    }
    AH_TRY(node_.receive_some(is_admission, clock.next_check(), admissions));
    if (!admissions.empty() || !clock.check_due(node_.clock().now())) continue;
    AH_TRY(check_for_end(subject, ended));
    reported = true;
    clock.checked(node_.clock().now(), true);
  }
  AH_LET(auto point, unpack<JoinPoint>(admissions.front().body.view()));
  AH_TRY(adopt_join_point(point));
  if (!reported) return {};
  const LongWait over;
  auto list = node_.whereabouts(&over);
  return list ? Status() : list.error();
}

/// Finds out whether the other workers have ended. Two consecutive reports must confirm it, since a report may overtake
/// the message that admits this worker.
Status Collectives::check_for_end(const std::string& subject, bool& ended_before) {
  LongWait waiting{++waits_, subject};
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

Status Collectives::adopt_join_point(const JoinPoint& point) {
  AH_TRY(catch_up(point.epoch));
  if (!std::binary_search(point.ids.begin(), point.ids.end(), node_.index())) {
    return Error{Code::bad_data, "the join_point message does not list this worker"};
  }
  node_.skip_actions(point.actions);
  joined_ = point.ids.back() + 1;
  late_ = point.late;
  all_workers_.calls = point.calls;
  node_.stats().calls.set(point.calls);
  all_workers_.async_calls = point.async_calls;
  all_workers_.losses.admit(point.ids, node_.actions());
  return {};
}

}  // namespace actorhost
