#include "host/engine/peer/key_client.hpp"

namespace actorhost {

namespace {

constexpr double kGiveUp = 60;       // seconds until a request fails
constexpr double kStopped = 0.25;    // a tick late by this: the node was suspended, or its clock has jumped
constexpr double kLongestSleep = 1;  // between ticks with pending requests: limits the error of the measured suspension
constexpr double kProbe = 0.5;       // until the owner is probed for the status of a request
constexpr double kLongestProbe = 4;  // between these probes
constexpr double kRouteAgain = 0.02;
constexpr size_t kMostArcs = 4096;
constexpr size_t kLookups = 16;  // in flight for a request
constexpr size_t kSmallBytes = 64 << 10;
constexpr size_t kMessageBytes = 4 << 20;
constexpr size_t kMostInFlight = 16 << 20;
constexpr uint32_t kMostDoubled = 3;
constexpr size_t kMostNamed = 8;

}  // namespace

void KeyClient::get(std::vector<ParamKey> keys, Mark mark, double now, OnValues done, bool shared) {
  if (keys.empty()) return done(std::vector<ParamEntry>());
  Request request;
  request.head = {{}, KeyRequest::Type::get, mark};
  for (ParamKey& key : keys) {
    const auto [at, fresh] = request.places.try_emplace(key, static_cast<uint32_t>(request.keys.size()));
    request.order.push_back(at->second);
    if (!fresh) continue;
    request.values.emplace_back().entry.key = key;
    request.keys.push_back(std::move(key));
  }
  request.shared = shared;
  request.got = std::move(done);
  begin(std::move(request), now);
}

void KeyClient::set(std::vector<ParamEntry> entries, Mark mark, uint64_t number, double now, OnDone done) {
  write({{}, KeyRequest::Type::set, mark, {}, number}, std::move(entries), now, std::move(done));
}

void KeyClient::write(const KeyRequest& head, std::vector<ParamEntry> entries, double now, OnDone done) {
  if (entries.empty()) return done({});
  Request request;
  request.head = head;
  request.entries = std::move(entries);
  request.done = std::move(done);
  begin(std::move(request), now);
}

void KeyClient::push(std::vector<ParamEntry> entries, Mark mark, const PushRule& rule, double now, OnDone done,
                     uint64_t number) {
  write({{}, KeyRequest::Type::push, mark, rule, number}, std::move(entries), now, std::move(done));
}

void KeyClient::count(std::vector<ParamEntry> parts, Mark mark, double now, OnDone done) {
  write({{}, KeyRequest::Type::count, mark}, std::move(parts), now, std::move(done));
}

void KeyClient::outcome(const ParamKey& key, NodeId writer, Mark mark, uint64_t number, double now, OnDone done) {
  write({{}, KeyRequest::Type::outcome, mark, {}, number, 0, writer}, {{key, {}, 0}}, now, std::move(done));
}

void KeyClient::begin(Request&& request, double now) {
  if (request.ordered()) {
    for (const ParamEntry& entry : request.entries) pushed_[entry.key].insert(request.head.mark);
  }
  const uint32_t id = ++last_request_;
  request.replied.resize(request.size());
  request.open = request.size();
  request.deadline = now + kGiveUp;
  std::vector<uint32_t> places(request.size());
  for (uint32_t i = 0; i < places.size(); ++i) places[i] = i;
  requests_.emplace(id, std::move(request));
  route(id, places, now, kLookups);
}

const Peer* KeyClient::owner_of(RingId place) const {
  if (arcs_.empty()) return nullptr;
  auto arc = arcs_.lower_bound(place);
  if (arc == arcs_.end()) arc = arcs_.begin();
  return in_arc(arc->second.from, place, arc->first) ? &arc->second.owner : nullptr;
}

void KeyClient::forget_route(const Peer& peer) {
  std::erase_if(arcs_, [&](const auto& arc) { return arc.second.owner.node == peer.node; });
}

void KeyClient::route(uint32_t id, const std::vector<uint32_t>& places, double now, size_t lookups) {
  const auto at = requests_.find(id);
  if (at == requests_.end()) return;
  std::map<NodeId, std::pair<Peer, std::vector<uint32_t>>> known;
  std::vector<std::pair<RingId, uint32_t>> unknown;
  const Neighbourhood& near = overlay_.near();
  for (const uint32_t place : places) {
    const RingId key = place_of(at->second.key(place));
    if (near.owns(key) || near.covers(key)) {
      const Peer owner = near.owns(key) ? overlay_.self() : near.owner_of(key);
      auto& group = known[owner.node];
      group.first = owner;
      group.second.push_back(place);
    } else if (const Peer* owner = owner_of(key)) {
      auto& group = known[owner->node];
      group.first = *owner;
      group.second.push_back(place);
    } else {
      unknown.emplace_back(key, place);
    }
  }
  for (const auto& [node, group] : known) enqueue(id, group.second, group.first, now);
  // Neighbours on the ring have the same owner. So each stretch of the ring is looked up separately, one arc after
  // another.
  std::sort(unknown.begin(), unknown.end());
  const size_t stretches = std::min(lookups, unknown.size());
  for (size_t i = 0; i < stretches; ++i) {
    std::vector<uint32_t> stretch;
    for (size_t k = i * unknown.size() / stretches; k < (i + 1) * unknown.size() / stretches; ++k) {
      stretch.push_back(unknown[k].second);
    }
    look_up(id, std::move(stretch), now);
  }
}

// Looks up the first of the places, stores the arc of its owner, and routes all the places again.
void KeyClient::look_up(uint32_t id, std::vector<uint32_t> places, double now) {
  const RingId key = place_of(requests_.at(id).key(places.front()));
  overlay_.find(key, now, [this, id, places = std::move(places)](Result<Located> located) {
    const double when = overlay_.now();
    if (!located.ok()) return later_.push_back({when + 10 * kRouteAgain, id, places});
    const auto& before = located->lists.before.peers;
    const RingId from = before.empty() ? located->owner.id : before.front().id;
    if (arcs_.size() >= kMostArcs) arcs_.clear();
    // Old arcs of departed nodes inside the new arc would hide it.
    std::erase_if(arcs_, [&](const auto& arc) { return in_arc(from, arc.first, located->owner.id); });
    arcs_[located->owner.id] = {from, located->owner};
    route(id, places, when);
  });
}

// The latest of this node's unacknowledged pushes of the key that must precede the request.
Mark KeyClient::own_before(const Request& request, size_t place) const {
  if (request.head.type == KeyRequest::Type::count || request.head.type == KeyRequest::Type::outcome) return 0;
  const auto pushed = pushed_.find(request.key(place));
  if (pushed == pushed_.end()) return 0;
  const std::set<Mark>& marks = pushed->second;
  const auto after = request.ordered() ? marks.lower_bound(request.head.mark) : marks.end();
  return after == marks.begin() ? 0 : *std::prev(after);
}

// Splits the request into messages of a few megabytes, with a separate message for each preceding push.
void KeyClient::enqueue(uint32_t id, const std::vector<uint32_t>& places, const Peer& to, double now) {
  const Request& request = requests_.at(id);
  const bool get = request.head.type == KeyRequest::Type::get;
  std::map<Mark, Waiting> messages;
  for (const uint32_t place : places) {
    const Mark own = own_before(request, place);
    Waiting& message = messages.try_emplace(own, Waiting{id, {}, to, 0, own}).first->second;
    const size_t bytes =
        get ? (request.keys[place].is_part() ? kChunkBytes : 0) : payload_bytes(request.entries[place].value);
    if (!message.places.empty() && message.bytes + bytes > kMessageBytes) {
      waiting_.push_back(std::exchange(message, {id, {}, to, 0, own}));
    }
    message.places.push_back(place);
    message.bytes += bytes;
  }
  for (auto& [own, message] : messages) waiting_.push_back(std::move(message));
  send_waiting(now);
}

// Small messages do not wait for large ones. Messages of later requests do not count, because they may wait for this
// one.
bool KeyClient::may_send(const Waiting& waiting) const {
  if (waiting.bytes <= kSmallBytes || bytes_in_flight_ + waiting.bytes <= kMostInFlight) return true;
  const bool of_pull = requests_.at(waiting.request).may_wait_for_pull();
  size_t before = 0;
  for (const auto& [tag, message] : in_flight_) {
    if (message.of_pull == of_pull && message.request <= waiting.request) before += message.bytes;
  }
  return before == 0 || before + waiting.bytes <= kMostInFlight;
}

void KeyClient::send_waiting(double now) {
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    if (!may_send(*at)) {
      ++at;
      continue;
    }
    Waiting message = std::move(*at);
    at = waiting_.erase(at);
    send(std::move(message), now);
  }
}

