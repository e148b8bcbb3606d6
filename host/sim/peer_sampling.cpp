#include "host/sim/peer_sampling.hpp"

#include <algorithm>

namespace actorhost {

namespace {

constexpr uint8_t kTries = 2;  // queries to a peer, before another peer is drawn
constexpr int32_t kUnknown = -1;
constexpr int32_t kDropped = -2;  // no node is left to take the member's place

using MessageKind = PeerMessage::Kind;

}  // namespace

PeerSampling::PeerSampling(PeerWorld& world)
    : PeerProtocol(world),
      streams_(world.clocks(), world.rule().beta(), sim_seed(world.scenario().seed, SimStream::peers)),
      resample_(world.rule().resample()) {
  resample_.seconds = std::max(resample_.seconds, Waiting::kMinRecheck);
}

void PeerSampling::joined(NodeId id, double /*now*/, bool /*later*/) {
  requesters_.resize(id + size_t{1});
  if (sticky()) subscribers_.resize(id + size_t{1});
}

void PeerSampling::completed(NodeId id, double now) {
  if (sticky()) notify_subscribers(id, now);
  draw(id, now);
}

void PeerSampling::left(NodeId id, double now) {
  requesters_[id] = Requester{};
  if (!sticky()) return;  // an unanswered query will show the departure
  const std::vector<Subscriber> orphans = std::move(subscribers_[id]);
  subscribers_[id].clear();
  for (const Subscriber& orphan : orphans) {
    if (world_.held(orphan.id)) replace(orphan.id, id, now);
  }
}

// --- a sample ---

void PeerSampling::draw(NodeId id, double now) {
  Requester& requester = requesters_[id];
  streams_.draw(id, drawn_);
  ++requester.episode;
  requester.sample.clear();
  for (const NodeId member : drawn_) requester.sample.push_back({{kUnknown}, member});
  requester.missing = static_cast<uint32_t>(drawn_.size());
  requester.complete = now;
  if (requester.missing == 0) return evaluate_sample(id, now);
  world_.await_messages(id, now);
  // The last reply may arrive within this call, and the requester may then be beyond this step.
  for (uint32_t place = 0, all = requester.missing; place < all; ++place) query(id, place, 0, now);
}

void PeerSampling::query(NodeId requester, uint32_t place, uint8_t tries, double now) {
  PeerState& member = requesters_[requester].sample[place];
  if (member.id == requester) {
    member = world_.state(requester);
    return count_reply(requester, now, now);
  }
  Requester& state = requesters_[requester];
  PeerMessage message{now, 0, requester, member.id, ++state.queries, place, state.episode, MessageKind::query, tries};
  double time = now;
  if (!world_.try_send(time)) return schedule_timeout(message, now);
  world_.deliver(time, now, message);
}

void PeerSampling::query_arrived(PeerMessage message, double now) {
  if (!world_.up(message.to)) return schedule_timeout(message, now);
  if (sticky()) subscribe(message);
  double time = now;
  if (!world_.try_send(time)) return schedule_timeout(message, now);
  if (!expects(message)) return;  // the requester has crashed meanwhile
  // Stores the reply at once; the requester uses it only at the time of the last reply.
  requesters_[message.from].sample[message.place] = world_.state(message.to);
  count_reply(message.from, time, now);
}

void PeerSampling::schedule_timeout(PeerMessage message, double now) {
  message.kind = MessageKind::timeout;
  world_.deliver(std::max(now, message.sent + world_.scenario().retry), now, message);
}

bool PeerSampling::expects(const PeerMessage& reply) const {
  if (!world_.held(reply.from)) return false;
  const Requester& requester = requesters_[reply.from];
  if (requester.episode != reply.episode || reply.place >= requester.sample.size()) return false;
  const PeerState& member = requester.sample[reply.place];
  return member.id == reply.to && member.step == kUnknown;
}

// No reply has arrived. The requester cannot know whether the query or the reply was lost, or the peer has failed.
void PeerSampling::on_timeout(const PeerMessage& message, double now) {
  if (!expects(message)) return;
  if (message.tries + 1 < kTries) return query(message.from, message.place, message.tries + 1, now);
  PeerState& member = requesters_[message.from].sample[message.place];
  if (draw_replacement(message.from, member.id)) return query(message.from, message.place, 0, now);
  // There is no other node: queries the same node again, until it is removed from the clocks.
  if (world_.clocks().counted(member.id)) return query(message.from, message.place, 0, now);
  member.step = kDropped;
  count_reply(message.from, now, now);
}

// Draws a node outside the requester's sample.
bool PeerSampling::draw_replacement(NodeId requester, NodeId& out) {
  drawn_.clear();
  for (const PeerState& member : requesters_[requester].sample) drawn_.push_back(member.id);
  return streams_.draw_other(requester, drawn_, out);
}

void PeerSampling::count_reply(NodeId id, double time, double now) {
  Requester& requester = requesters_[id];
  requester.complete = std::max(requester.complete, time);
  if (--requester.missing > 0) return;
  PeerMessage message;
  message.to = id;
  message.episode = requester.episode;
  message.kind = MessageKind::sample_complete;
  world_.deliver(requester.complete, now, message);
}

// Runs the rule on a complete new sample.
void PeerSampling::evaluate_sample(NodeId id, double now) {
  requesters_[id].redraw_at = now + resample_.seconds;
  evaluate(id, now);
}

void PeerSampling::evaluate(NodeId id, double now) {
  Requester& requester = requesters_[id];
  std::erase_if(requester.sample, [](const PeerState& member) { return member.step == kDropped; });
  const std::optional<double> recheck = world_.decide(id, requester.sample, 0, now);
  if (!recheck) {
    if (!sticky()) return;
    for (const PeerState& member : requester.sample) unsubscribe(id, member.id, now);
    return;
  }
  requester.wake_at = now + *recheck;
  if (!sticky()) requester.wake_at = std::min(requester.wake_at, requester.redraw_at);
  if (requester.wake_at < kForever) world_.wake(requester.wake_at, id);
}

void PeerSampling::woken(NodeId id, double now) {
  Requester& requester = requesters_[id];
  if (requester.wake_at != now || requester.missing > 0) return;
  if (!sticky() && now >= requester.redraw_at) return draw(id, now);
  evaluate(id, now);
}

void PeerSampling::arrived(const PeerMessage& message, double now) {
  switch (message.kind) {
    case MessageKind::query: return query_arrived(message, now);
    case MessageKind::timeout: return on_timeout(message, now);
    case MessageKind::update: return update(message, now);
    case MessageKind::unsubscribe: return unsubscribed(message);
    case MessageKind::sample_complete: {
      if (!world_.held(message.to)) return;
      Requester& requester = requesters_[message.to];
      // The requester may have queried the replacement of a sticky member meanwhile.
      if (requester.episode != message.episode || requester.missing > 0 || now < requester.complete) return;
      return evaluate_sample(message.to, now);
    }
    default: return;
  }
}

// --- members that report their steps ---

void PeerSampling::subscribe(const PeerMessage& query) {
  for (Subscriber& known : subscribers_[query.to]) {
    if (known.id != query.from) continue;
    known.query = std::max(known.query, query.value);
    return;
  }
  subscribers_[query.to].push_back({query.from, query.value});
}

void PeerSampling::notify_subscribers(NodeId id, double now) {
  std::erase_if(subscribers_[id], [this](const Subscriber& s) { return !world_.clocks().counted(s.id); });
  recipients_ = subscribers_[id];  // a copy, since a subscriber that passes at once leaves the list
  const PeerState state = world_.state(id);
  for (const Subscriber& subscriber : recipients_) {
    const PeerMessage message{
        state.started, state.duration, id, subscriber.id, state.step, 0, 0, MessageKind::update, 0};
    world_.deliver(world_.send(now), now, message);
  }
}

void PeerSampling::update(const PeerMessage& message, double now) {
  const NodeId id = message.to;
  if (!world_.up(id)) return;
  Requester& requester = requesters_[id];
  const auto member = std::find_if(requester.sample.begin(), requester.sample.end(),
                                   [&](const PeerState& state) { return state.id == message.from; });
  if (!world_.held(id) || member == requester.sample.end()) return unsubscribe(id, message.from, now);
  // A member without a reply will still reply. Also ignores an update that a later update has overtaken.
  if (member->step == kUnknown || member->step >= message.value) return;
  *member = {
      {message.value, false, message.sent, message.seconds, Progress::averaged(member->average, message.seconds)},
      message.from};
  if (requester.missing == 0 && now >= requester.complete) evaluate(id, now);
}

// Ends a subscription. If the message is lost, the requester sends another at the member's next update.
void PeerSampling::unsubscribe(NodeId requester, NodeId member, double now) {
  if (requester == member || !world_.clocks().counted(member)) return;
  double time = now;
  if (!world_.try_send(time)) return;
  const PeerMessage message{now, 0, requester, member, requesters_[requester].queries, 0, 0, MessageKind::unsubscribe,
                            0};
  world_.deliver(time, now, message);
}

// Removes a subscription, unless a later query has renewed it: that query may have overtaken this message.
void PeerSampling::unsubscribed(const PeerMessage& message) {
  std::erase_if(subscribers_[message.to],
                [&](const Subscriber& known) { return known.id == message.from && known.query <= message.value; });
}

void PeerSampling::replace(NodeId id, NodeId departed, double now) {
  Requester& requester = requesters_[id];
  const auto found = std::find_if(requester.sample.begin(), requester.sample.end(),
                                  [departed](const PeerState& member) { return member.id == departed; });
  // A pending query to the departed member times out by itself.
  if (found == requester.sample.end() || found->step == kUnknown || found->step == kDropped) return;
  found->step = kUnknown;
  if (draw_replacement(id, found->id)) {
    if (requester.missing++ == 0) world_.await_messages(id, now);
    return query(id, static_cast<uint32_t>(found - requester.sample.begin()), 0, now);
  }
  found->step = kDropped;
  if (requester.missing == 0 && now >= requester.complete) evaluate(id, now);
}

}  // namespace actorhost
