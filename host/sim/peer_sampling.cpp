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
  askers_.resize(id + size_t{1});
  if (sticky()) subscribers_.resize(id + size_t{1});
}

void PeerSampling::completed(NodeId id, double now) {
  if (sticky()) tell_subscribers(id, now);
  draw(id, now);
}

void PeerSampling::left(NodeId id, double now) {
  askers_[id] = Asker{};
  if (!sticky()) return;  // an unanswered query will show the departure
  const std::vector<Subscriber> orphans = std::move(subscribers_[id]);
  subscribers_[id].clear();
  for (const Subscriber& orphan : orphans) {
    if (world_.held(orphan.id)) replace(orphan.id, id, now);
  }
}

// --- a sample ---

void PeerSampling::draw(NodeId id, double now) {
  Asker& asker = askers_[id];
  streams_.draw(id, drawn_);
  ++asker.episode;
  asker.sample.clear();
  for (const NodeId member : drawn_) asker.sample.push_back({{kUnknown}, member});
  asker.missing = static_cast<uint32_t>(drawn_.size());
  asker.complete = now;
  if (asker.missing == 0) return judge(id, now);
  world_.asks(id, now);
  // The last reply may arrive within this call, and the asker may then be beyond this step.
  for (uint32_t place = 0, all = asker.missing; place < all; ++place) query(id, place, 0, now);
}

void PeerSampling::query(NodeId asker, uint32_t place, uint8_t tries, double now) {
  PeerState& member = askers_[asker].sample[place];
  if (member.id == asker) {
    member = world_.state(asker);
    return count_answer(asker, now, now);
  }
  Asker& state = askers_[asker];
  PeerMessage message{now, 0, asker, member.id, ++state.queries, place, state.episode, MessageKind::query, tries};
  double time = now;
  if (!world_.try_send(time)) return not_answered(message, now);
  world_.deliver(time, now, message);
}

void PeerSampling::query_arrived(PeerMessage message, double now) {
  if (!world_.up(message.to)) return not_answered(message, now);
  if (sticky()) subscribe(message);
  double time = now;
  if (!world_.try_send(time)) return not_answered(message, now);
  if (!expects(message)) return;  // the asker has crashed meanwhile
  // Stores the reply at once; the asker uses it only at the time of the last reply.
  askers_[message.from].sample[message.place] = world_.state(message.to);
  count_answer(message.from, time, now);
}

void PeerSampling::not_answered(PeerMessage message, double now) {
  message.kind = MessageKind::silence;
  world_.deliver(std::max(now, message.sent + world_.scenario().retry), now, message);
}

bool PeerSampling::expects(const PeerMessage& answer) const {
  if (!world_.held(answer.from)) return false;
  const Asker& asker = askers_[answer.from];
  if (asker.episode != answer.episode || answer.place >= asker.sample.size()) return false;
  const PeerState& member = asker.sample[answer.place];
  return member.id == answer.to && member.step == kUnknown;
}

// No reply has arrived. The asker cannot know whether the query or the reply was lost, or the peer has failed.
void PeerSampling::silence(const PeerMessage& message, double now) {
  if (!expects(message)) return;
  if (message.tries + 1 < kTries) return query(message.from, message.place, message.tries + 1, now);
  PeerState& member = askers_[message.from].sample[message.place];
  if (another(message.from, member.id)) return query(message.from, message.place, 0, now);
  // There is no other node: queries the same node again, until it is removed from the clocks.
  if (world_.clocks().counted(member.id)) return query(message.from, message.place, 0, now);
  member.step = kDropped;
  count_answer(message.from, now, now);
}

// Draws a node outside the asker's sample.
bool PeerSampling::another(NodeId asker, NodeId& out) {
  drawn_.clear();
  for (const PeerState& member : askers_[asker].sample) drawn_.push_back(member.id);
  return streams_.draw_other(asker, drawn_, out);
}

void PeerSampling::count_answer(NodeId id, double time, double now) {
  Asker& asker = askers_[id];
  asker.complete = std::max(asker.complete, time);
  if (--asker.missing > 0) return;
  PeerMessage message;
  message.to = id;
  message.episode = asker.episode;
  message.kind = MessageKind::answered;
  world_.deliver(asker.complete, now, message);
}

// Runs the rule on a complete new sample.
void PeerSampling::judge(NodeId id, double now) {
  askers_[id].draws = now + resample_.seconds;
  look(id, now);
}