void KeyClient::send(Waiting&& waiting, double now) {
  Request& request = requests_.at(waiting.request);
  const uint32_t tag = ++last_tag_;
  request.head.envelope = {overlay_.self(), waiting.to.node};
  request.head.own = waiting.own;
  request.head.passed = passed_;
  const std::string head = pack(request.head);
  const size_t first = frames_.size();
  const Address courier = courier_address(waiting.to.process);
  if (request.head.type == KeyRequest::Type::get) {
    std::vector<ParamKey> keys;
    for (const uint32_t place : waiting.places) keys.push_back(request.keys[place]);
    pack_keys(peer_kind::request, courier, tag, head, keys, frames_);
  } else {
    EntryPacker packer(peer_kind::request, courier, tag, head, true);
    for (const uint32_t place : waiting.places) packer.add(request.entries[place]);
    packer.finish(frames_);
  }
  for (size_t i = first; i < frames_.size(); ++i) frames_[i].src = courier_address(overlay_.self().process);
  bytes_in_flight_ += waiting.bytes;
  const double wait =
      (kProbe + static_cast<double>(bytes_in_flight_) / kSlowestPeer) * (1 << std::min(request.silences, kMostDoubled));
  in_flight_[tag] = {waiting.request,
                     std::move(waiting.places),
                     waiting.to,
                     waiting.bytes,
                     request.may_wait_for_pull(),
                     now + wait,
                     wait};
}

