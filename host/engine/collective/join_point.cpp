// How late workers are admitted to the collectives of all workers.

#include <algorithm>
#include <utility>

#include "host/engine/collective/collectives.hpp"

namespace actorhost {

namespace {

bool is_let_in(const Frame& frame) { return frame.kind == collective_kind::let_in; }

}  // namespace

/// The current rank 0 receives the `knock` frames and decides in its own join_point which workers are admitted.
Result<uint32_t> Collectives::join_point(CallSpec spec, double timeout) {
  if (outside()) {
    AH_TRY(wait_outside());
    return late_;
  }
  spec.kind = CollectiveKind::broadcast;
  spec.placed = true;
  auto placing = place(everybody_);
  if (!placing) return placing.error();
  spec.stale = std::move(placing->untold);
  JoinPoint point;
  const bool leads = placing->place == 0U;
  if (leads) {
    auto late = who_knocks();
    if (!late) return late.error();
    point = {everybody_.calls + 1,
             everybody_.async_calls,
             node_.actions(),
             node_.newest_membership()->epoch(),
             everybody_.losses.placed(),
             static_cast<uint32_t>(late->size())};
    point.ids.insert(point.ids.end(), late->begin(), late->end());
    const std::string bytes = pack(point);
    spec.parcel = PackedValue{"", Blob::copy_of(bytes)};
  }
  auto made = run(everybody_, std::move(spec), timeout);
  if (!made) return made.error();
  if (!leads) {
    auto told = unpack<JoinPoint>(made->parcel.body.view());
    if (!told) return told.error();
    point = std::move(*told);
  }
  if (point.late > 0) AH_TRY(let_in(point));
  return point.late;
}

/// The waiting late workers in id order, so that ranks have the same order as in the whole run: a worker is admitted
/// only after all late workers with lower ids.
Result<std::vector<NodeId>> Collectives::who_knocks() {
  std::vector<Frame> knocks;
  const auto wanted = [](const Frame& frame) { return frame.kind == collective_kind::knock; };
  AH_TRY(node_.port().receive_all(wanted, node_.clock().now(), knocks));
  for (const Frame& knock : knocks) knocking_.insert(address_index(knock.src));
  std::vector<NodeId> late;
  for (const Member& member : node_.newest_membership()->workers()) {
    if (member.id < joined_) continue;
    if (!knocking_.contains(member.id)) break;
    late.push_back(member.id);
  }
  return late;
}

/// Notifies the admitted workers. Each rank that made the call does so, and one surviving rank is enough.
Status Collectives::let_in(const JoinPoint& point) {
  AH_TRY(catch_up(point.epoch));
  joined_ = std::max(joined_, point.ids.back() + 1);
  everybody_.losses.let_in(point.ids, node_.actions());
  std::erase_if(knocking_, [this](NodeId id) { return id < joined_; });
  const std::string bytes = pack(point);
  const double until = node_.clock().now() + CallClock::kForNews;
  for (size_t i = point.ids.size() - point.late; i < point.ids.size(); ++i) {
    AH_TRY(send(everybody_, point.ids[i], collective_kind::let_in, {}, Blob::copy_of(bytes), until));
  }
  return {};
}

Status Collectives::wait_outside() {
  static constexpr EngineCall kCall{Cause::collective, "joining"};
  const Activity activity(node_.stats(), kCall);
  const std::string what = node_.name() + " has joined late";
  node_.log().info(node_.name(), "has joined late: its first collective waits for the others' join_point()");
  std::optional<NodeId> asked;
  bool ended = false;
  bool told = false;
  CallClock clock(node_.clock().now());
  std::vector<Frame> words;
  while (words.empty()) {
    AH_TRY(node_.check());
    node_.refresh();
    const NodeId leader = node_.membership().workers().front().id;
    if (leader == node_.index()) {
      node_.leave_out();
      return Error{Code::interrupted, what + ", and all workers that could have admitted it are lost"};
    }
    if (asked != leader) {
      AH_TRY(send(everybody_, leader, collective_kind::knock, pack(Route{0, node_.index(), 0}), {}, kForever));
      asked = leader;
    }
    AH_TRY(node_.receive_some(is_let_in, clock.next_look(), words));
    if (!words.empty() || !clock.looks(node_.clock().now())) continue;
    AH_TRY(look_for_an_end(what, ended));
    told = true;
    clock.looked(node_.clock().now(), true);
  }
  auto point = unpack<JoinPoint>(words.front().body.view());
  if (!point) return point.error();
  AH_TRY(take_place(*point));
  if (!told) return {};
  const LongWait over;
  auto list = node_.whereabouts(&over);
  return list ? Status() : list.error();
}

/// Finds out whether the other workers have ended. Two consecutive reports must confirm it, since a report may overtake
/// the message that admits this worker.
Status Collectives::look_for_an_end(const std::string& what, bool& ended_before) {
  LongWait waiting{++waits_, what};
  waiting.outside = true;
  const auto list = node_.whereabouts(&waiting);
  if (!list) return list.error();
  const NodeId leader = node_.membership().workers().front().id;
  const auto at = std::find_if(list->begin(), list->end(), [&](const Whereabouts& w) { return w.id == leader; });
  const bool ended = at != list->end() && at->ended;
  if (!ended || !std::exchange(ended_before, true)) return {};
  for (const Whereabouts& w : *list) node_.skip_actions(w.actions);
  node_.leave_out();
  return Error{Code::interrupted, what +
                                      ": the others have come to the end of their scripts without another "
                                      "collective.join_point()"};
}

Status Collectives::take_place(const JoinPoint& point) {
  AH_TRY(catch_up(point.epoch));
  if (!std::binary_search(point.ids.begin(), point.ids.end(), node_.index())) {
    return Error{Code::bad_data, "the join_point message does not list this worker"};
  }
  node_.skip_actions(point.actions);
  joined_ = point.ids.back() + 1;
  late_ = point.late;
  everybody_.calls = point.calls;
  node_.stats().calls.set(point.calls);
  everybody_.async_calls = point.async_calls;
  everybody_.losses.let_in(point.ids, node_.actions());
  return {};
}

}  // namespace actorhost
