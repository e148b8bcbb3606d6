#include "host/overlay/aggregate_tree.hpp"

namespace actorhost {

namespace {

constexpr int kMostRequests = 4;       // result requests for one report, per heartbeat
constexpr double kOwnHeartbeat = 0.6;  // where none has arrived from above
constexpr double kLeastWait = 0.005;   // between ticks
constexpr int kMostTurns = 4;          // in a tick, if each turn makes the callback set the clock

}  // namespace

void AggregateTree::set_clock(std::optional<uint64_t> clock, uint64_t sum) {
  clock_.set(clock, sum, parents_.next_number());
  dirty_ = true;
}

void AggregateTree::set_voters(bool votes, uint64_t all) {
  clock_.set_voters(votes, all);
  dirty_ = true;
}

Aggregate AggregateTree::aggregate(double now) const {
  return {known_.least, known_.count, known_.sum, known_.slowest, inclusion_.included && inclusion_.until > now};
}

// ---- Incoming messages ----

void AggregateTree::on_report(const TreeReport& report) {
  const double now = calls_.now();
  const Peer& from = report.envelope.from;
  role_.take(report, now);
  // A child is behind its parent on the ring, so there are no cycles. Only a leaving root hands over to its successor.
  if (from.id <= calls_.self().id && !report.leaving) return;
  // Without a root, urgent reports would multiply, because each node of a forming ring reports to several parents.
  if (children_.take(report, now) && inclusion_.inside) parents_.all_due();
}

bool AggregateTree::on_result(const TreeResult& result) {
  const double now = calls_.now();
  if (std::max(result.received, result.settled) > parents_.number()) return false;
  if (!parents_.take(result, now)) {
    calls_.send(overlay_kind::detach, result.envelope.from, 0, Envelope{});
    return true;
  }
  role_.take(result, now);
  if (search_.is_target(result.envelope.from.node) && (result.elsewhere || result.leaving)) search_.seek_soon();
  heartbeat_.due =
      heartbeat_.due || (result.report_requested && result.lease > 0 && now - heartbeat_.last > kTreeHeartbeat / 2);
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
  return dirty_ ? calls_.now() : next;
}

double AggregateTree::turn(bool joined) {
  const double now = calls_.now();
  if (now - ticked_ > kTreeLease) resume();
  ticked_ = now;
  take_role(joined);
  const double next_drop = children_.drop(calls_.self().node, now);
  if (joined) {
    search_.seek();
    if (role_.is_root() && near_.owns(0)) search_.detach_all();
  }
  search_.check(settled_, role_.is_root());
  report_silence();
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
  if (role_.resume(calls_.now())) resign(0);
}

// ---- The root ----

void AggregateTree::take_role(bool joined) {
  const double now = calls_.now();
  role_.set_owns_root_key(joined && near_.owns(0), now);
  const auto* const parent = search_.target() ? parents_.find(*search_.target()) : nullptr;
  // The owner of key 0 has arrived recently and takes over, or this tree becomes a part of another tree.
  if (parent != nullptr && role_.must_resign(*parent)) resign(parent->last.lease == 0 ? now + kTreeLease : 0);
  if (const auto least = role_.succession(children_, inclusion_.inside && inclusion_.until > now, now))
    become_root(*least);
}

void AggregateTree::become_root(uint64_t least) {
  role_.become_root(calls_.self().node);
  known_term_ = role_.term();
  known_.least = std::max(known_.least, least);
  search_.detach_all();
}

void AggregateTree::resign(double until) {
  role_.resign(search_.target(), until);
  // Children rely on everything settled here, and the next report repeats all of it.
  settled_ = parents_.next_number();
  parents_.all_due();
}

// ---- Known state ----

TreeTotal AggregateTree::total() const {
  TreeTotal total = children_.total();
  clock_.add_to(total, calls_.self().node);
  return total;
}

void AggregateTree::refresh() {
  const double now = calls_.now();
  const bool was_inside = inclusion_.inside && inclusion_.until > now;
  const uint64_t was_least = known_.least;
  const TreeParents::Parent* best = nullptr;
  if (role_.is_root()) {
    inclusion_.until = now + kTreeLease;
  } else {
    settled_ = std::max(settled_, parents_.settled());
    children_.settle(settled_);
    best = search_.inside(settled_);
    if (best != nullptr) role_.follow();
    inclusion_.until = std::max(role_.resigned_until(), best == nullptr ? 0 : best->until);
  }
  const bool is_inside = inclusion_.until > now;
  learn(best, was_inside);
  bool counted = is_inside && settled_ >= clock_.since();
  if (role_.is_root()) {
    const TreeTotal all = total();
    counted = clock_.complete(all);
    if (counted) {
      if (all.least != kNoClock) known_.least = std::max(known_.least, all.least);
      known_.count = all.count;
    }
    known_.sum = all.sum;
    known_.slowest = all.slowest;
    children_.settle_all();
  }
  // The root has counted this node, and its minimum is the minimum of the others: this node starts there.
  if (clock_.starting() && counted) {
    clock_.limit(parents_.next_number());
    parents_.all_due();
  }
  inclusion_.included = is_inside && (role_.is_root() ? !clock_.starting() : settled_ >= clock_.since());
  // A node that was dropped meanwhile continues at the minimum of the others, too.
  if (clock_.limiting() && (inclusion_.included || counted)) clock_.raise(known_.least);
  push_ = known_.least != was_least || is_inside != inclusion_.inside;
  inclusion_.inside = is_inside;
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

void AggregateTree::send_reports() {
  const double now = calls_.now();
  TreeReport report;
  report.total = total();
  const TreeTotal& last = reported_;
  if (report.total.least != last.least || report.total.count != last.count || report.total.voters != last.voters) {
    parents_.all_due();
  }
  if (!parents_.any_due()) return;
  reported_ = report.total;
  report.number = parents_.count_report(now);
  children_.note(report.number);
  report.term = role_.term();
  report.known = role_.known(known_.least, now);
  report.key = search_.key();
  report.below = children_.nodes();
  report.lost = parents_.lost();
  report.lease = std::min(60.0, std::max({0.0, inclusion_.until - now, children_.leased_until() - now}));
  const bool waits = children_.urgent() || settled_ < clock_.since();
  const auto* const best = search_.inside(settled_);
  for (auto& parent : parents_.all()) {
    if (!parent.due || parent.down) continue;
    parent.due = false;
    parent.sent = now;
    TreeReport mine = report;
    mine.resigned = role_.hand_over(parent.peer.node, search_.target(), now);
    mine.urgent = waits || !parent.replied || parent.last.settled < std::max(parent.needed, settled_);
    // Counts each node once.
    if (&parent != (best ? best : parents_.all().data())) mine.total.count = mine.total.sum = mine.total.voters = 0;
    calls_.send(overlay_kind::report, parent.peer, 0, std::move(mine));
    ++traffic_.reports;
  }
}

std::vector<Peer> AggregateTree::others() const {
  std::vector<Peer> peers;
  const auto* const best = search_.inside(settled_);
  if (best != nullptr) {
    peers.push_back(best->peer);
    for (const Peer& other : best->last.others) peers.push_back(other);
  } else {
    peers = near_.lists().after.peers;  // candidates for the next root
  }
  if (peers.size() > TreeResult::kMostOthers) peers.resize(TreeResult::kMostOthers);
  return peers;
}

void AggregateTree::report_silence() {
  if (!silent_) return;
  const double now = calls_.now();
  for (auto& parent : parents_.all()) {
    if (parent.silent(now) && !parent.down && !std::exchange(parent.silence_reported, true)) silent_(parent.peer);
  }
  for (auto& [node, child] : children_.all()) {
    if (child.down || now - child.received_at <= kTreeSilent || std::exchange(child.silence_reported, true)) continue;
    silent_(child.peer);
  }
}

void AggregateTree::send_results() {
  const double now = calls_.now();
  const bool heartbeat = std::exchange(heartbeat_.due, false) ||
                         now - heartbeat_.last >= (role_.is_root() ? kTreeHeartbeat : kOwnHeartbeat);
  if (heartbeat) heartbeat_.last = now;
  TreeResult result;
  result.total = known_;
  result.term = known_term_;
  result.lease = inclusion_.inside ? inclusion_.until - now : 0;
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
    calls_.send(overlay_kind::result, child.peer, 0, result);
    ++traffic_.results;
  }
  push_ = false;
}

double AggregateTree::next_time(bool joined) const {
  const double now = calls_.now();
  double next = heartbeat_.last + (role_.is_root() ? kTreeHeartbeat : kOwnHeartbeat);
  next = std::min(next, role_.next_time(now));
  if (joined && !role_.owns_root_key()) next = std::min(next, search_.next_time());
  if (inclusion_.inside && !role_.is_root()) next = std::min(next, inclusion_.until);
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
  const double now = calls_.now();
  TreeReport report;
  report.total = children_.total();
  report.number = parents_.count_report(now);
  report.resigned = role_.hand_over_all(now);
  report.term = role_.term();
  report.known = role_.known(known_.least, now);
  report.leaving = true;
  report.below = children_.nodes();
  std::vector<Peer> receivers;
  if (role_.is_root()) {
    const auto& after = near_.lists().after.peers;
    if (!after.empty()) receivers.push_back(after.front());
  } else {
    for (const auto& parent : parents_.all()) receivers.push_back(parent.peer);
  }
  for (const Peer& receiver : receivers) calls_.send(overlay_kind::report, receiver, 0, report);
  TreeResult result;
  result.leaving = true;
  result.others = others();
  for (auto& [node, child] : children_.all()) {
    result.received = child.last.number;
    result.settled = child.settled;
    calls_.send(overlay_kind::result, child.peer, 0, result);
  }
  inclusion_.until = std::min(inclusion_.until, now);
}

void AggregateTree::restart() {
  children_.clear();
  search_.restart();
  role_.restart();
  inclusion_.inside = inclusion_.included = false;
  inclusion_.until = 0;
  settled_ = parents_.next_number();
  clock_.restart(parents_.next_number());
}

}  // namespace actorhost
