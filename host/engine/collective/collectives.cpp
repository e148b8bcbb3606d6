#include "host/engine/collective/collectives.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <new>
#include <utility>

#include <xxhash.h>

namespace actorhost {

namespace {

constexpr std::array<const char*, 16> kCollectives = {
    "allreduce", "barrier",  "broadcast",      "reduce", "allgather", "gather", "scatter", "rotate",
    "regroup",   "alltoall", "reduce_scatter", "push",   "pull",      "group",  "split",   "a collective"};

constexpr auto collective_calls(bool with_all) {
  std::array<EngineCall, kCollectives.size()> calls;
  for (size_t i = 0; i < calls.size(); ++i) calls[i] = {Cause::collective, kCollectives[i], with_all};
  return calls;
}

/// The call as observers of the run see it.
const EngineCall& engine_call(std::string_view name, bool with_all) {
  static constexpr auto kOfAll = collective_calls(true);
  static constexpr auto kOfSome = collective_calls(false);
  const auto& calls = with_all ? kOfAll : kOfSome;
  return *std::find_if(calls.begin(), calls.end() - 1, [name](const EngineCall& call) { return name == call.name; });
}

uint64_t world_of(const std::vector<NodeId>& ids) { return XXH3_64bits(ids.data(), ids.size() * sizeof(NodeId)); }

bool nothing(const Frame& /*frame*/) { return false; }

}  // namespace

Collectives::Collectives(Node& node, Meetings& meetings, Arbiter& arbiter)
    : node_(node), meetings_(meetings), arbiter_(arbiter), late_joiners_(node) {
  arbiter_.ledger().set_wake(node_.index(), node_.port().waker());
  all_workers_.losses.admit(members_in_snapshot(all_workers_), node_.actions());
}

void Collectives::restart(CollectiveGroup& group, uint32_t restarts) {
  std::vector<Frame> dropped;
  const auto old = [id = group.id](const Frame& frame) {
    if (!collective_kind::is_one(frame.kind)) return false;
    const auto route = route_of(frame);
    return !route || route->group == id;
  };
  (void)node_.port().receive_all(old, node_.clock().now(), dropped);
  CollectiveGroup fresh;
  fresh.name = std::move(group.name);
  fresh.ids = std::move(group.ids);
  fresh.id = std::max<uint32_t>(1, XXH32(fresh.name.data(), fresh.name.size(), restarts));
  fresh.succeeded = group.succeeded;
  fresh.bytes_sent = group.bytes_sent;
  group = std::move(fresh);
}

std::vector<NodeId> Collectives::members_of(const CollectiveGroup& group) {
  node_.refresh();
  return members_in_snapshot(group);
}

std::vector<NodeId> Collectives::workers_by_rank() {
  node_.refresh();
  std::vector<NodeId> ids;
  for (const Member& member : node_.membership().workers()) ids.push_back(member.id);
  return all_workers_.losses.known(ids, node_.actions());
}

std::vector<NodeId> Collectives::members_in_snapshot(const CollectiveGroup& group) const {
  const bool from_outside = node_.role() != Role::worker;  // a server receives no join_point
  std::vector<NodeId> ids;
  ids.reserve(node_.membership().workers().size());
  for (const Member& member : node_.membership().workers()) {
    if (group.name.empty() ? from_outside || member.id < late_joiners_.joined()
                           : std::binary_search(group.ids.begin(), group.ids.end(), member.id)) {
      ids.push_back(member.id);
    }
  }
  return ids;
}

/// Matches frames of the current call and of earlier calls. Late frames of earlier calls are released at once, since
/// their senders wait for the return of lent memory.
Port::Match Collectives::match(const CollectiveGroup& group) const {
  return [id = group.id, number = group.calls](const Frame& frame) {
    if (!collective_kind::is_one(frame.kind) || static_cast<int32_t>(frame.tag - number) > 0) return false;
    const auto route = route_of(frame);
    return !route || route->group == id;  // a frame without a route is malformed
  };
}

/// Handles frames of finished calls: inputs of failed calls, late messages of leaders.
Status Collectives::drop_leftovers(const CollectiveGroup& group) {
  if (node_.port().unreceived() == 0) return {};
  std::vector<Frame> dropped;
  const auto old = [&](const Frame& frame) {
    if (frame.kind == collective_kind::admit) return true;  // every member sends this, so duplicates arrive
    if (!collective_kind::is_one(frame.kind) || static_cast<int32_t>(frame.tag - group.calls) >= 0) return false;
    const auto route = route_of(frame);
    return !route || route->group == group.id;
  };
  AH_TRY(node_.port().receive_all(old, node_.clock().now(), dropped));
  for (const Frame& frame : dropped) appeal_for_late(group, frame);
  return {};
}

/// A rank that announces a call which is over here has missed the call's end, for example because the leader has
/// failed. An arbiter sends it the end. The rank may be unknown here as a member, since this rank may not know yet
/// which late workers were admitted.
void Collectives::appeal_for_late(const CollectiveGroup& group, const Frame& frame) {
  const NodeId late = address_index(frame.src);
  if (frame.kind != collective_kind::announce || !is_worker(frame.src) || !node_.newest_membership()->alive(late))
    return;
  std::vector<NodeId> members = members_of(group);
  const auto place = std::lower_bound(members.begin(), members.end(), late);
  if (place == members.end() || *place != late) members.insert(place, late);
  const Error error{Code::peer_lost, "a collective: the membership has changed"};
  arbiter_.appeal({{group.id, false, frame.tag}, late, members, error});  // in the late rank's name; may decide at once
}

Arbiter::Appeal Collectives::appeal(const CollectiveGroup& group, const Live& live, const Error& error) const {
  return {{group.id, false, group.calls}, node_.index(), live.group.ids, error};
}

/// The current members of the group, and this rank's place among them.
Result<Collectives::Live> Collectives::snapshot(const CollectiveGroup& group, const std::string& name) {
  Live live;
  std::vector<NodeId> ids = members_of(group);
  AH_TRY(node_.check());
  const auto self = std::find(ids.begin(), ids.end(), node_.index());
  if (node_.role() != Role::worker || self == ids.end()) {
    return Error{Code::unsupported, name + ": " + node_.name() + " is no live worker" +
                                        (group.name.empty() ? "" : " of group '" + group.name + "'") +
                                        " (guard with actor.role)"};
  }
  const auto me = static_cast<uint32_t>(self - ids.begin());
  const auto size = static_cast<uint32_t>(ids.size());
  const uint64_t world = world_of(ids);
  live.group = {group.id, me, size, std::move(ids), world, node_.membership().epoch(), node_.actions(), {}};
  auto& homes = live.group.homes;
  homes.reserve(size);
  live.group.ranks.reserve(size);
  const Membership& membership = node_.membership();
  for (const NodeId id : live.group.ids) {
    live.group.ranks.push_back(membership.rank_of(id).value_or(0));
    const uint32_t home = membership.home_of(worker_address(id));
    if (std::find(homes.begin(), homes.end(), home) == homes.end()) ++live.group.processes;
    homes.push_back(home);
  }
  live.group.joined = late_joiners_.joined();
  return live;
}

Result<Collectives::Placing> Collectives::place(CollectiveGroup& group) {
  AH_TRY(ensure_admitted());
  AH_TRY(collect_async_losses(group));
  const std::vector<NodeId> now = members_of(group);
  group.losses.place(now);
  Placing placing{{}, static_cast<uint32_t>(now.size()), group.losses.unreported_loss(now, node_.actions())};
  const auto self = std::find(now.begin(), now.end(), node_.index());
  if (self != now.end()) placing.place = static_cast<uint32_t>(self - now.begin());
  return placing;
}

/// Records the losses that asynchronous calls have failed with. A call ends soon after the loss of a member.
Status Collectives::collect_async_losses(CollectiveGroup& group) {
  const auto is_lost = [this](NodeId id) { return !node_.newest_membership()->alive(id); };
  for (const auto& call : group.in_flight) {
    const auto members = call->description().ids;
    const bool loses = std::any_of(members.begin(), members.end(), is_lost);
    if (loses) AH_TRY(wait_until_known([&call] { return call->done(); }));
    if (!call->done() || !call->failed_with_loss()) continue;
    AH_TRY(catch_up(call->loss_epoch()));
    std::vector<NodeId> lost = call->lost();
    // Empty when the leader's message arrived before the new membership.
    if (lost.empty()) std::copy_if(members.begin(), members.end(), std::back_inserter(lost), is_lost);
    group.losses.mark_reported(lost);
  }
  std::erase_if(group.in_flight, [](const auto& call) { return call->done(); });
  return {};
}

Result<Collectives::Live> Collectives::enter(CollectiveGroup& group, CallSpec& spec, double timeout) {
  AH_TRY(collect_async_losses(group));
  auto live = snapshot(group, spec.name);
  if (!live) return live.error();
  LossLedger::Entry entry = group.losses.enter(live->group.ids, node_.actions(), spec.placed && spec.stale.empty());
  if (spec.stale.empty()) spec.stale = std::move(entry.unreported_loss);
  live->before = std::move(entry.before);
  live->clock = CallClock(node_.clock().now(), timeout);
  return live;
}

Result<std::shared_ptr<AsyncCall>> Collectives::start(CollectiveGroup& group, CallSpec spec, AsyncCalls& calls,
                                                      double timeout) {
  AH_TRY(ensure_admitted());
  AH_LET(auto live, enter(group, spec, timeout));
  auto call =
      calls.start({std::move(spec), std::move(live.group), ++group.async_calls, live.clock, node_.port().waker()});
  group.in_flight.push_back(call);
  return call;
}

Result<CallResult> Collectives::wait(AsyncCalls& calls, const std::shared_ptr<AsyncCall>& call, double seconds) {
  static constexpr EngineCall kCall{Cause::collective, "wait"};
  const Activity activity(node_.stats(), kCall);
  CallClock clock(node_.clock().now(), seconds);
  StallInspector inspector(node_, call->description(), ++waits_, clock);
  std::vector<Frame> none;
  while (!call->done()) {
    const double now = node_.clock().now();
    if (clock.out_of_time(now)) return Error{Code::timeout, std::string(call->description().name) + ": timed out"};
    if (clock.query_due(now)) calls.query_missing(call);
    if (clock.check_due(now)) {
      if (Status there = inspector.check(call->absent()); !there.ok()) {
        if (there.error().code != Code::mismatch) return there.error();
        clock.stop_checks();
        calls.give_up(call, there.error());
      }
      continue;
    }
    AH_TRY(node_.receive_some(nothing, clock.next(), none));
  }
  AH_TRY(catch_up(call->loss_epoch()));
  return call->take();
}

Result<CallResult> Collectives::run(CollectiveGroup& group, CallSpec spec, double timeout) {
  AH_TRY(ensure_admitted());
  const bool with_all = group.name.empty();
  ++group.calls;
  if (with_all) node_.stats().calls.set(group.calls);
  const Activity activity(node_.stats(), engine_call(spec.name, with_all));
  AH_LET(auto entered, enter(group, spec, timeout));
  Live& live = entered;
  AH_TRY(drop_leftovers(group));
  const bool first = group.called.empty();
  const bool changed = group.called != live.group.ids;
  if (changed) {
    group.called = live.group.ids;
    group.meeting.reset();
  }
  const auto made = [&]() -> Result<CallResult> {
    const bool together = live.group.processes == 1;
    // The first call after a change takes frames, since other members may not know of the change yet.
    const bool shared =
        together && spec.choice.forced == Algorithm::automatic && spec.stale.empty() && (first || !changed);
    std::vector<Frame> early;
    if (shared) {
      auto met = meet(group, live, spec, early);
      if (met || met.error().code != Code::unsupported) return met;
    } else if (together) {
      meeting_of(group, live).cancel_for_frames(live.group.me, group.calls);
    }
    return call(group, live, std::move(spec), std::move(early));
  };
  const std::string name = spec.name;
  auto result = [&]() -> Result<CallResult> {
    try {
      return made();
    } catch (const std::bad_alloc&) {
      return fail_alone(group, live, {Code::full, name + ": " + node_.name() + " is out of memory"});
    }
  }();
  if (result) {
    result->place = live.group.me;
    result->places = live.group.members;
  } else if (result.error().code == Code::peer_lost) {
    group.losses.mark_all_reported([&](NodeId id) { return !node_.newest_membership()->alive(id); });
    group.called.clear();
  }
  return result;
}

/// Fails a call that this rank cannot continue, whatever its progress, so that the other ranks do not wait for it.
Result<CallResult> Collectives::fail_alone(CollectiveGroup& group, const Live& live, const Error& error) {
  const CallKey key{group.id, false, group.calls};
  if (live.group.processes == 1) meeting_of(group, live).cancel_for_frames(live.group.me, group.calls);
  arbiter_.ledger().enter(key, node_.index());
  arbiter_.appeal(appeal(group, live, error));
  std::vector<Frame> none;
  for (;;) {
    if (const auto verdict = arbiter_.ledger().take_settled(key, node_.index())) {
      AH_TRY(catch_up(verdict->epoch));
      return verdict->outcome.ok() ? error : verdict->outcome.error();
    }
    if (!arbiter_.ledger().open(key, node_.index())) return error;  // the call had ended before
    AH_TRY(node_.receive_some(nothing, kForever, none));
  }
}

Meeting& Collectives::meeting_of(CollectiveGroup& group, const Live& live) {
  if (!group.meeting) group.meeting = meetings_.find(group.id, live.group.world, live.group.members);
  return *group.meeting;
}

Result<CallResult> Collectives::meet(CollectiveGroup& group, Live& live, const CallSpec& spec,
                                     std::vector<Frame>& strays) {
  const WaitingCall description = waiting_call(spec, live.group, group.id);
  StallInspector inspector(node_, description, ++waits_, live.clock);
  const auto on_check = [&inspector](const std::vector<uint32_t>& missing) { return inspector.check(missing); };
  const Meeting::Waiting waiting{live.group.ranks, live.clock, on_check, match(group), strays};
  auto met = meeting_of(group, live).run(node_, live.group.me, group.calls, live.group.actions, spec, waiting);
  for (const Frame& stray : strays) {  // frames that arrived at the last moment, too late for the call
    if (met) appeal_for_late(group, stray);
  }
  if (met && node_.log().enabled(LogLevel::debug)) {
    choices_.log(node_.log(), node_.name(), choice_text(spec, *met, live.group.members, "shared memory"));
  }
  return met;
}

Status Collectives::send(const CollectiveGroup& group, NodeId to, Kind kind, std::string_view meta, Blob body,
                         double until) {
  Status sent = node_.port().send(
      make_frame(kind, node_.address(), worker_address(to), group.calls, meta, std::move(body)), until);
  // A lost rank needs no frame; the leader informs the ranks that wait for it.
  return !sent.ok() && sent.error().code == Code::peer_lost ? Status() : sent;
}

Status Collectives::wait_until_known(const std::function<bool()>& there) {
  const CallClock clock(node_.clock().now(), CallClock::kMaxPropagation);
  std::vector<Frame> none;
  while (!there() && !clock.out_of_time(node_.clock().now())) {
    AH_TRY(node_.receive_some(nothing, clock.due(), none));
  }
  return {};
}

Status Collectives::catch_up(uint64_t epoch) {
  return wait_until_known([this, epoch] { return node_.newest_membership()->epoch() >= epoch; });
}

Result<CallResult> Collectives::call(CollectiveGroup& group, const Live& live, CallSpec spec,
                                     std::vector<Frame> early) {
  CallWiring wiring;
  wiring.send = [&](uint32_t to, Kind kind, std::string_view meta, Blob body) {
    return send(group, live.group.ids[to], kind, meta, std::move(body), live.clock.send_deadline());
  };
  wiring.returned = node_.port().waker();
  wiring.describe_loss = [&] {
    std::vector<NodeId> now = live.group.ids;
    std::erase_if(now, [newest = node_.newest_membership()](NodeId id) { return !newest->alive(id); });
    return now.size() < live.group.ids.size() ? lost_between(live.group.ids, now)
                                              : lost_between(live.before, live.group.ids);
  };
  wiring.epoch = [&] { return node_.newest_membership()->epoch(); };
  wiring.ledger = &arbiter_.ledger();
  wiring.key = {group.id, false, group.calls};
  wiring.self = node_.index();
  wiring.leader = live.group.ids.front();
  wiring.appeal = [&](const Error& error) { arbiter_.appeal(appeal(group, live, error)); };
  wiring.appeal_if_decided = [&](const Error& error, std::vector<NodeId> ranks) {
    arbiter_.appeal_if_decided(appeal(group, live, error), std::move(ranks));
  };
  wiring.distrust = [&](uint32_t from, Kind kind, const std::string& why) {
    return node_.cluster().distrust(worker_address(live.group.ids[from]), kind, why);
  };
  wiring.receive_buffers = &node_.port().receive_buffers();
  wiring.tag = group.calls;
  wiring.ledger->enter(wiring.key, wiring.self);
  CallGroup members = live.group;
  if (members.me == 0 && !group.lines.empty())
    for (const NodeId id : live.group.ids) members.lines.push_back(group.lines[id]);
  const auto owned = CollectiveCall::make(std::move(spec), std::move(members), std::move(wiring), live.clock);
  CollectiveCall& call = *owned;
  AH_TRY(drive(call, group, live, std::move(early)));
  for (uint32_t member = 0; member < live.group.members; ++member) {
    if (!call.line(member).empty()) group.lines[live.group.ids[member]] = call.line(member);
  }
  AH_TRY(catch_up(call.loss_epoch()));
  late_joiners_.raise(call.joined());
  if (!call.outcome().ok()) return call.outcome().error();
  if (node_.log().enabled(LogLevel::debug)) {
    choices_.log(node_.log(), node_.name(),
                 choice_text(call.spec(), call.result(), live.group.members, call.algorithm()));
  }
  return std::move(call.result());
}

/// Drives a call until it is over. `frames`: the frames of the call received so far.
Status Collectives::drive(CollectiveCall& call, const CollectiveGroup& group, const Live& live,
                          std::vector<Frame> frames) {
  const CallSpec& spec = call.spec();
  const WaitingCall description = waiting_call(spec, live.group, group.id);
  CallClock& clock = call.clock();
  StallInspector inspector(node_, description, ++waits_, clock);
  const Port::Match wanted = match(group);
  uint64_t epoch = node_.membership().epoch();
  AH_TRY(call.begin());
  AH_TRY(take_frames(call, group, live, frames));
  for (;;) {
    const double now = node_.clock().now();
    AH_TRY(call.tick(now));
    if (call.over()) return {};
    if (clock.query_due(now)) {
      AH_TRY(call.query_missing());
      continue;
    }
    if (clock.check_due(now)) {
      if (Status there = inspector.check(call.missing().absent); !there.ok()) {
        if (there.error().code != Code::mismatch) return there;
        AH_TRY(call.give_up(there.error()));
      }
      continue;
    }
    // Reads the membership after everything that may have consumed a wake-up, and before the next wait.
    const MembershipPtr newest = node_.newest_membership();
    frames.clear();
    // The frames that a rank sent before its loss have arrived when the loss is known here; they count.
    const bool changed = newest->epoch() != epoch;
    AH_TRY(node_.receive_some(wanted, changed ? now : clock.next(), frames));
    AH_TRY(take_frames(call, group, live, frames));
    if (!changed) continue;
    epoch = newest->epoch();
    AH_TRY(call.on_membership(*newest));
  }
}

/// Handles announcements first. Each rank sends its announcement first, and a waiting rank's `give_up` must not hide
/// the arrival of others. It takes effect before the call can succeed, since its sender may have failed.
Status Collectives::take_frames(CollectiveCall& call, const CollectiveGroup& group, const Live& live,
                                std::vector<Frame>& frames) {
  const auto is = [](Kind kind) { return [kind](const Frame& frame) { return frame.kind == kind; }; };
  const bool has_give_up = std::any_of(frames.begin(), frames.end(), is(collective_kind::give_up));
  std::stable_partition(frames.begin(), frames.end(), is(collective_kind::announce));
  if (has_give_up) AH_TRY(call.hold(true));
  for (Frame& frame : frames) {
    const std::vector<NodeId>& ids = live.group.ids;
    const auto from = std::lower_bound(ids.begin(), ids.end(), address_index(frame.src));
    if (frame.tag != group.calls || from == ids.end() || frame.src != worker_address(*from)) {
      appeal_for_late(group, frame);
    } else {
      AH_TRY(call.take(static_cast<uint32_t>(from - ids.begin()), std::move(frame)));
    }
  }
  return has_give_up ? call.hold(false) : Status();
}

Result<uint32_t> Collectives::ensure_admitted() {
  if (!late_joiners_.awaits_admission()) return 0;
  AH_LET(const auto point, late_joiners_.await_admission(waits_));
  AH_TRY(catch_up(point.epoch));
  node_.skip_actions(point.actions);
  late_joiners_.admit(point);
  all_workers_.calls = point.calls;
  node_.stats().calls.set(point.calls);
  all_workers_.async_calls = point.async_calls;
  all_workers_.losses.admit(point.ids, node_.actions());
  return point.late;
}

Result<uint32_t> Collectives::join_point(CallSpec spec, double timeout) {
  if (late_joiners_.awaits_admission()) return ensure_admitted();
  spec.kind = CollectiveKind::broadcast;
  spec.placed = true;
  AH_LET(auto placing, place(all_workers_));
  spec.stale = std::move(placing.unreported_loss);
  JoinPoint point;
  const bool leads = placing.place == 0U;
  if (leads) {
    AH_LET(const auto late, late_joiners_.collect());
    point = {all_workers_.calls + 1,
             all_workers_.async_calls,
             node_.actions(),
             node_.newest_membership()->epoch(),
             all_workers_.losses.placed(),
             static_cast<uint32_t>(late.size())};
    point.ids.insert(point.ids.end(), late.begin(), late.end());
    spec.parcel = PackedValue{"", Blob::copy_of(pack(point))};
  }
  AH_LET(const auto made, run(all_workers_, std::move(spec), timeout));
  if (!leads) {
    AH_LET(point, unpack<JoinPoint>(made.parcel.body.view()));
  }
  if (point.late > 0) AH_TRY(admit(point));
  return point.late;
}

/// Notifies the admitted workers. Each rank that made the call does so, and one surviving rank is enough.
Status Collectives::admit(const JoinPoint& point) {
  AH_TRY(catch_up(point.epoch));
  late_joiners_.admit(point);
  all_workers_.losses.admit(point.ids, node_.actions());
  const std::string bytes = pack(point);
  const double until = node_.clock().now() + CallClock::kMaxPropagation;
  for (size_t i = point.ids.size() - point.late; i < point.ids.size(); ++i) {
    AH_TRY(send(all_workers_, point.ids[i], collective_kind::admit, {}, Blob::copy_of(bytes), until));
  }
  return {};
}

}  // namespace actorhost
