#include "host/overlay/aggregate_tree.hpp"

#include <algorithm>

namespace actorhost {

namespace {

constexpr int kMostRequests = 4;       // result requests for one report, per heartbeat
constexpr double kOwnHeartbeat = 0.6;  // where none has arrived from above
constexpr double kRootWait = 2;        // longer than a lease
constexpr double kSeekPeriod = 10;     // between lookups of the parent's key while the parent is live
constexpr double kSeekAgain = 0.5;     // otherwise
constexpr double kSeekDeadline = 2;
constexpr double kLeastWait = 0.005;  // between ticks
constexpr int kMostTurns = 4;         // in a tick, if each turn makes the callback set the clock

uint64_t low_bits(int bits) noexcept { return bits >= 64 ? kCircle : (uint64_t{1} << bits) - 1; }

}  // namespace

void AggregateTree::set_clock(std::optional<uint64_t> clock, uint64_t sum) {
  if (clock && !own_) {
    participates_since_ = number_ + 1;
    limits_ = false;
  }
  if (clock && own_) clock = std::max(*clock, *own_);
  own_ = clock;
  own_sum_ = sum;
  dirty_ = true;
}

void AggregateTree::set_voters(bool votes, uint64_t all) {
  votes_ = votes;
  voters_ = all;
  dirty_ = true;
}

Aggregate AggregateTree::aggregate(double now) const {
  return {known_.least, known_.count, known_.sum, known_.slowest, included_ && inside_until_ > now};
}

// ---- Incoming messages ----

void AggregateTree::on_report(const TreeReport& report) {
  const double now = requests_.now();
  const Peer& from = report.envelope.from;
  term_ = std::max({term_, report.term, report.resigned});
  // Ignores a token that this node itself or a later root has had.
  if (report.resigned > own_term_ && report.resigned == term_ && !is_root_) {
    if (report.resigned != token_term_) token_to_.reset();  // the previous token was passed on
    token_until_ = now + kTreeLease;
    token_known_ = report.known;
    token_from_ = from.node;
    token_term_ = report.resigned;
  }
  // A child is behind its parent on the ring, so there are no cycles. Only a leaving root hands over to its successor.
  if (from.id <= requests_.self().id && !report.leaving) return;
  // Without a root, urgent reports would multiply, because each node of a forming ring reports to several parents.
  if (children_.take(report, now) && inside_) parents_.all_due();
}

bool AggregateTree::on_result(const TreeResult& result) {
  const double now = requests_.now();
  if (result.received > number_ || result.settled > number_) return false;
  if (!parents_.take(result, now)) {
    requests_.send(overlay_kind::detach, result.envelope.from, 0, Envelope{});
    return true;
  }
  term_ = std::max(term_, result.term);
  if (result.lease > 0) root_seen_ = std::max(root_seen_, now);
  const bool target = target_ == result.envelope.from.node;
  if (target && (result.elsewhere || result.leaving)) next_seek_ = std::min(next_seek_, now + kSeekAgain);
  heartbeat_due_ =
      heartbeat_due_ || (result.report_requested && result.lease > 0 && now - last_heartbeat_ > kTreeHeartbeat / 2);
  return true;
}

void AggregateTree::lose_process(ProcessId process) {
  children_.lose_process(process);
  parents_.lose_process(process);
}

double AggregateTree::tick(bool joined) {
  double next = kForever;
  int turns = 0;
  do {
    dirty_ = false;
    next = turn(joined);
  } while (dirty_ && ++turns < kMostTurns);
  return dirty_ ? requests_.now() : next;
}

double AggregateTree::turn(bool joined) {
  const double now = requests_.now();
  if (now - ticked_ > kTreeLease) resume();
  if (token_until_ <= now && resigned_until_ <= now) token_to_.reset();
  ticked_ = now;
  take_role(joined);
  const double next_drop = children_.drop(requests_.self().node, now);
  if (joined) seek();
  check_parents();
  check_children();
  refresh();
  send_reports();
  send_results();
  const Aggregate current = aggregate(now);
  const bool changed = current.least != last_notified_.least || current.included != last_notified_.included;
  last_notified_ = current;
  if (changed && on_aggregate_) on_aggregate_(current);
  return std::min(next_drop, next_time(joined));
}

// The node was suspended. Others may have another root, so this node resigns and rejoins as a new child.
void AggregateTree::resume() {
  if (is_root_) resign();
  owns_root_key_ = false;
  root_seen_ = std::min(root_seen_, requests_.now() - kTreeRetention);
}

// ---- The root ----

void AggregateTree::take_role(bool joined) {
  const double now = requests_.now();
  const bool owns_root_key = joined && near_.owns(0);
  if (owns_root_key != owns_root_key_) owns_root_key_since_ = now;
  owns_root_key_ = owns_root_key;
  if (is_root_) {
    root_seen_ = now;
    const auto* const next = target_ ? parents_.find(*target_) : nullptr;
    if (owns_root_key || next == nullptr || !next->replied) return;
    // The owner of key 0 has arrived recently and takes over, or this tree becomes a part of another tree.
    if (next->last.lease == 0) resigned_until_ = now + kTreeLease;
    return resign();
  }
  if (!owns_root_key) return;
  if (token_until_ > now && token_term_ == term_ && !token_to_) return become_root(token_known_);
  if (root_seen_ == -kForever && founder_) return become_root(0);
  if (inside_ && inside_until_ > now) return;
  // Waits from the last message of the old root, or, if that root failed before this node owned key 0, from then on.
  const bool had_root = root_seen_ > owns_root_key_since_ - kTreeRetention;
  if (now < (had_root ? root_seen_ + kTreeRetention : owns_root_key_since_ + kRootWait)) return;
  if (children_.leased_until() <= now) become_root(children_.known());
}

void AggregateTree::become_root(uint64_t least) {
  is_root_ = true;
  own_term_ = known_term_ = term_ = ((term_ >> 32U) + 1) << 32U | requests_.self().node;
  token_until_ = resigned_until_ = 0;
  token_known_ = 0;
  token_to_.reset();
  target_.reset();
  known_.least = std::max(known_.least, least);
  while (!parents_.all().empty()) detach(parents_.all().front().peer.node);
}

void AggregateTree::resign() {
  is_root_ = false;
  token_to_ = target_;
  // Children rely on everything settled here, and the next report repeats all of it.
  settled_ = number_ + 1;
  parents_.all_due();
}

// ---- Parents ----

// The first key of the next larger arc around the largest arc that the node represents.
RingId AggregateTree::parent_key() const noexcept {
  const Side& before = near_.lists().before;
  const Peer& last = before.peers.empty() ? near_.lists().after.peers.back() : before.peers.front();
  const RingId self = requests_.self().id;
  int bits = 0;
  while (bits < 63 && (self & low_bits(bits + 1)) < self - last.id) ++bits;
  return self & ~low_bits(bits + 1);
}

void AggregateTree::seek() {
  if (near_.owns(0)) {
    target_.reset();
    while (is_root_ && !parents_.all().empty()) detach(parents_.all().front().peer.node);
    return;
  }
  if (near_.lists().before.peers.empty() && near_.lists().after.peers.empty()) return;  // all known peers have failed
  const double now = requests_.now();
  const RingId key = parent_key();
  if (key != key_) next_seek_ = now;
  key_ = key;
  if (near_.covers(key)) return adopt(near_.owner_of(key));
  const auto* const parent = target_ ? parents_.find(*target_) : nullptr;
  if (parent == nullptr || parent->silent(now)) next_seek_ = std::min(next_seek_, now + kSeekAgain);
  if (now < next_seek_ || seeking_ != 0) return;
  next_seek_ = now + kSeekPeriod;
  const uint32_t number = seeking_ = ++lookups_;
  finder_.find(key, now + kSeekDeadline, [this, key, number](const Result<Located>& located) {
    if (seeking_ != number) return;
    seeking_ = 0;
    if (!located.ok() || key != key_) {
      next_seek_ = requests_.now() + kTreeRetry;
      return;
    }
    adopt(located->owner);
  });
}

void AggregateTree::adopt(const Peer& owner) {
  if (owner.id >= requests_.self().id) return;  // the view of the ring is still incomplete
  target_ = owner.node;
  attach(owner);
}

void AggregateTree::attach(const Peer& peer) {
  if (parents_.find(peer.node) == nullptr) parents_.add(peer, number_ + 1, requests_.now());
}

void AggregateTree::detach(NodeId node) {
  const auto* const parent = parents_.find(node);
  requests_.send(overlay_kind::detach, parent->peer, 0, Envelope{});
  parents_.erase(node);
}

void AggregateTree::check_parents() {
  const double now = requests_.now();
  for (const Peer& peer : parents_.expire(now)) {
    if (target_ == peer.node) target_.reset();
    requests_.send(overlay_kind::detach, peer, 0, Envelope{});
  }
  for (auto& parent : parents_.all()) {
    if (!parent.replied && now - parent.sent >= kTreeRetry) parent.due = true;
    if (!parent.silent(now) || parent.down || std::exchange(parent.silence_reported, true)) continue;
    if (silent_) silent_(parent.peer);
  }
  if (is_root_) return;
  const NodeId target = target_.value_or(requests_.self().node);
  const auto* const best = parents_.inside(std::max(settled_, parents_.settled()), target, now);
  const auto* const right = parents_.find(target);
  const bool responsive = right != nullptr && right->replied && !right->silent(now);
  const bool has_all = best != nullptr && best->peer.node == target && !best->silent(now);
  // The correct parent has all that any other parent has. No child relies on a parent that was never inside.
  std::vector<NodeId> rest;
  for (const auto& parent : parents_.all()) {
    if (parent.peer.node == target) continue;
    if (has_all || (best == nullptr && responsive && parent.last.lease == 0)) rest.push_back(parent.peer.node);
  }
  if (best == nullptr || best->silent(now)) fall_back();
  for (const NodeId node : rest) detach(node);
}

// Falls back to an alternative that a failed parent has named. Until the ring has closed, there is no other way.
void AggregateTree::fall_back() {
  const double now = requests_.now();
  if (now < next_fall_back_) return;
  for (const auto& parent : parents_.all()) {
    if (!parent.silent(now)) continue;
    for (const Peer& other : parent.last.others) {
      if (other.id >= requests_.self().id || parents_.find(other.node) != nullptr) continue;
      next_fall_back_ = now + kTreeRetry;
      return attach(Peer(other));
    }
  }
}

// ---- Known state ----

TreeTotal AggregateTree::total() const {
  TreeTotal total = children_.total();
  if (own_) {
    if (limits_) {
      total.learn(*own_, requests_.self().node);
      ++total.count;
    }
    if (votes_) total.voters += node_hash(requests_.self().node);
  }
  total.sum += own_sum_;
  return total;
}

void AggregateTree::refresh() {
  const double now = requests_.now();
  const bool was_inside = inside_ && inside_until_ > now;
  const uint64_t was_least = known_.least;
  const TreeParents::Parent* best = nullptr;
  if (is_root_) {
    inside_until_ = now + kTreeLease;
  } else {
    settled_ = std::max(settled_, parents_.settled());
    children_.settle(settled_);
    best = parents_.inside(settled_, target_.value_or(requests_.self().node), now);
    if (best != nullptr) resigned_until_ = 0;
    inside_until_ = std::max(resigned_until_, best == nullptr ? 0 : best->until);
  }
  const bool is_inside = inside_until_ > now;
  learn(best, was_inside);
  bool counted = is_inside && (is_root_ || settled_ >= participates_since_);
  if (is_root_) {
    const TreeTotal all = total();
    counted = !voters_ || all.voters == *voters_;
    if (counted) {
      if (all.least != kNoClock) known_.least = std::max(known_.least, all.least);
      known_.count = all.count;
    }
    known_.sum = all.sum;
    known_.slowest = all.slowest;
    children_.settle_all();
  }
  // The root has counted this node, and its minimum is the minimum of the others: this node starts there.
  if (own_ && !limits_ && counted) {
    limits_ = true;
    participates_since_ = number_ + 1;
    parents_.all_due();
  }
  included_ = is_inside && (is_root_ ? !own_ || limits_ : settled_ >= participates_since_);
  // A node that was dropped meanwhile continues at the minimum of the others, too.
  if (own_ && limits_ && (included_ || counted)) own_ = std::max(*own_, known_.least);
  push_ = known_.least != was_least || is_inside != inside_;
  inside_ = is_inside;
}

void AggregateTree::learn(const TreeParents::Parent* best, bool was_inside) {
  if (best == nullptr) return;
  const TreeTotal& reported = best->last.total;
  // After this tree has become a part of another tree, the minimum may be lower.
  const bool same = was_inside && best->last.term == known_term_;
  known_term_ = best->last.term;
  known_ = {same ? std::max(known_.least, reported.least) : reported.least, reported.count, reported.sum,
            reported.slowest};
}

// ---- Reports and results ----

// The term of a resigned root to hand over to this parent, or 0. The token is passed to one node only: two receivers
// would both become the root.
uint64_t AggregateTree::handed_over(NodeId parent) {
  const double now = requests_.now();
  const bool token = token_until_ > now && token_term_ == term_ && token_from_ != parent;
  if (is_root_ || (!token && resigned_until_ <= now)) return 0;
  if (!token_to_ && target_ == parent) token_to_ = parent;
  return token_to_ != parent ? 0 : token ? token_term_ : own_term_;
}

void AggregateTree::send_reports() {
  const double now = requests_.now();
  TreeReport report;
  report.total = total();
  const TreeTotal& last = reported_;
  if (report.total.least != last.least || report.total.count != last.count || report.total.voters != last.voters) {
    parents_.all_due();
  }
  const bool due =
      std::any_of(parents_.all().begin(), parents_.all().end(), [](const auto& p) { return p.due && !p.down; });
  if (!due) return;
  reported_ = report.total;
  report.number = ++number_;
  children_.note(number_);
  parents_.sent(number_, now);
  report.term = term_;
  report.known = token_until_ > now ? std::max(known_.least, token_known_) : known_.least;
  report.key = key_;
  report.below = children_.nodes();
  report.lost = parents_.lost();
  report.lease = std::min(60.0, std::max({0.0, inside_until_ - now, children_.leased_until() - now}));
  const bool waits = children_.urgent() || settled_ < participates_since_;
  const auto* const best = parents_.inside(settled_, target_.value_or(requests_.self().node), now);
  for (auto& parent : parents_.all()) {
    if (!parent.due || parent.down) continue;
    parent.due = false;
    parent.sent = now;
    TreeReport mine = report;
    mine.resigned = handed_over(parent.peer.node);
    mine.urgent = waits || !parent.replied || parent.last.settled < std::max(parent.needed, settled_);
    // Counts each node once.
    if (&parent != (best ? best : parents_.all().data())) mine.total.count = mine.total.sum = mine.total.voters = 0;
    requests_.send(overlay_kind::report, parent.peer, 0, std::move(mine));
    ++traffic_.reports;
  }
}

std::vector<Peer> AggregateTree::others() const {
  std::vector<Peer> peers;
  const double now = requests_.now();
  const auto* const best = parents_.inside(settled_, target_.value_or(requests_.self().node), now);
  if (best != nullptr) {
    peers.push_back(best->peer);
    for (const Peer& other : best->last.others) peers.push_back(other);
  } else {
    peers = near_.lists().after.peers;  // candidates for the next root
  }
  if (peers.size() > TreeResult::kMostOthers) peers.resize(TreeResult::kMostOthers);
  return peers;
}

void AggregateTree::check_children() {
  const double now = requests_.now();
  for (auto& [node, child] : children_.all()) {
    if (child.down || now - child.received_at <= kTreeSilent || std::exchange(child.silence_reported, true)) continue;
    if (silent_) silent_(child.peer);
  }
}

void AggregateTree::send_results() {
  const double now = requests_.now();
  const bool heartbeat =
      std::exchange(heartbeat_due_, false) || now - last_heartbeat_ >= (is_root_ ? kTreeHeartbeat : kOwnHeartbeat);
  if (heartbeat) last_heartbeat_ = now;
  TreeResult result;
  result.total = known_;
  result.term = known_term_;
  result.lease = inside_ ? inside_until_ - now : 0;
  result.others = others();
  for (auto& [node, child] : children_.all()) {
    if (child.down) continue;
    const bool again = child.requests > 0 && child.requests < kMostRequests && now - child.requested_at >= kTreeRetry;
    if (!heartbeat && !again && !push_ && !child.due) continue;
    if (heartbeat) child.requests = 0;
    child.due = false;
    result.report_requested = heartbeat || again;
    if (result.report_requested) {
      ++child.requests;
      child.requested_at = now;
    }
    result.received = child.last.number;
    result.settled = child.settled;
    result.elsewhere = !near_.owns(child.last.key);
    requests_.send(overlay_kind::result, child.peer, 0, result);
    ++traffic_.results;
  }
  push_ = false;
}

double AggregateTree::next_time(bool joined) const {
  const double now = requests_.now();
  double next = last_heartbeat_ + (is_root_ ? kTreeHeartbeat : kOwnHeartbeat);
  if (!is_root_ && owns_root_key_) next = std::min(next, std::max(now + kTreeRetry, owns_root_key_since_ + kRootWait));
  if (joined && !owns_root_key_) next = std::min(next, next_seek_);
  if (inside_ && !is_root_) next = std::min(next, inside_until_);
  for (const auto& parent : parents_.all()) {
    if (!parent.replied) next = std::min(next, parent.sent + kTreeRetry);
    next = std::min(next, parent.silence_reported || parent.down ? now + kTreeRetry : parent.received_at + kTreeSilent);
  }
  for (const auto& [node, child] : children_.all()) {
    if (child.requests > 0 && child.requests < kMostRequests) next = std::min(next, child.requested_at + kTreeRetry);
  }
  return std::max(next, now + kLeastWait);
}

// ---- Leaving ----

void AggregateTree::leave() {
  const double now = requests_.now();
  TreeReport report;
  report.total = children_.total();
  report.number = ++number_;
  report.resigned = is_root_ ? own_term_ : token_until_ > now ? token_term_ : 0;
  report.term = term_;
  report.known = token_until_ > now ? std::max(known_.least, token_known_) : known_.least;
  report.leaving = true;
  report.below = children_.nodes();
  std::vector<Peer> receivers;
  if (is_root_) {
    const auto& after = near_.lists().after.peers;
    if (!after.empty()) receivers.push_back(after.front());
  } else {
    for (const auto& parent : parents_.all()) receivers.push_back(parent.peer);
  }
  for (const Peer& receiver : receivers) requests_.send(overlay_kind::report, receiver, 0, report);
  TreeResult result;
  result.leaving = true;
  result.others = others();
  for (auto& [node, child] : children_.all()) {
    result.received = child.last.number;
    result.settled = child.settled;
    requests_.send(overlay_kind::result, child.peer, 0, result);
  }
  inside_until_ = std::min(inside_until_, now);
}

void AggregateTree::restart() {
  children_.clear();
  parents_.clear();
  target_.reset();
  is_root_ = inside_ = included_ = false;
  inside_until_ = resigned_until_ = token_until_ = 0;
  settled_ = number_ + 1;
  participates_since_ = number_ + 1;
  seeking_ = 0;
  next_seek_ = 0;
}

}  // namespace actorhost