std::map<uint32_t, KeyClient::InFlight>::node_type KeyClient::take(uint32_t tag) {
  auto message = in_flight_.extract(tag);
  bytes_in_flight_ -= message.mapped().bytes;
  return message;
}

std::vector<KeyClient::Pending> KeyClient::pending() const {
  std::vector<Pending> out;
  const auto add = [&](const Request& request, size_t place, Pending pending) {
    const ParamKey& key = request.key(place);
    pending.key = key.is_part() ? key.whole() : key;
    if (out.size() < kMostNamed) out.push_back(std::move(pending));
  };
  for (const auto& [tag, message] : in_flight_) {
    add(requests_.at(message.request), message.places.front(), {{}, message.to.node, message.awaited});
  }
  if (!out.empty() || requests_.empty()) return out;
  const Request& request = requests_.begin()->second;  // the lookup of its owner is in flight
  const auto missing = std::find(request.replied.begin(), request.replied.end(), 0);
  add(request, static_cast<size_t>(missing - request.replied.begin()), {});
  return out;
}

void KeyClient::on_reply(Frame&& frame, const KeyReply& reply, Unpacker& in, double now) {
  const auto at = in_flight_.find(frame.tag);
  if (at == in_flight_.end() || at->second.to.node != reply.envelope.from.node) return;
  InFlight& message = at->second;
  if (reply.state == KeyReply::State::working) {
    message.probed = false;
    message.awaited = reply.awaited;
    message.wait = std::min(2 * message.wait, kLongestProbe);
    message.due = now + message.wait;
    return;
  }
  if (reply.state == KeyReply::State::unknown) return retry(frame.tag, now, 0);
  if (reply.state == KeyReply::State::moved) {
    forget_route(message.to);
    return retry(frame.tag, now, kRouteAgain);
  }
  Request& request = requests_.at(message.request);
  if (!reply.status.ok() && !request.error) request.error = reply.status.error();
  if (request.head.type == KeyRequest::Type::get && reply.status.ok()) {
    std::vector<ParamEntry> entries;
    const Status read = read_entries(in, frame.body, true, entries);
    if (!read.ok() && !request.error) request.error = malformed(frame, read.error().message);
    frame.body = {};
    take_values(request, std::move(entries));
    if ((frame.flags & kLastFrame) == 0) return;
    for (const uint32_t place : message.places) {
      if (!request.values[place].complete()) return retry(frame.tag, now, kRouteAgain);  // a part was lost
    }
  }
  const uint32_t id = message.request;
  request.open -= message.places.size();
  for (const uint32_t place : message.places) request.replied[place] = 1;
  take(frame.tag);
  if (request.open == 0) end(id);
  send_waiting(now);
}

void KeyClient::take_values(Request& request, std::vector<ParamEntry>&& entries) {
  for (ParamEntry& entry : entries) {
    const auto place = request.places.find(entry.key);
    if (place == request.places.end()) continue;
    ParamAssembler::add(request.values[place->second], std::move(entry), request.shared);
  }
}

void KeyClient::retry(uint32_t tag, double now, double wait) {
  const auto taken = take(tag);
  InFlight& message = taken.mapped();
  Request& request = requests_.at(message.request);
  if (request.head.type == KeyRequest::Type::get) {
    for (const uint32_t place : message.places) {
      request.values[place] = {};
      request.values[place].entry.key = request.keys[place];
    }
  }
  if (wait > 0) {
    later_.push_back({now + wait, message.request, std::move(message.places)});
  } else {
    route(message.request, message.places, now);
  }
  send_waiting(now);
}

void KeyClient::lose_process(ProcessId process, double now) {
  std::erase_if(arcs_, [&](const auto& arc) { return arc.second.owner.process == process; });
  std::erase_if(waiting_, [&](Waiting& message) {
    if (message.to.process != process) return false;
    later_.push_back({now + kRouteAgain, message.request, std::move(message.places)});
    return true;
  });
  std::vector<uint32_t> failed;
  for (const auto& [tag, message] : in_flight_) {
    if (message.to.process == process) failed.push_back(tag);
  }
  for (const uint32_t tag : failed) retry(tag, now, kRouteAgain);
}

