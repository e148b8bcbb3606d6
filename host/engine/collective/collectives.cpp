#include "host/engine/collective/collectives.hpp"

#include <algorithm>

#include <xxhash.h>

namespace actorhost {

namespace {

constexpr double kAskAfter = 1;     // seconds of waiting before the rendezvous host is asked where the others are
constexpr double kAskAtMost = 16;   // it is asked again, at intervals that double up to this
constexpr double kLongWait = 10;    // then the log says for whom this rank waits
constexpr double kForLeader = 0.5;  // seconds past the deadline in which the leader may say who is missing
constexpr double kForNews = 5;      // seconds that a new membership may be later than the word of who knows it
constexpr double kForWord = 1;      // seconds that the leader tries to tell a failure to a rank without room

std::string ranks_text(const std::vector<uint32_t>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
  return text;
}

/// "rank 2 has", "ranks 1, 2 have": whom a call waits for.
std::string missing_text(const CollectiveCall& call) {
  std::vector<uint32_t> ranks;
  for (const uint32_t member : call.missing()) ranks.push_back(call.group().ranks[member]);
  return ranks_text(ranks) + (ranks.size() == 1 ? " has" : " have");
}

uint64_t world_of(const std::vector<NodeId>& ids) { return XXH3_64bits(ids.data(), ids.size() * sizeof(NodeId)); }

}  // namespace

/// A member may have ended, or be in an action, where it will not come to this call; believed when the rendezvous host
/// says so twice, since the news may overtake what was sent before.
class Collectives::Inquiry {
 public:
  Inquiry(Node& node, const CallSpec& spec, const Live& live)
      : node_(node), spec_(spec), live_(live), since_(node.clock().now()), next_(since_ + kAskAfter) {}

  double next() const noexcept { return next_; }

  Status look(const std::vector<uint32_t>& missing) {
    const double now = node_.clock().now();
    if (now < next_) return {};
    if (!logged_ && now - since_ >= kLongWait) {
      logged_ = true;
      std::vector<uint32_t> ranks;
      for (const uint32_t member : missing) ranks.push_back(live_.group.ranks[member]);
      node_.log().info(node_.name(), spec_.name + ": waiting for over 10 s for " + ranks_text(ranks));
    }
    auto list = node_.whereabouts();
    if (!list) return list.error();
    Status there = judge(*list, missing);
    if (!there.ok() && astray_) return there;
    astray_ = !there.ok();
    interval_ = astray_ ? kAskAfter : std::min(2 * interval_, kAskAtMost);
    next_ = node_.clock().now() + interval_;
    return {};
  }

 private:
  Status judge(const std::vector<Whereabouts>& list, const std::vector<uint32_t>& missing) const {
    const std::string here = node_.name() + " is in " + spec_.signature + " at " + spec_.where + ", but rank ";
    for (const Whereabouts& w : list) {
      const bool waited_for =
          std::any_of(missing.begin(), missing.end(), [&](uint32_t member) { return live_.ids[member] == w.id; });
      const auto rank = node_.membership().rank_of(w.id);
      if (!waited_for || !rank) continue;
      if (w.ended) return Error{Code::mismatch, here + std::to_string(*rank) + " has come to the end of its script"};
      if (w.in_action && w.actions > node_.actions()) {
        return Error{Code::mismatch, here + std::to_string(*rank) + " is in " + w.kind + " at " + w.where};
      }
    }
    return {};
  }

