#include "host/engine/collective/async_calls.hpp"

#include <algorithm>
#include <utility>

namespace actorhost {

AsyncCalls::AsyncCalls(ServiceThread& courier, Arbiter& arbiter) : courier_(courier), arbiter_(arbiter) {
  courier.add(KindRange{collective_kind::announce, collective_kind::last, "collectives"}, *this);
}

std::shared_ptr<AsyncCall> AsyncCalls::start(Start start) {
  auto call = std::make_shared<AsyncCall>();  // shared by the node and the courier's thread
  call->name_ = start.spec.name;
  call->signature_ = start.spec.signature;
  call->where_ = start.spec.where;
  call->ids_ = start.group.ids;
  call->ranks_ = start.group.ranks;
  call->key_ = {start.group.id, start.number, start.group.ids[start.group.me]};
  call->wake_ = start.wake;
  auto pending = std::make_shared<Start>(std::move(start));  // std::function needs a copyable target
  courier_.post([this, call, pending] { begin(std::move(*pending), call); });
  return call;
}

void AsyncCalls::query_missing(const std::shared_ptr<AsyncCall>& call) {
  courier_.post([this, call] {
    Running* running = find(*call);
    if (running == nullptr) return;
    (void)running->call->query_missing();
    call->set_absent(running->call->missing().absent);
  });
}

void AsyncCalls::give_up(const std::shared_ptr<AsyncCall>& call, const Error& error) {
  courier_.post([this, call, error] {
    if (Running* running = find(*call)) (void)running->call->give_up(error);
  });
}

AsyncCalls::Running* AsyncCalls::find(const AsyncCall& call) {
  const auto found = running_.find(call.key_);
  return found != running_.end() && found->second.handle.get() == &call ? &found->second : nullptr;
}

void AsyncCalls::wire(Running& running, Start& start, const Membership& membership) {
  for (const NodeId id : start.group.ids) {
    const ProcessId home = membership.home_of(worker_address(id));
    running.couriers.push_back(home == kNoProcess ? kNoAddress : courier_address(home));
  }
  CallWiring wiring;
  wiring.send = [this, couriers = running.couriers, number = start.number](uint32_t to, Kind kind,
                                                                           std::string_view meta, Blob body) {
    if (couriers[to] != kNoAddress) {
      courier_.send(make_frame(kind, courier_.address(), couriers[to], number, meta, std::move(body)));
    }
    return Status();
  };
  wiring.returned = courier_.waker();
  wiring.describe_loss = [this, ids = start.group.ids, all = start.group.ranks] {
    std::vector<uint32_t> ranks;
    const MembershipPtr newest = courier_.newest_membership();
    for (size_t i = 0; i < ids.size(); ++i) {
      if (!newest->alive(ids[i])) ranks.push_back(all[i]);
    }
    return ranks.empty() ? std::string("the membership has changed") : ranks_text(ranks) + " lost";
  };
  wiring.epoch = [this] { return courier_.newest_membership()->epoch(); };
  wiring.ledger = &arbiter_.ledger();
  wiring.key = {start.group.id, true, start.number};
  wiring.self = start.group.ids[start.group.me];
  wiring.leader = start.group.ids.front();
  wiring.appeal = [this, key = wiring.key, self = wiring.self, members = start.group.ids](const Error& error) {
    arbiter_.appeal({key, self, members, error});
  };
  wiring.appeal_if_decided = [this, key = wiring.key, self = wiring.self, members = start.group.ids](
                                 const Error& error, std::vector<NodeId> ranks) {
    arbiter_.appeal_if_decided({key, self, members, error}, std::move(ranks));
  };
  wiring.distrust = [this, couriers = running.couriers](uint32_t from, Kind kind, const std::string& why) {
    return courier_.distrust(couriers[from], kind, {Code::bad_data, why});
  };
  wiring.receive_buffers = &courier_.receive_buffers();
  wiring.tag = start.number;
  wiring.ledger->enter(wiring.key, wiring.self);
  running.call = CollectiveCall::make(std::move(start.spec), std::move(start.group), std::move(wiring), start.clock);
}

void AsyncCalls::begin(Start start, const std::shared_ptr<AsyncCall>& handle) {
  const Key key = handle->key_;
  newest_[{start.group.id, start.group.ids[start.group.me]}] = start.number;
  Running& running = running_[key];
  running.handle = handle;
  const MembershipPtr membership = courier_.newest_membership();
  wire(running, start, *membership);
  (void)running.call->begin();
  if (auto early = early_.extract(key)) {
    std::vector<Frame>& frames = early.mapped();
    // Announcements first: one rank's `give_up` must not hide the arrival of other ranks.
    std::stable_partition(frames.begin(), frames.end(),
                          [](const Frame& frame) { return frame.kind == collective_kind::announce; });
    for (Frame& frame : frames) deliver(running, std::move(frame));
  }
  (void)running.call->on_membership(*membership);
}

void AsyncCalls::on_frame(Frame&& frame, double /*now*/) {
  const auto route = route_of(frame);
  if (!route) {
    courier_.distrust(frame.src, frame.kind, {Code::bad_data, "it names no call"});
    return;
  }
  const Key key{route->group, frame.tag, route->to};
  const auto found = running_.find(key);
  if (found != running_.end()) return deliver(found->second, std::move(frame));
  const auto newest = newest_.find({route->group, route->to});
  const uint32_t started = newest == newest_.end() ? 0 : newest->second;
  if (static_cast<int32_t>(frame.tag - started) > 0) return early_[key].push_back(std::move(frame));
  appeal_for_late(*route, frame, {route->to});  // with the outcome of that rank
}

/// A rank has announced a finished call, or a call that excludes the rank: an arbiter sends the rank the call's end,
/// as in blocking calls.
void AsyncCalls::appeal_for_late(const Route& route, const Frame& frame, std::vector<NodeId> members) {
  if (frame.kind != collective_kind::announce || !courier_.newest_membership()->alive(route.from)) return;
  members.insert(std::lower_bound(members.begin(), members.end(), route.from), route.from);
  const Error error{Code::peer_lost, "a collective: the membership has changed"};
  arbiter_.appeal({{route.group, true, frame.tag}, route.from, std::move(members), error});  // may decide at once
}

void AsyncCalls::deliver(Running& running, Frame&& frame) {
  const Route route = *route_of(frame);
  const std::vector<NodeId>& ids = running.handle->ids_;
  const auto place = std::lower_bound(ids.begin(), ids.end(), route.from);
  const auto from = static_cast<uint32_t>(place - ids.begin());
  if (place == ids.end() || *place != route.from) return appeal_for_late(route, frame, ids);
  if (frame.src != running.couriers[from]) return;
  const bool is_missing_reply = frame.kind == collective_kind::missing;
  (void)running.call->take(from, std::move(frame));
  if (is_missing_reply) running.handle->set_absent(running.call->missing().absent);
}

void AsyncCalls::on_membership(const MembershipPtr& membership, double /*now*/) {
  for (auto& [key, running] : running_) (void)running.call->on_membership(*membership);
}

void AsyncCalls::finish(Running& running) {
  CollectiveCall& call = *running.call;
  AsyncCall& handle = *running.handle;
  const bool succeeded = call.outcome().ok();
  call.result().place = call.group().me;
  call.result().places = call.group().members;
  if (succeeded && courier_.log().enabled(LogLevel::debug)) {
    choices_.log(courier_.log(), "rank " + std::to_string(call.group().ranks[call.group().me]),
                 choice_text(call.spec(), call.result(), call.group().members, call.algorithm()));
  }
  handle.loss_epoch_ = call.loss_epoch();
  handle.failed_with_loss_ = !succeeded && call.outcome().error().code == Code::peer_lost;
  if (handle.failed_with_loss_) {
    const MembershipPtr newest = courier_.newest_membership();
    std::copy_if(handle.ids_.begin(), handle.ids_.end(), std::back_inserter(handle.lost_),
                 [&](NodeId id) { return !newest->alive(id); });
  }
  handle.outcome_ =
      succeeded ? Result<CallResult>(std::move(call.result())) : Result<CallResult>(call.outcome().error());
  handle.done_.store(true, std::memory_order_release);
  if (handle.wake_) handle.wake_();
}

double AsyncCalls::tick(double now) {
  double next = kForever;
  for (auto it = running_.begin(); it != running_.end();) {
    CollectiveCall& call = *it->second.call;
    (void)call.tick(now);
    if (call.over()) {
      finish(it->second);
      it = running_.erase(it);
      continue;
    }
    next = std::min(next, call.clock().due());
    ++it;
  }
  return next;
}

}  // namespace actorhost