double KeyClient::tick(double now) {
  extend_deadlines(now);
  route_again(now);
  probe_overdue(now);
  fail_overdue(now);
  woken_ = next_time(now);
  return woken_;
}

// While suspended, this node could receive no reply.
void KeyClient::extend_deadlines(double now) {
  const double stopped = now - woken_;
  if (stopped <= kStopped) return;
  for (auto& [id, request] : requests_) request.deadline += stopped;
}

void KeyClient::route_again(double now) {
  std::vector<Later> due;
  std::erase_if(later_, [&](Later& later) {
    if (later.time > now) return false;
    due.push_back(std::move(later));
    return true;
  });
  for (const Later& later : due) route(later.request, later.places, now);
}

// Probes the receiver of an overdue message once. If the reply to the probe is overdue as well, sends the message again
// to another node.
void KeyClient::probe_overdue(double now) {
  std::vector<uint32_t> quiet;
  for (auto& [tag, message] : in_flight_) {
    if (message.due > now) continue;
    if (message.probed) {
      quiet.push_back(tag);
      continue;
    }
    message.probed = true;
    message.due = now + message.wait;
    Frame probe = message_frame(peer_kind::probe, courier_address(message.to.process), tag,
                                Envelope{overlay_.self(), message.to.node});
    probe.src = courier_address(overlay_.self().process);
    frames_.push_back(std::move(probe));
  }
  for (const uint32_t tag : quiet) {
    const InFlight& message = in_flight_.at(tag);
    forget_route(message.to);
    ++requests_.at(message.request).silences;
    retry(tag, now, 0);
  }
}

void KeyClient::fail_overdue(double now) {
  std::vector<uint32_t> overdue;
  for (const auto& [id, request] : requests_) {
    if (request.deadline <= now) overdue.push_back(id);
  }
  for (const uint32_t id : overdue) {
    const auto at = requests_.find(id);
    if (at == requests_.end()) continue;  // it failed together with an earlier push
    Request& request = at->second;
    const auto missing = std::find(request.replied.begin(), request.replied.end(), 0);
    const ParamKey& key = request.key(static_cast<size_t>(missing - request.replied.begin()));
    request.error = Error{Code::timeout, "for a minute no peer has replied for key " + key.print()};
    end(id);
  }
}

double KeyClient::next_time(double now) const {
  double next = requests_.empty() ? kForever : now + kLongestSleep;
  for (const auto& [tag, message] : in_flight_) next = std::min(next, message.due);
  for (const auto& [id, request] : requests_) next = std::min(next, request.deadline);
  for (const Later& later : later_) next = std::min(next, later.time);
  return next;
}

// Later pushes also fail, because they wait for the failed push.
void KeyClient::forget_push(const Request& request) {
  for (const ParamEntry& entry : request.entries) {
    const auto pushed = pushed_.find(entry.key);
    if (pushed == pushed_.end()) continue;
    pushed->second.erase(request.head.mark);
    if (pushed->second.empty()) pushed_.erase(pushed);
  }
  if (!request.error) return;
  std::vector<uint32_t> later;
  for (auto& [id, other] : requests_) {
    if (!other.ordered() || other.head.mark < request.head.mark) continue;
    other.error = request.error;
    later.push_back(id);
  }
  for (const uint32_t id : later) {
    if (requests_.count(id) > 0) end(id);
  }
}

void KeyClient::end(uint32_t id) {
  Request request = std::move(requests_.at(id));
  requests_.erase(id);
  std::erase_if(waiting_, [&](const Waiting& message) { return message.request == id; });
  std::vector<uint32_t> left;
  for (const auto& [tag, message] : in_flight_) {
    if (message.request == id) left.push_back(tag);
  }
  for (const uint32_t tag : left) take(tag);
  std::erase_if(later_, [&](const Later& later) { return later.request == id; });
  if (request.ordered()) forget_push(request);
  if (request.done) return request.done(request.error ? Status(*request.error) : Status());
  if (request.error) return request.got(*request.error);
  std::vector<ParamEntry> values;
  std::vector<uint32_t> uses(request.values.size());
  for (const uint32_t place : request.order) ++uses[place];
  for (const uint32_t place : request.order) {
    ParamEntry& entry = request.values[place].entry;
    ParamAssembler::Partial own;  // each value has its own bytes
    own.entry.key = entry.key;
    ParamAssembler::add(own, --uses[place] == 0 ? std::move(entry) : ParamEntry(entry), request.shared);
    values.push_back(std::move(own.entry));
  }
  request.got(std::move(values));
}

}  // namespace actorhost