  Node& node_;
  const CallSpec& spec_;
  const Live& live_;
  const double since_;
  double next_;
  double interval_ = kAskAfter;
  bool astray_ = false;
  bool logged_ = false;
};

std::vector<NodeId> Collectives::members_of(const CollectiveGroup& group) {
  node_.refresh();
  std::vector<NodeId> ids;
  for (const Member& member : node_.membership().workers()) {
    if (group.name.empty() || std::binary_search(group.ids.begin(), group.ids.end(), member.id)) {
      ids.push_back(member.id);
    }
  }
  return ids;
}

/// "rank 2 lost", by the ranks of those who were there before.
std::string Collectives::lost_between(const std::vector<NodeId>& before, const std::vector<NodeId>& now) const {
  std::vector<uint32_t> ranks;
  for (uint32_t rank = 0; rank < before.size(); ++rank) {
    if (!std::binary_search(now.begin(), now.end(), before[rank])) ranks.push_back(rank);
  }
  return ranks.empty() ? "the membership has changed" : ranks_text(ranks) + " lost";
}

Port::Match Collectives::match(const CollectiveGroup& group) const {
  return [id = group.id, number = group.calls](const Frame& frame) {
    if (!collective_kind::is_one(frame.kind) || frame.tag != number) return false;
    const auto route = Route::of(frame);
    return route && route->group == id;
  };
}

/// Frames of calls that are over here: contributions to one that had failed already, words that came too late.
Status Collectives::drop_leftovers(const CollectiveGroup& group) {
  if (node_.port().kept() == 0) return {};
  std::vector<Frame> dropped;
  const auto old = [&](const Frame& frame) {
    if (!collective_kind::is_one(frame.kind) || static_cast<int32_t>(frame.tag - group.calls) >= 0) return false;
    const auto route = Route::of(frame);
    return !route || route->group == group.id;
  };
  return node_.port().receive_all(old, node_.clock().now(), dropped);
}

/// Who makes a call of the group now, and this rank's place among them.
Result<Collectives::Live> Collectives::look(const CollectiveGroup& group, const std::string& name) {
  Live live;
  live.ids = members_of(group);
  AH_TRY(node_.check());
  const auto self = std::find(live.ids.begin(), live.ids.end(), node_.index());
  if (node_.role() != Role::worker || self == live.ids.end()) {
    return Error{Code::unsupported, name + ": " + node_.name() + " is no live worker" +
                                        (group.name.empty() ? "" : " of group '" + group.name + "'") +
                                        " (guard with actor.role)"};
  }
  live.group = {group.id,
                static_cast<uint32_t>(self - live.ids.begin()),
                static_cast<uint32_t>(live.ids.size()),
                world_of(live.ids),
                node_.membership().epoch(),
                node_.actions(),
                {}};
  for (const NodeId id : live.ids) live.group.ranks.push_back(node_.membership().rank_of(id).value_or(0));
  return live;
}

Result<std::shared_ptr<AsyncCall>> Collectives::start(CollectiveGroup& group, CallSpec spec, AsyncCalls& calls,
                                                      double timeout) {
  auto live = look(group, spec.name);
  if (!live) return live.error();
  return calls.start({std::move(spec), live->group, ++group.async_calls, std::move(live->ids),
                      node_.clock().now() + timeout, node_.port().waker()});
}

Result<CallResult> Collectives::wait(AsyncCall& call, double seconds) {
  AH_TRY(node_.wait_until([&] { return call.done(); }, {}, call.name(), node_.clock().now() + seconds));
  return call.take();
}

Result<CallResult> Collectives::run(CollectiveGroup& group, CallSpec spec, double timeout) {
  ++group.calls;
  auto looked = look(group, spec.name);
  if (!looked) return looked.error();
  const Live& live = *looked;
  AH_TRY(drop_leftovers(group));
  const double deadline = node_.clock().now() + timeout;

  // A loss is told once, on all ranks in the same call; an action lets it be known by itself.
  const bool changed = group.last != live.ids;
  const std::vector<NodeId> before = changed ? std::exchange(group.last, live.ids) : live.ids;
  const bool same_stretch = std::exchange(group.actions, node_.actions()) == node_.actions();
  if (changed) group.meeting.reset();
  if (changed && same_stretch && !before.empty() && live.group.me == 0) {
    const Error error{Code::peer_lost, spec.name + ": " + lost_between(before, live.ids)};
    fail_for_all(group, live, error);
    return error;  // `last` has been brought up to date
  }
  const uint32_t here = node_.membership().home_of(node_.address());
  const bool together = std::all_of(live.ids.begin(), live.ids.end(),
                                    [&](NodeId id) { return node_.membership().home_of(worker_address(id)) == here; });
  const bool shared = together && spec.choice.forced == Algorithm::automatic && !(changed && !before.empty());
  auto result = shared ? meet(group, live, spec, deadline) : call(group, live, before, std::move(spec), deadline);
  if (result) {
    result->place = live.group.me;
    result->places = live.group.members;
  } else if (result.error().code == Code::peer_lost) {
    group.last.clear();  // told
  }
  return result;
}

Result<CallResult> Collectives::meet(CollectiveGroup& group, const Live& live, const CallSpec& spec, double deadline) {
  if (!group.meeting) {
    group.meeting = meetings_.find(group.id, live.group.world, live.group.members);
  }
  Inquiry inquiry(node_, spec, live);
  Meeting::Waiting waiting;
  waiting.patience = [&](const std::vector<uint32_t>& missing) { return inquiry.look(missing); };
  waiting.stray = match(group);
  waiting.on_stray = [&](const Frame& frame) -> Status {
    if (frame.kind == collective_kind::failed) {
      Failure failure = Failure::decode(frame.meta.view());
      AH_TRY(catch_up(failure.epoch));
      return std::move(failure.error);
    }
    const Error error{Code::peer_lost, spec.name + ": the membership has changed"};
    if (live.group.me == 0) fail_for_all(group, live, error);
    return error;
  };
  return group.meeting->run(node_, live.group.me, group.calls, live.group.actions, spec, deadline, waiting);
}

Status Collectives::send(const CollectiveGroup& group, NodeId to, Kind kind, std::string_view meta, Blob body,
                         double deadline) {
  Status sent = node_.port().send(
      make_frame(kind, node_.address(), worker_address(to), group.calls, meta, std::move(body)), deadline);
  // Who is lost needs nothing, and who waits for it in vain hears so from the leader.
  return !sent.ok() && sent.error().code == Code::peer_lost ? Status() : sent;
}

Status Collectives::catch_up(uint64_t epoch) {
  const double give_up = node_.clock().now() + kForNews;
  std::vector<Frame> none;
  while (node_.newest_membership()->epoch() < epoch && node_.clock().now() < give_up) {
    AH_TRY(node_.receive_some([](const Frame&) { return false; }, give_up, none));
  }
  return {};
}

void Collectives::fail_for_all(const CollectiveGroup& group, const Live& live, const Error& error) {
  const double deadline = node_.clock().now() + kForWord;
  for (uint32_t member = 1; member < live.group.members; ++member) {
    (void)send(group, live.ids[member], collective_kind::failed,
               Failure{node_.newest_membership()->epoch(), error}.encode({group.id, 0, member}), {}, deadline);
  }
}

Result<CallResult> Collectives::call(CollectiveGroup& group, const Live& live, const std::vector<NodeId>& before,
                                     CallSpec spec, double deadline) {
  CollectiveCall::Wiring wiring;
  wiring.send = [&](uint32_t to, Kind kind, std::string_view meta, Blob body) {
    return send(group, live.ids[to], kind, meta, std::move(body), deadline + kForLeader);
  };
  wiring.returned = node_.port().waker();
  wiring.who_is_lost = [&] {
    std::vector<NodeId> now;
    const MembershipPtr newest = node_.newest_membership();
    for (const NodeId id : live.ids) {
      if (newest->alive(id)) now.push_back(id);
    }
    return now.size() < live.ids.size() ? lost_between(live.ids, now) : lost_between(before, live.ids);
  };
  wiring.epoch = [&] { return node_.newest_membership()->epoch(); };
  CollectiveCall call(std::move(spec), live.group, wiring);
  AH_TRY(drive(call, group, live, deadline));
  AH_TRY(catch_up(call.news()));
  if (!call.outcome().ok()) return call.outcome().error();
  return std::move(call.result());
}

Status Collectives::drive(CollectiveCall& call, const CollectiveGroup& group, const Live& live, double deadline) {
  Inquiry inquiry(node_, call.spec(), live);
  const Port::Match wanted = match(group);
  std::vector<Frame> frames;
  uint64_t epoch = node_.membership().epoch();
  std::optional<Error> given_up;
  double last_moment = kForever;  // until when the leader may say how the call has ended after that
  AH_TRY(call.begin());
  while (!call.over()) {
    const double now = node_.clock().now();
    if (given_up && now >= last_moment) {
      call.abandon(*given_up);
      continue;
    }
    if (!call.decided() && !given_up) {
      if (now >= deadline) {
        given_up = Error{Code::timeout, call.spec().name + ": " + missing_text(call) + " not answered in time"};
      } else if (Status there = inquiry.look(call.missing()); !there.ok()) {
        if (there.error().code != Code::mismatch) return there;
        given_up = there.error();
      }
      if (given_up) {
        last_moment = node_.clock().now() + kForLeader;
        AH_TRY(call.give_up(*given_up));
        continue;
      }
    }
    // Looked at after whatever may have taken a wake, and before the next wait.
    const MembershipPtr newest = node_.newest_membership();
    const double until = given_up ? last_moment : std::min(deadline, inquiry.next());
    frames.clear();
    // What was sent before its sender was lost is here when the loss is known, and counts.
    const bool changed = newest->epoch() != epoch;
    AH_TRY(node_.receive_some(wanted, changed ? now : call.decided() ? kForever : until, frames));
    for (Frame& frame : frames) {
      const auto route = Route::of(frame);
      if (!route || route->from >= live.ids.size() || frame.src != worker_address(live.ids[route->from])) continue;
      AH_TRY(call.take(route->from, std::move(frame)));
    }
    if (!changed || call.decided()) continue;
    epoch = newest->epoch();
    for (uint32_t member = 0; member < live.ids.size() && !call.decided(); ++member) {
      if (!newest->alive(live.ids[member])) {
        AH_TRY(call.lost(member, "rank " + std::to_string(live.group.ranks[member]) + " lost"));
      }
    }
  }
  if (node_.log().enabled(LogLevel::debug)) {
    node_.log().debug(node_.name(), call.spec().signature + " at " + call.spec().where + ": " + call.algorithm() +
                                        ", " + std::to_string(call.bytes_sent()) + " bytes sent");
  }
  return {};
}

}  // namespace actorhost
