#include "host/engine/share/event_box.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "host/base/tasks.hpp"

namespace actorhost {

namespace {

// Between requests for the others' state, in seconds: 1 at first, then doubled up to this.
constexpr double kMaxQueryInterval = 16;

}  // namespace

EventBox::EventBox(Node& node, ServiceThread& courier) : node_(node), courier_(courier) {
  node.port().set_handler(kinds_of(Kind::event_first), *this);
}

// ---- receiving ----

void EventBox::on_frame(Frame&& frame) {
  if (!is_worker(frame.src)) return;
  if (frame.kind == event_kind::event) return on_event(std::move(frame));
  if (frame.kind != event_kind::window_update) return;
  const auto update = read_message<WindowUpdate>(frame);
  if (update) {
    peers_[frame.src].confirmed = *update;
  } else {
    node_.cluster().distrust(frame.src, frame.kind, update.error().message);
  }
}

void EventBox::on_event(Frame&& frame) {
  const NodeId from = frame.src;
  const uint64_t cost = frame.cost();
  Peer& peer = peers_[from];
  ++peer.received;
  peer.received_cost += cost;
  if (!std::exchange(peer.unaccepted, true)) unaccepted_.push_back(from);
  auto message = read_message<EventMessage>(frame);
  if (!message) {
    node_.cluster().distrust(from, event_kind::event, message.error().message);
    return;
  }
  enqueue({std::move(message->name), from, std::move(message->value)}, cost);
}

void EventBox::enqueue(Event event, uint64_t cost) {
  const uint64_t number = numbers_++;
  names_[event.name].insert(number);
  events_.emplace(number, Queued{std::move(event), cost, rounds_});
}

/// Accepts all received events, so no sender waits for this node while this node waits.
void EventBox::before_wait() {
  if (unaccepted_.empty()) return;
  ++rounds_;
  for (const NodeId from : std::exchange(unaccepted_, {})) {
    Peer& peer = peers_[from];
    peer.unaccepted = false;
    peer.accepted = {peer.received, peer.received_cost};
    send_window_update(from, peer);
  }
}

/// Reports the accepted events to a sender when they amount to a quarter of its window. A waiting sender has a whole
/// window in flight, so it always gets a report.
void EventBox::send_window_update(NodeId from, Peer& peer) {
  const bool due = peer.accepted.events - peer.reported.events >= kWindowEvents / 4 ||
                   peer.accepted.cost - peer.reported.cost >= kWindowBytes / 4;
  if (!due) return;
  peer.reported = peer.accepted;
  Frame frame = message_frame(event_kind::window_update, worker_address(from), 0, peer.reported);
  frame.src = node_.address();
  courier_.forward(std::move(frame));
}

void EventBox::put(const std::string& name, PackedValue value) { enqueue({name, node_.index(), std::move(value)}, 0); }

// ---- calls of the script ----

std::optional<uint64_t> EventBox::find(const Filter& filter) const {
  if (events_.empty()) return std::nullopt;
  if (!filter.name && !filter.from) return events_.begin()->first;
  if (!filter.name) {
    const auto at = std::find_if(events_.begin(), events_.end(),
                                 [&](const auto& entry) { return entry.second.event.from == *filter.from; });
    return at != events_.end() ? std::optional(at->first) : std::nullopt;
  }
  const auto numbers = names_.find(*filter.name);
  if (numbers == names_.end()) return std::nullopt;
  for (const uint64_t number : numbers->second) {
    if (!filter.from || events_.at(number).event.from == *filter.from) return number;
  }
  return std::nullopt;
}

Event EventBox::take(uint64_t number) {
  const auto node = events_.extract(number);
  Queued& queued = node.mapped();
  const auto name = names_.find(queued.event.name);
  name->second.erase(number);
  if (name->second.empty()) names_.erase(name);
  if (queued.cost != 0 && queued.round == rounds_) {  // not yet counted as accepted
    Peer& peer = peers_[queued.event.from];
    ++peer.accepted.events;
    peer.accepted.cost += queued.cost;
    send_window_update(queued.event.from, peer);
  }
  return std::move(queued.event);
}

Result<std::optional<Event>> EventBox::get(const Filter& filter) {
  Task::pay_for_computing();
  AH_TRY(node_.check());
  auto number = find(filter);
  if (!number) {
    AH_TRY(node_.port().poll());
    number = find(filter);
  }
  if (!number) return std::optional<Event>();
  return std::optional(take(*number));
}

Result<Event> EventBox::wait(const Filter& filter, double deadline) {
  AH_TRY(node_.check());
  static constexpr EngineCall kCall{Cause::event, "wait_event"};
  const Activity activity(node_.stats(), kCall);
  std::vector<Address> awaited;
  if (filter.from && *filter.from != node_.index()) awaited.push_back(worker_address(*filter.from));
  EndWatch watch{node_.clock().now()};
  for (;;) {
    const auto done = [&] { return find(filter) || (!filter.from && others().empty()); };
    const double until = std::min(deadline, node_.clock().now() + watch.interval);
    const Status waited = node_.wait_until(done, awaited, "wait_event", until);
    if (const auto number = find(filter)) return take(*number);
    if (waited) return wait_error(filter, Code::peer_lost, "no other worker is left to send it");
    if (waited.error().code == Code::peer_lost) {
      return wait_error(filter, Code::peer_lost, rank_name(*filter.from) + " lost");
    }
    if (waited.error().code != Code::timeout) return waited.error();
    if (node_.clock().now() >= deadline) return wait_error(filter, Code::timeout, "timed out");
    const auto ended = have_ended(filter.from ? std::vector<NodeId>{*filter.from} : others(), watch, "wait_event");
    if (!ended) return ended.error();
    if (!*ended) continue;
    if (const auto number = find(filter)) return take(*number);
    return wait_error(
        filter, Code::peer_lost,
        (filter.from ? rank_name(*filter.from) : "every other worker") + " has come to the end of its script");
  }
}

Result<bool> EventBox::have_ended(const std::vector<NodeId>& ids, EndWatch& watch, const char* call) {
  AH_LET(auto list, node_.whereabouts());
  std::string missing;
  for (const NodeId id : ids) {
    if (id == node_.index()) continue;  // this node waits, so it sends nothing itself
    const auto at = std::find_if(list.begin(), list.end(), [id](const Whereabouts& w) { return w.id == id; });
    if (at != list.end() && !at->ended) missing += (missing.empty() ? "" : ", ") + rank_name(id);
  }
  const bool ended = missing.empty();
  const bool sure = ended && watch.ended_before;
  watch.interval = ended ? 1 : std::min(2 * watch.interval, kMaxQueryInterval);
  watch.ended_before = ended;
  const double left = watch.since + Node::kLongWait - node_.clock().now();
  if (ended || watch.logged) return sure;
  watch.logged = left <= 0;
  if (watch.logged) {
    node_.log_long_wait(call, missing);
  } else {
    watch.interval = std::min(watch.interval, left);
  }
  return sure;
}

std::vector<NodeId> EventBox::others() const {
  std::vector<NodeId> ids;
  for (const Member& member : node_.newest_membership()->workers()) {
    if (member.id != node_.index()) ids.push_back(member.id);
  }
  return ids;
}

// ---- sending ----

bool EventBox::full(NodeId to) const {
  const auto at = peers_.find(to);
  if (at == peers_.end()) return false;
  const Peer& peer = at->second;
  return peer.sent - peer.confirmed.events >= kWindowEvents || peer.sent_cost - peer.confirmed.cost >= kWindowBytes;
}

Result<size_t> EventBox::send(const std::vector<NodeId>& to, const EventMessage& message, double deadline) {
  AH_TRY(node_.check());
  size_t got = 0;
  const auto send_to = [&](NodeId id) -> Status {
    Status sent = send_now(id, message, deadline);
    if (sent) ++got;
    return sent || sent.error().code == Code::peer_lost ? Status() : sent;
  };
  std::vector<NodeId> behind;
  for (const NodeId id : to) {
    if (id == node_.index() || ended_.contains(id)) continue;
    if (full(id)) {
      behind.push_back(id);
    } else {
      AH_TRY(send_to(id));
    }
  }
  for (const NodeId id : behind) {
    const Status room = wait_for_room(id, deadline);
    if (room) AH_TRY(send_to(id));
    if (!room && room.error().code != Code::peer_lost) return room.error();
  }
  return got;
}

Status EventBox::send_now(NodeId to, const EventMessage& message, double deadline) {
  if (!node_.newest_membership()->alive(to)) return Error{Code::peer_lost, rank_name(to) + " lost"};
  AH_LET(auto frame, message.frame(to));
  const uint64_t cost = frame.cost();
  AH_TRY(node_.port().send(std::move(frame), deadline));
  Peer& peer = peers_[to];
  ++peer.sent;
  peer.sent_cost += cost;
  return {};
}

Status EventBox::wait_for_room(NodeId to, double deadline) {
  const std::array<Address, 1> awaited = {worker_address(to)};
  EndWatch watch{node_.clock().now()};
  for (;;) {
    const double until = std::min(deadline, node_.clock().now() + watch.interval);
    Status waited = node_.wait_until([&] { return !full(to); }, awaited, "send_event", until);
    if (waited || waited.error().code != Code::timeout) return waited;
    if (node_.clock().now() >= deadline) {
      return Error{Code::timeout, "send_event: " + rank_name(to) + " has not accepted the earlier events in time"};
    }
    const auto ended = have_ended({to}, watch, "send_event");
    if (!ended) return ended.error();
    if (!*ended) continue;
    ended_.insert(to);
    return Error{Code::peer_lost, rank_name(to) + " has come to the end of its script"};
  }
}

// ---- texts ----

std::string EventBox::rank_name(NodeId id) const {
  const auto rank = node_.membership().rank_of(id);
  return rank ? "rank " + std::to_string(*rank) : address_name(worker_address(id));
}

Error EventBox::wait_error(const Filter& filter, Code code, const std::string& why) const {
  const std::string from = filter.from && code == Code::timeout ? " from " + rank_name(*filter.from) : "";
  const std::string awaited = filter.name ? "'" + *filter.name + "'" : "an event";
  return {code, "wait_event: " + why + " while waiting for " + awaited + from};
}

}  // namespace actorhost
