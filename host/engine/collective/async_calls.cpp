#include "host/engine/collective/async_calls.hpp"

#include <algorithm>
#include <utility>

namespace actorhost {

namespace {

constexpr double kForLeader = 0.5;  // seconds past a deadline in which the leader may say who is missing

std::string rank_text(const CollectiveCall::Group& group, uint32_t member) {
  return "rank " + std::to_string(group.ranks[member]);
}

}  // namespace

AsyncCalls::AsyncCalls(Courier& courier) : courier_(courier) {
  courier.add(KindRange{collective_kind::announce, collective_kind::parcel, "collectives"}, *this);
}

std::shared_ptr<AsyncCall> AsyncCalls::start(Start start) {
  auto handle = std::make_shared<AsyncCall>();  // shared by the node and the courier's thread
  handle->name_ = start.spec.name;
  handle->wake_ = start.wake;
  auto kept = std::make_shared<Start>(std::move(start));  // std::function wants what can be copied
  courier_.post([this, handle, kept] { begin(std::move(*kept), handle); });
  return handle;
}

void AsyncCalls::begin(Start start, const std::shared_ptr<AsyncCall>& handle) {
  const Key key{start.group.id, start.number, start.group.me};
  newest_[{start.group.id, start.group.me}] = start.number;
  Running& running = running_[key];
  running.handle = handle;
  running.deadline = start.deadline;
  running.members = start.members;
  const MembershipPtr membership = courier_.newest_membership();
  for (const NodeId id : start.members) {
    const ProcessId home = membership->home_of(worker_address(id));
    running.couriers.push_back(home == kNoProcess ? kNoAddress : courier_address(home));
  }
  CollectiveCall::Wiring wiring;
  wiring.send = [this, couriers = running.couriers, number = start.number](uint32_t to, Kind kind,
                                                                           std::string_view meta, Blob body) {
    if (couriers[to] != kNoAddress) {
      courier_.send(make_frame(kind, courier_.address(), couriers[to], number, meta, std::move(body)));
    }
    return Status();
  };
  wiring.returned = courier_.waker();
  wiring.who_is_lost = [] { return std::string("the membership has changed"); };
  wiring.epoch = [this] { return courier_.newest_membership()->epoch(); };
  running.call = std::make_unique<CollectiveCall>(std::move(start.spec), start.group, wiring);
  (void)running.call->begin();
  const auto found = early_.find(key);
  if (found != early_.end()) {
    std::vector<Frame> frames = std::move(found->second);
    early_.erase(found);
    for (Frame& frame : frames) {
      const uint32_t from = Route::of(frame)->from;
      (void)running.call->take(from, std::move(frame));
    }
  }
  report_losses(running, *membership);
}

void AsyncCalls::on_frame(Frame&& frame, double /*now*/) {
  const auto route = Route::of(frame);
  if (!route) return;
  const Key key{route->group, frame.tag, route->to};
  const auto found = running_.find(key);
  if (found == running_.end()) {
    const auto newest = newest_.find({route->group, route->to});
    const uint32_t started = newest == newest_.end() ? 0 : newest->second;
    if (static_cast<int32_t>(frame.tag - started) > 0) early_[key].push_back(std::move(frame));
    return;
  }
  Running& running = found->second;
  if (route->from >= running.couriers.size() || frame.src != running.couriers[route->from]) return;
  (void)running.call->take(route->from, std::move(frame));
}

void AsyncCalls::on_membership(const MembershipPtr& membership, double /*now*/) {
  for (auto& [key, running] : running_) report_losses(running, *membership);
}

void AsyncCalls::report_losses(Running& running, const Membership& membership) {
  for (uint32_t member = 0; member < running.members.size() && !running.call->decided(); ++member) {
    if (membership.alive(running.members[member])) continue;
    (void)running.call->lost(member, rank_text(running.call->group(), member) + " lost");
  }
}

double AsyncCalls::tick(double now) {
  double next = kForever;
  for (auto it = running_.begin(); it != running_.end();) {
    Running& running = it->second;
    CollectiveCall& call = *running.call;
    if (!call.decided() && now >= running.deadline) {
      std::string who;
      for (const uint32_t member : call.missing()) {
        who += (who.empty() ? "" : ", ") + rank_text(call.group(), member);
      }
      const Error error{Code::timeout, call.spec().name + ": " + who + " has not answered in time"};
      if (now >= running.deadline + kForLeader) {
        call.abandon(error);
      } else if (!std::exchange(running.asked, true)) {
        (void)call.give_up(error);
      }
    }
    if (call.over()) {
      AsyncCall& handle = *running.handle;
      call.result().place = call.group().me;
      call.result().places = call.group().members;
      handle.outcome_ = call.outcome().ok() ? Result<CallResult>(std::move(call.result()))
                                            : Result<CallResult>(call.outcome().error());
      handle.done_.store(true, std::memory_order_release);
      if (handle.wake_) handle.wake_();
      it = running_.erase(it);
      continue;
    }
    if (!call.decided()) next = std::min(next, running.asked ? running.deadline + kForLeader : running.deadline);
    ++it;
  }
  return next;
}

}  // namespace actorhost
