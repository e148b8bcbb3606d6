#include "tests/host/engine/collective/every_order.hpp"

#include "host/base/random.hpp"

namespace actorhost::test {

namespace {

constexpr uint32_t kProcessOfRank0 = 1;  // process 0 is the coordinator, without a rank

std::vector<NodeId> ids_of(const Membership& membership) {
  std::vector<NodeId> ids;
  for (const Member& member : membership.workers()) ids.push_back(member.id);
  return ids;
}

Membership without(const Membership& before, NodeId lost) {
  std::vector<Member> workers;
  std::vector<ProcessInfo> processes;
  for (const Member& member : before.workers()) {
    if (member.id == lost) continue;
    workers.push_back(member);
    processes.push_back({member.process, "host", ""});
  }
  return {before.epoch() + 1, workers, processes, before.founders()};
}

std::string event_text(const OrderEvent& event) {
  const std::string rank = std::to_string(event.rank);
  switch (event.kind) {
    case OrderEvent::Kind::frame: return "frame " + std::to_string(event.from) + ">" + rank;
    case OrderEvent::Kind::arbiter_frame: return "arbiter " + std::to_string(event.from) + ">" + rank;
    case OrderEvent::Kind::membership: return "membership at " + rank;
    case OrderEvent::Kind::query: return "query by " + rank;
    case OrderEvent::Kind::loss: break;
  }
  return "loss of " + rank;
}

}  // namespace

OrderWorld::OrderWorld(const OrderPlan& plan) : plan_(plan), ranks_(plan.ranks) {
  std::vector<Member> workers;
  std::vector<ProcessInfo> processes;
  for (NodeId id = 0; id < plan.ranks; ++id) {
    workers.push_back({id, kProcessOfRank0 + id});
    processes.push_back({kProcessOfRank0 + id, "host", ""});
  }
  memberships_.push_back(nullptr);
  memberships_.push_back(std::make_shared<Membership>(1, workers, processes, plan.ranks));
  for (uint32_t rank_id = 0; rank_id < plan.ranks; ++rank_id) {
    Arbiter::Wiring wiring;
    wiring.process = kProcessOfRank0 + rank_id;
    wiring.send = [this, rank_id](ProcessId to, Kind kind, const std::string& meta, const Blob& body) {
      const uint32_t other = to - kProcessOfRank0;
      arbiter_frames_[{rank_id, other}].push_back([this, rank_id, other, kind, meta, body] {
        ranks_[other].arbiter->on_frame(make_frame(kind, courier_address(kProcessOfRank0 + rank_id),
                                                   courier_address(kProcessOfRank0 + other), 0, meta, body),
                                        0);
      });
    };
    wiring.membership = [this, rank_id] { return memberships_[ranks_[rank_id].epoch]; };
    wiring.post = [this, rank_id](std::function<void()> call) {
      arbiter_frames_[{rank_id, rank_id}].push_back(std::move(call));
    };
    ranks_[rank_id].arbiter = std::make_unique<Arbiter>(std::move(wiring));
  }
  for (uint32_t rank_id = 0; rank_id < plan.ranks; ++rank_id) begin(rank_id);
  for (uint32_t rank_id = 0; rank_id < plan.ranks; ++rank_id) advance(rank_id);
}

std::vector<OrderEvent> OrderWorld::events() const {
  std::vector<OrderEvent> events;
  for (const auto& [channel, queue] : frames_) {
    if (!queue.empty() && !ranks_[channel.second].lost)
      events.push_back({OrderEvent::Kind::frame, channel.second, channel.first});
  }
  for (const auto& [channel, queue] : arbiter_frames_) {
    if (queue.empty() || ranks_[channel.second].lost) continue;
    events.push_back({OrderEvent::Kind::arbiter_frame, channel.second, channel.first});
  }
  const auto newest = static_cast<uint64_t>(memberships_.size() - 1);
  for (uint32_t rank_id = 0; rank_id < plan_.ranks; ++rank_id) {
    if (!ranks_[rank_id].lost && ranks_[rank_id].epoch < newest)
      events.push_back({OrderEvent::Kind::membership, rank_id, 0});
  }
  // A rank queries the missing ranks after a wait, so everything else has arrived. Once a call is enough here.
  for (uint32_t rank_id = 0; events.empty() && rank_id < plan_.ranks; ++rank_id) {
    const Rank& rank = ranks_[rank_id];
    if (!rank.lost && !rank.call->decided() && rank.queried < rank.number)
      events.push_back({OrderEvent::Kind::query, rank_id, 0});
  }
  const bool may_be_lost = newest - 1 < plan_.losses && memberships_.back()->size() > 1;
  for (uint32_t rank_id = 0; may_be_lost && rank_id < plan_.ranks; ++rank_id) {
    if (!ranks_[rank_id].lost) events.push_back({OrderEvent::Kind::loss, rank_id, 0});
  }
  return events;
}

uint64_t OrderWorld::mixed(uint64_t history, const OrderEvent& event) {
  uint64_t hash = history ^ (static_cast<uint64_t>(event.kind) * 64 + event.from + 1) * 0x9e3779b97f4a7c15ULL;
  hash = (hash ^ (hash >> 29)) * 0xbf58476d1ce4e5b9ULL;
  return hash ^ (hash >> 32);
}

uint64_t OrderWorld::state_of(const OrderEvent* next) const {
  uint64_t hash = 0;
  const auto add = [&hash](uint64_t value) { hash = (hash ^ value) * 0x94d049bb133111ebULL + (hash >> 31); };
  for (uint32_t rank_id = 0; rank_id < plan_.ranks; ++rank_id) {
    const bool its = next != nullptr && next->rank == rank_id;
    add(its ? mixed(ranks_[rank_id].history, *next) : ranks_[rank_id].history);
  }
  for (size_t epoch = 2; epoch < memberships_.size(); ++epoch) {  // the order of losses
    for (const NodeId id : ids_of(*memberships_[epoch])) add(id + 1);
    add(0);
  }
  if (next != nullptr && next->kind == OrderEvent::Kind::loss) {
    for (const NodeId id : ids_of(*memberships_.back())) {
      if (id != next->rank) add(id + 1);
    }
    add(0);
  }
  return hash;
}

uint64_t OrderWorld::state() const { return state_of(nullptr); }
uint64_t OrderWorld::state_after(const OrderEvent& event) const { return state_of(&event); }

void OrderWorld::happen(const OrderEvent& event) {
  Rank& rank = ranks_[event.rank];
  rank.history = mixed(rank.history, event);
  switch (event.kind) {
    case OrderEvent::Kind::frame: {
      std::deque<Frame>& queue = frames_[{event.from, event.rank}];
      Frame frame = std::move(queue.front());
      queue.pop_front();
      deliver_frame(event.rank, std::move(frame));
      break;
    }
    case OrderEvent::Kind::arbiter_frame: {
      auto& queue = arbiter_frames_[{event.from, event.rank}];
      const auto deliver = std::move(queue.front());
      queue.pop_front();
      deliver();
      break;
    }
    case OrderEvent::Kind::membership: learn(event.rank); break;
    case OrderEvent::Kind::query:
      rank.queried = rank.number;
      (void)rank.call->query_missing();
      break;
    case OrderEvent::Kind::loss:
      rank.lost = true;
      memberships_.push_back(std::make_shared<Membership>(without(*memberships_.back(), event.rank)));
      return;
  }
  advance(event.rank);
}

/// The rank learns the next membership. Frames in flight from lost ranks do not arrive any more.
void OrderWorld::learn(uint32_t rank_id) {
  Rank& rank = ranks_[rank_id];
  ++rank.epoch;
  const MembershipPtr& now = memberships_[rank.epoch];
  for (uint32_t other = 0; other < plan_.ranks; ++other) {
    if (now->alive(other)) continue;
    frames_[{other, rank_id}].clear();
    arbiter_frames_[{other, rank_id}].clear();
  }
  rank.arbiter->on_membership(now, 0);
  if (rank.call) (void)rank.call->on_membership(*now);
}

CallSpec OrderWorld::spec_of(const Rank& rank, uint32_t place, uint32_t members) const {
  CallSpec spec;
  spec.kind = plan_.kind;
  spec.name = "call";
  spec.signature = "call";
  spec.choice.forced = plan_.algorithm;
  const std::vector<float> values = {1, static_cast<float>(rank.round), 1, static_cast<float>(rank.round)};
  const Blob mine = Blob::copy_of(values.data(), values.size() * sizeof(float));
  spec.input = mine;
  if (plan_.kind == CollectiveKind::broadcast && place == 0)
    spec.parcel = PackedValue{std::to_string(rank.round), mine};
  if (plan_.kind == CollectiveKind::exchange) {
    for (uint32_t to = 0; to < members; ++to) {
      spec.outgoing.push_back(PackedValue{std::to_string(rank.round) + " for " + std::to_string(to), mine});
    }
    spec.expected.assign(members, true);
  }
  return spec;
}

/// The result as text; sets a fault if it mixes rounds.
std::string OrderWorld::result_text(const Rank& rank, CallResult& result) const {
  std::string round = std::to_string(rank.round);
  if (plan_.kind == CollectiveKind::barrier) return round;
  if (plan_.kind == CollectiveKind::broadcast) return result.parcel.head == round ? round : "mixed";
  if (plan_.kind == CollectiveKind::exchange) {
    const bool right = std::all_of(result.received.begin(), result.received.end(),
                                   [&, mine = round + " for " + std::to_string(result.place)](const auto& parcel) {
                                     return parcel && parcel->head == mine;
                                   });
    return right ? round + " of " + std::to_string(result.received.size()) : "mixed";
  }
  if (result.buffer.size() < 2 * sizeof(float)) return round;
  float values[2];
  std::memcpy(values, result.buffer.data(), sizeof values);
  return values[1] == values[0] * static_cast<float>(rank.round) ? round + " of " + std::to_string(int(values[0]))
                                                                 : "mixed";
}

void OrderWorld::begin(uint32_t rank_id) {
  Rank& rank = ranks_[rank_id];
  const std::vector<NodeId> ids = ids_of(*memberships_[rank.epoch]);
  const auto me = static_cast<uint32_t>(std::find(ids.begin(), ids.end(), rank_id) - ids.begin());
  CallSpec spec = spec_of(rank, me, static_cast<uint32_t>(ids.size()));
  if (!rank.last.empty() && rank.last != ids) spec.stale = "a rank is lost";
  rank.last = ids;
  const uint32_t number = ++rank.number;
  CallGroup group;
  group.me = me;
  group.members = static_cast<uint32_t>(ids.size());
  group.ids = ids;
  for (const NodeId id : ids) group.world = group.world * 31 + id + 1;
  group.epoch = rank.epoch;
  group.ranks.assign(ids.begin(), ids.end());
  CallWiring wiring;
  wiring.send = [this, rank_id, number, ids](uint32_t to, Kind kind, std::string_view meta, Blob body) {
    frames_[{rank_id, ids[to]}].push_back(
        make_frame(kind, worker_address(rank_id), worker_address(ids[to]), number, meta, std::move(body)));
    return Status();
  };
  wiring.returned = [] {};
  wiring.describe_loss = [] { return std::string("a rank is lost"); };
  wiring.epoch = [this, rank_id] { return ranks_[rank_id].epoch; };
  wiring.ledger = &rank.arbiter->ledger();
  wiring.key = {0, false, number};
  wiring.self = rank_id;
  wiring.leader = ids.front();
  wiring.appeal = [this, rank_id, number, ids](const Error& error) {
    ranks_[rank_id].arbiter->appeal({{0, false, number}, rank_id, ids, error});
  };
  wiring.appeal_if_decided = [this, rank_id, number, ids](const Error& error, std::vector<NodeId> ranks) {
    ranks_[rank_id].arbiter->appeal_if_decided({{0, false, number}, rank_id, ids, error}, std::move(ranks));
  };
  wiring.tag = number;
  wiring.ledger->enter(wiring.key, rank_id);
  rank.call = CollectiveCall::make(std::move(spec), group, wiring);
  (void)rank.call->begin();
  std::deque<Frame> early;
  early.swap(rank.early);
  for (Frame& frame : early) deliver_frame(rank_id, std::move(frame));
}

/// Delivers a frame to a rank, as Collectives::take_frames does.
void OrderWorld::deliver_frame(uint32_t rank_id, Frame&& frame) {
  Rank& rank = ranks_[rank_id];
  const bool ended = rank.call->decided();
  if (frame.tag > rank.number || (ended && frame.tag == rank.number)) return rank.early.push_back(std::move(frame));
  if (frame.tag < rank.number) {
    if (frame.kind != collective_kind::announce) return;
    return rank.arbiter->appeal({{0, false, frame.tag},
                                 address_index(frame.src),
                                 ids_of(*memberships_[rank.epoch]),
                                 {Code::peer_lost, "the membership has changed"}});
  }
  const auto from = std::find(rank.last.begin(), rank.last.end(), address_index(frame.src));
  if (from == rank.last.end()) return;
  (void)rank.call->take(static_cast<uint32_t>(from - rank.last.begin()), std::move(frame));
}

/// Lets the rank do everything that needs no further event.
void OrderWorld::advance(uint32_t rank_id) {
  Rank& rank = ranks_[rank_id];
  for (;;) {
    (void)rank.call->tick(0);
    if (!rank.call->decided()) return;
    if (rank.outcomes.size() < rank.number) {
      const Status& outcome = rank.call->outcome();
      rank.call->result().place = rank.call->group().me;
      rank.outcomes.push_back(outcome.ok() ? result_text(rank, rank.call->result()) : "lost");
      if (rank.outcomes.back() == "mixed") fault_ = "rank " + std::to_string(rank_id) + " has mixed rounds";
      if (!outcome.ok() && outcome.error().code != Code::peer_lost) fault_ = outcome.error().message;
      if (!outcome.ok()) rank.last.clear();
      rank.round += outcome.ok() ? 1 : 0;
      rank.caught_up = rank.call->loss_epoch();
    }
    if (rank.epoch < rank.caught_up || rank.round > plan_.rounds) return;
    begin(rank_id);
  }
}

std::string OrderWorld::fault(bool last) const {
  if (!fault_.empty() || !last) return fault_;
  const Rank* first = nullptr;
  for (uint32_t rank_id = 0; rank_id < plan_.ranks; ++rank_id) {
    const Rank& rank = ranks_[rank_id];
    if (rank.lost) continue;
    if (rank.round <= plan_.rounds) return "rank " + std::to_string(rank_id) + " waits for ever";
    if (first == nullptr) first = &rank;
    if (rank.outcomes == first->outcomes) continue;
    std::string text = "outcomes differ:";
    for (const Rank* one : {first, &rank}) {
      for (const std::string& outcome : one->outcomes) text += " [" + outcome + "]";
      text += one == first ? " and" : "";
    }
    return text;
  }
  return {};
}

OrderReport try_every_order(const OrderPlan& plan, size_t most, uint64_t seed) {
  OrderReport report;
  Rng rng(seed);
  std::unordered_set<uint64_t> seen;
  std::vector<std::vector<OrderEvent>> open{{}};
  while (!open.empty() && report.fault.empty()) {
    if (seen.size() >= most) {
      report.whole = false;
      break;
    }
    std::swap(open[rng.below(open.size())], open.back());  // a random sample, not a corner of the space
    std::vector<OrderEvent> path = std::move(open.back());
    open.pop_back();
    OrderWorld world(plan);
    for (const OrderEvent& event : path) world.happen(event);
    for (;;) {
      const std::vector<OrderEvent> events = world.events();
      const bool only_losses = std::all_of(events.begin(), events.end(),
                                           [](const auto& event) { return event.kind == OrderEvent::Kind::loss; });
      report.fault = world.fault(only_losses);
      if (!report.fault.empty()) break;
      std::vector<OrderEvent> fresh;
      for (const OrderEvent& event : events) {
        if (seen.insert(world.state_after(event)).second) fresh.push_back(event);
      }
      if (fresh.empty()) break;
      for (size_t i = 1; i < fresh.size(); ++i) {
        open.push_back(path);
        open.back().push_back(fresh[i]);
      }
      world.happen(fresh[0]);
      path.push_back(fresh[0]);
    }
    if (report.fault.empty()) continue;
    report.fault += "; events:";
    for (const OrderEvent& event : path) report.fault += " (" + event_text(event) + ")";
  }
  report.states = seen.size();
  return report;
}

}  // namespace actorhost::test