void PeerSampling::look(NodeId id, double now) {
  Asker& asker = askers_[id];
  std::erase_if(asker.sample, [](const PeerState& member) { return member.step == kDropped; });
  const std::optional<double> recheck = world_.decide(id, asker.sample, 0, now);
  if (!recheck) {
    if (!sticky()) return;
    for (const PeerState& member : asker.sample) unsubscribe(id, member.id, now);
    return;
  }
  asker.wakes = now + *recheck;
  if (!sticky()) asker.wakes = std::min(asker.wakes, asker.draws);
  if (asker.wakes < kForever) world_.wake(asker.wakes, id);
}

void PeerSampling::woken(NodeId id, double now) {
  Asker& asker = askers_[id];
  if (asker.wakes != now || asker.missing > 0) return;
  if (!sticky() && now >= asker.draws) return draw(id, now);
  look(id, now);
}

void PeerSampling::arrived(const PeerMessage& message, double now) {
  switch (message.kind) {
    case MessageKind::query: return query_arrived(message, now);
    case MessageKind::silence: return silence(message, now);
    case MessageKind::update: return update(message, now);
    case MessageKind::unsubscribe: return unsubscribed(message);
    case MessageKind::answered: {
      if (!world_.held(message.to)) return;
      Asker& asker = askers_[message.to];
      // The asker may have queried the replacement of a sticky member meanwhile.
      if (asker.episode != message.episode || asker.missing > 0 || now < asker.complete) return;
      return judge(message.to, now);
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

void PeerSampling::tell_subscribers(NodeId id, double now) {
  std::erase_if(subscribers_[id], [this](const Subscriber& s) { return !world_.clocks().counted(s.id); });
  told_ = subscribers_[id];  // a copy, since a subscriber that passes at once leaves the list
  const PeerState state = world_.state(id);
  for (const Subscriber& subscriber : told_) {
    const PeerMessage message{
        state.started, state.duration, id, subscriber.id, state.step, 0, 0, MessageKind::update, 0};
    world_.deliver(world_.send(now), now, message);
  }
}

void PeerSampling::update(const PeerMessage& message, double now) {
  const NodeId id = message.to;
  if (!world_.up(id)) return;
  Asker& asker = askers_[id];
  const auto member = std::find_if(asker.sample.begin(), asker.sample.end(),
                                   [&](const PeerState& state) { return state.id == message.from; });
  if (!world_.held(id) || member == asker.sample.end()) return unsubscribe(id, message.from, now);
  // A member without a reply will still reply. Also ignores an update that a later update has overtaken.
  if (member->step == kUnknown || member->step >= message.value) return;
  *member = {
      {message.value, false, message.sent, message.seconds, Progress::averaged(member->average, message.seconds)},
      message.from};
  if (asker.missing == 0 && now >= asker.complete) look(id, now);
}

// Ends a subscription. If the message is lost, the asker sends another at the member's next update.
void PeerSampling::unsubscribe(NodeId asker, NodeId member, double now) {
  if (asker == member || !world_.clocks().counted(member)) return;
  double time = now;
  if (!world_.try_send(time)) return;
  const PeerMessage message{now, 0, asker, member, askers_[asker].queries, 0, 0, MessageKind::unsubscribe, 0};
  world_.deliver(time, now, message);
}

// Removes a subscription, unless a later query has renewed it: that query may have overtaken this message.
void PeerSampling::unsubscribed(const PeerMessage& message) {
  std::erase_if(subscribers_[message.to],
                [&](const Subscriber& known) { return known.id == message.from && known.query <= message.value; });
}

void PeerSampling::replace(NodeId id, NodeId gone, double now) {
  Asker& asker = askers_[id];
  const auto found = std::find_if(asker.sample.begin(), asker.sample.end(),
                                  [gone](const PeerState& member) { return member.id == gone; });
  // A pending query to the departed member times out by itself.
  if (found == asker.sample.end() || found->step == kUnknown || found->step == kDropped) return;
  found->step = kUnknown;
  if (another(id, found->id)) {
    if (asker.missing++ == 0) world_.asks(id, now);
    return query(id, static_cast<uint32_t>(found - asker.sample.begin()), 0, now);
  }
  found->step = kDropped;
  if (asker.missing == 0 && now >= asker.complete) look(id, now);
}

}  // namespace actorhost
