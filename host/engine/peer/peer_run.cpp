#include "host/engine/peer/peer_run.hpp"

#include <algorithm>
#include <set>

namespace actorhost {

namespace {

constexpr double kSampleSeconds = 2;    // until a draw ends with the replies so far
constexpr double kPollInterval = 0.02;  // between polls of the worker count
constexpr uint32_t kBegunSample = 8;

}  // namespace

// ---- values ----

// Reads without waiting, if this includes all pushes of this node.
std::optional<LedValues> PeerRun::read(const std::vector<ParamKey>& keys, Mark mark) {
  if (keys.empty()) return LedValues{};
  if (mail_ && mail_->in_flight() > 0) return std::nullopt;
  return bridge_.read(keys, mark);
}

Result<std::vector<ParamEntry>> PeerRun::get(std::vector<ParamKey> keys, const char* operation) {
  using Values = Result<std::vector<ParamEntry>>;
  // A pull reads the values into which it merges. With the node's mark the get would wait for the pull itself.
  const Mark mark = pulling_.empty() ? mark_ : 0;
  led_ = 0;
  if (auto own = read(keys, mark)) {
    state_ = std::move(own->state);
    led_ = own->changes + 1;
    return std::move(own->entries);
  }
  auto values = bridge_.call<Values>(operation, [keys = std::move(keys), mark](auto& peer, double now, auto reply) {
    peer.keys.client().get(keys, mark, now, reply);
  });
  if (!values) return values.error();
  return *std::move(values);
}

Status PeerRun::set(std::vector<ParamEntry> entries, const char* operation) {
  const Mark mark = mark_of(config_.run, completed(mark_));
  auto done = bridge_.call<Status>(operation, [entries = std::move(entries), mark](auto& peer, double now, auto reply) {
    peer.keys.client().set(entries, mark, now, reply);
  });
  return done ? *std::move(done) : Status(done.error());
}

// ---- the phases of a run ----

Status PeerRun::begin(const Config& config) {
  config_ = config;
  wait_.begin(config.run, *config.board);
  pushes_ = non_finite_ = 0;
  all_ = {};
  began_ = 0;
  if (mail_) mail_->forget();
  pulling_.clear();
  Node& node = bridge_.node();
  AH_LET(auto members, node.at_work(*node.newest_membership()));
  expected_ = static_cast<uint32_t>(members.size());
  mail_ = std::make_shared<PeerMail>(node.port().waker());
  // Waits until the ring is complete, as far as the node can tell. While the node sees a whole ring with fewer nodes
  // than workers, some are missing.
  struct Around {
    bool whole;
    double nodes;
    PeerTraffic sent;
  };
  const auto check_late = [&] { return wait_.take_check() ? wait_.show({}) : Status(); };
  const PeerWait::Scope waiting(wait_);
  Around found;
  for (;;) {
    auto result = bridge_.call<Around>(
        "peer.run",
        [](auto& peer, double now, auto reply) {
          reply({peer.overlay.near().whole(), peer.overlay.size_estimate(now).nodes, peer.sent});
        },
        check_late);
    if (!result) return result.error();
    found = *result;
    if (!found.whole || found.nodes >= std::min(expected_, node.newest_membership()->size())) break;
    AH_TRY(check_late());
    AH_TRY(bridge_.pause("peer.run"));
  }
  before_ = found.sent;
  mark_ = present_in(config_.run);
  gate_.begin(config_.run, 0);
  gate_.set_rule(*config_.rule, config_.sampling);
  config_.board->begin_of_peers(config_.run, config_.rule_name);
  bridge_.post([mail = mail_](PeerService::PeerNode& peer, double) {
    peer.keys.holder().on_pull(
        [mail](Batch batch) { mail->put([&](PeerMail& m) { m.pulls.push_back(std::move(batch)); }); });
    peer.watch.on_state([mail](NodeId id, std::optional<std::string> state) {
      mail->put([&](PeerMail& m) { m.states.emplace_back(id, std::move(state)); });
    });
    peer.overlay.on_aggregate([mail, &peer](const Aggregate& all) {
      if (all.included) peer.keys.holder().pass(all.least);
      mail->put([&](PeerMail& m) { m.all = all; });
    });
  });
  publish_clock();
  return {};
}

bool PeerRun::first() const {
  const auto workers = bridge_.node().newest_membership()->workers();
  return !workers.empty() && workers.front().id == bridge_.node().index();
}

Result<bool> PeerRun::begun_elsewhere() {
  return bridge_.call<bool>("peer.run", [run = config_.run](auto& peer, double now, auto reply) {
    peer.overlay.sample(kBegunSample, kSampleSeconds, now, [run, reply](const std::vector<Sampled>& sample) {
      reply(std::any_of(sample.begin(), sample.end(), [run](const Sampled& one) {
        const auto pace = unpack<PeerPace>(one.state);
        return pace.ok() && (pace->mark > mark_of(run, 0) || (pace->mark == mark_of(run, 0) && pace->busy));
      }));
    });
  });
}

void PeerRun::ready() {
  wait_.enter(Phase::ready);
  if (mark_ == present_in(config_.run)) mark_ = mark_of(config_.run, 0);
  publish_clock();
}

void PeerRun::request_pass() {
  wait_.enter(Phase::pass);
  gate_.request_pass(now());
  wait_.on_board([&](auto& self) { self.set_waiting(step(), bridge_.node().clock().now()); });
}

void PeerRun::fetch(std::vector<ParamKey> keys) {
  wait_.enter(Phase::fetch);
  if (auto own = read(keys, mark_)) {
    std::lock_guard lock(mail_->mutex);
    mail_->fetched = std::move(own->entries);
    return;
  }
  bridge_.post([mail = mail_, keys = std::move(keys), mark = mark_](PeerService::PeerNode& peer, double now) {
    peer.keys.client().get(keys, mark, now, [mail](Result<std::vector<ParamEntry>> values) {
      mail->put([&](PeerMail& m) { m.fetched = std::move(values); });
    });
  });
}

Status PeerRun::push(std::vector<ParamEntry> entries) {
  wait_.enter(Phase::push);
  PeerMail::Push sent{mark_of(config_.run, step() + 1), 0, !entries.empty()};
  bool large = false;
  std::set<ParamKey> keys;
  bool finite = true;
  for (const ParamEntry& entry : entries) {
    const size_t bytes = payload_bytes(entry.value);
    sent.bytes += bytes;
    large = large || bytes > kChunkBytes;
    if (!keys.insert(entry.key).second) {
      return Error{Code::bad_argument, "key " + entry.key.print() + " occurs twice"};
    }
    finite = finite && !has_non_finite(entry.value);
    if (finite || !config_.check_finite) continue;
    return Error{Code::bad_argument, "the value of key " + entry.key.print() + " in step " +
                                         std::to_string(step() + 1) + " is infinite or not a number somewhere"};
  }
  if (!finite) ++non_finite_;
  const PushRule rule{config_.update, config_.rule->staleness() == 0};
  // A pull may need this node's thread, and large tensors may have to be pushed again (split_client.hpp).
  waits_for_push_ = large || config_.update.is_lua();
  invalidate_reads();
  {
    std::lock_guard lock(mail_->mutex);
    mail_->pushes.push_back(sent);
  }
  const auto call = [mail = mail_, entries = std::move(entries), rule, mark = sent.mark](auto& peer, double now) {
    peer.keys.client().push(entries, mark, rule, now,
                            [mail, mark, &peer](const Status& done) { mail->acknowledge(peer, mark, done); });
  };
  bridge_.post(call, false);
  // Does not wake the courier for each push. The courier handles this push when an earlier push is acknowledged, or
  // when this node waits.
  posted_ = true;
  if (mail_->in_flight() <= 1) flush_posted();
  return {};
}

void PeerRun::flush_posted() {
  if (std::exchange(posted_, false)) bridge_.flush();
}

bool PeerRun::may_continue() const { return waits_for_push_ ? mail_->in_flight() == 0 : mail_->has_room(); }

void PeerRun::stop() {
  wait_.enter(Phase::stop);
  waits_for_push_ = true;
  wait_.on_board([&](auto& self) { self.set_away(bridge_.node().clock().now()); });
}

// Staged updates become visible when all workers have stopped, and a Lua pull merges them now. Replies after that
// include them.
void PeerRun::settle() {
  wait_.enter(Phase::settle);
  check_staged();
}

// After a leader's failure its followers hold staged updates until the next leader has merged them. So each member of a
// group checks, not only the leader.
void PeerRun::check_staged() {
  bridge_.post(
      [mail = mail_, least = all_.included ? all_.least : 0, run = config_.run](PeerService::PeerNode& peer, double) {
        peer.keys.holder().pass(least);  // retries updates that arrived during another pull
        const bool merged = !peer.keys.has_staged(stopped_in(run, 0));
        bool changed = false;
        mail->put([&](PeerMail& m) { changed = std::exchange(m.merged, merged) != merged; }, false);
        if (changed) mail->put([](PeerMail&) {});
      });
}

// Invalidates earlier gets: the node's clock has changed, or whether it pulls.
void PeerRun::invalidate_reads() noexcept {
  if (state_) state_->change();
}

// Publishes this node's clock. If it is not urgent, the next acknowledged push publishes it.
void PeerRun::publish_clock(bool soon) {
  invalidate_reads();
  {
    std::lock_guard lock(mail_->mutex);
    mark_ = std::max(mark_, mail_->pace.mark);
    mail_->pace = gate_.pace(mark_);
    if (!soon && !mail_->pushes.empty()) return;
  }
  bridge_.post([mail = mail_](PeerService::PeerNode& peer, double) { mail->publish(peer); });
}

// ---- mail and its consequences ----

Status PeerRun::take_mail() {
  mail_->unread = false;
  std::vector<PeerMail::Drawn> drawn;
  std::vector<std::pair<NodeId, std::optional<std::string>>> states;
  std::optional<Error> refused;
  std::optional<std::vector<KeyClient::Pending>> pending;
  {
    std::lock_guard lock(mail_->mutex);
    drawn.swap(mail_->drawn);
    states.swap(mail_->states);
    refused.swap(mail_->refused);
    pending.swap(mail_->pending);
    if (mail_->all) all_ = *mail_->all;
    if (mail_->pace.mark > mark_) invalidate_reads();
    mark_ = std::max(mark_, mail_->pace.mark);
    pushes_ = mail_->sum;
  }
  if (all_.included) gate_.learn(all_.least, static_cast<uint32_t>(all_.count));
  for (const PeerMail::Drawn& one : drawn) gate_.drawn(one.draw, one.sample, now());
  for (const auto& [peer, state] : states) gate_.update_peer(peer, state);
  if (pending) AH_TRY(wait_.show(*pending));
  return refused ? Status(*std::move(refused)) : Status();
}

// Requests the clocks of all workers, and this node's requests for keys without a reply if `pending`.
void PeerRun::poll(bool pending) {
  bridge_.post([mail = mail_, pending](PeerService::PeerNode& peer, double now) {
    const auto change = [&](PeerMail& m) {
      m.all = peer.overlay.aggregate(now);
      if (pending) m.pending = peer.keys.pending();
    };
    mail->put(change, pending);
  });
}

void PeerRun::show_gate() {
  const PeerGate::Counts& counts = gate_.counts();
  wait_.on_board([&](auto& self) {
    self.refused.set(counts.refusals);
    self.passed.set(counts.decisions - counts.refusals);
  });
}

// Passes the gate's requests to the overlay and the watch.
void PeerRun::send_gate_requests() {
  if (const auto draw = gate_.take_draw()) {
    bridge_.post([mail = mail_, draw = *draw](PeerService::PeerNode& peer, double now) {
      peer.overlay.sample(draw.count, kSampleSeconds, now, [mail, draw](std::vector<Sampled> sample) {
        mail->put([&](PeerMail& m) { m.drawn.push_back({draw.draw, std::move(sample)}); });
      });
    });
  }
  if (gate_.take_unwatch()) bridge_.post([](PeerService::PeerNode& peer, double) { peer.watch.stop(); });
  if (auto peers = gate_.take_watch(); !peers.empty()) {
    bridge_.post([peers = std::move(peers)](PeerService::PeerNode& peer, double now) { peer.watch.watch(peers, now); });
  }
}

Result<bool> PeerRun::advance() {
  if (wait_.phase() != Phase::none && !bridge_.leased()) return false;
  switch (wait_.phase()) {
    case Phase::begin: return advance_begin();
    case Phase::ready:
      if (!all_are(mark_of(config_.run, 0))) return false;
      began_ = bridge_.node().clock().now();
      return true;
    case Phase::pass: return advance_pass();
    case Phase::fetch: return advance_fetch();
    case Phase::push: return advance_push();
    case Phase::stop:
      return may_continue() && publish_until(stopped_in(config_.run, step()), stopped_in(config_.run, 0));
    case Phase::settle:
      return mail_->is_merged() && publish_until(settled_in(config_.run, step()), settled_in(config_.run, 0));
    case Phase::none: break;
  }
  return true;
}

bool PeerRun::advance_begin() {
  if (!all_are(present_in(config_.run))) return false;
  if (all_.least >= mark_of(config_.run, 0)) {  // the others have begun: this node joins at the minimum clock
    mark_ = all_.least;
    gate_.begin(config_.run, completed(mark_));
  }
  return true;
}

bool PeerRun::advance_pass() {
  if (gate_.waiting()) return false;
  gate_.start(now());
  wait_.on_board([&](auto& self) { self.set_working(bridge_.node().clock().now()); });
  publish_clock(false);
  return true;
}

Result<bool> PeerRun::advance_fetch() {
  std::lock_guard lock(mail_->mutex);
  if (!mail_->fetched) return false;
  if (!mail_->fetched->ok()) return mail_->fetched->error();
  return true;
}

std::vector<ParamEntry> PeerRun::take_entries() {
  std::lock_guard lock(mail_->mutex);
  return **std::exchange(mail_->fetched, std::nullopt);
}

bool PeerRun::advance_push() {
  if (!may_continue()) return false;
  gate_.complete(now());
  publish_clock(false);
  return true;
}

// Publishes the mark. True: the marks of all workers are at least `least`. The others may have continued to the end
// without this node: then their clocks no longer change.
bool PeerRun::publish_until(Mark mark, Mark least) {
  if (mark_ < mark) {
    mark_ = mark;
    publish_clock();
  }
  return all_.included && all_.least >= least;
}

bool PeerRun::all_are(Mark mark) const {
  const uint32_t live = bridge_.node().newest_membership()->size();
  return all_.included && all_.count >= std::min(expected_, live) && all_.least >= mark;
}

Result<std::optional<PeerRun::Batch>> PeerRun::wait() {
  Node& node = bridge_.node();
  const Phase phase = wait_.phase();
  const PeerWait::Scope waiting(wait_);
  for (;;) {
    AH_TRY(take_mail());
    if (auto batch = mail_->take_pull()) {
      for (const PullEntry& entry : *batch) pulling_.push_back(entry.key);
      invalidate_reads();
      return batch;
    }
    const bool led = bridge_.leased();
    if (phase == Phase::pass && led) {
      AH_TRY(gate_.poll(now()));
      show_gate();
      send_gate_requests();
      if (gate_.waiting()) wait_.show_barrier();
    }
    const Result<bool> done = advance();
    if (!done) return done.error();
    if (*done) {
      send_gate_requests();
      return std::optional<Batch>();
    }
    swapped_ = false;
    if (wait_.take_check()) poll(true);
    double due = wait_.next_check();
    if (phase == Phase::pass) due = std::min(due, began_ + gate_.next_time());
    const bool clocks = phase == Phase::pass || phase >= Phase::stop;
    if (phase <= Phase::ready || (clocks && !all_.included)) {
      poll(false);  // a change of the count alone is not reported
      due = std::min(due, node.clock().now() + kPollInterval);
    }
    if (phase == Phase::settle) {
      check_staged();
      due = std::min(due, node.clock().now() + kPollInterval);
    }
    flush_posted();
    const uint64_t epoch = node.cluster().epoch();
    const auto something = [&] {
      return mail_->unread.load() || swapped_ || node.cluster().epoch() != epoch || bridge_.leased() != led;
    };
    const Status waited = node.wait_until(something, {}, wait_.name(), due);
    if (!waited.ok() && waited.error().code != Code::timeout) return waited.error();
  }
}

Status PeerRun::answer_pull(std::vector<ParamEntry> values) {
  for (const ParamEntry& value : values) {
    if (std::find(pulling_.begin(), pulling_.end(), value.key) != pulling_.end()) continue;
    return Error{Code::bad_argument, "key " + value.key.print() + " is not in the batch"};
  }
  pulling_.clear();
  invalidate_reads();
  {
    std::lock_guard lock(mail_->mutex);
    mail_->merged = false;
  }
  bridge_.post([values = std::move(values)](PeerService::PeerNode& peer, double) {
    (void)peer.keys.holder().answer_pull(values);  // cannot fail: the keys were checked above
  });
  if (wait_.phase() == Phase::settle) settle();
  return {};
}

void PeerRun::resample(const PeerGate::Sampling& sampling, const std::string& rule_name) {
  config_.board->rename(rule_name);
  config_.sampling = sampling;
  gate_.set_rule(*config_.rule, sampling);
  swapped_ = true;
}

// ---- reports ----

double PeerRun::seconds() const { return began_ > 0 ? bridge_.node().clock().now() - began_ : 0; }

uint64_t PeerRun::updates() const { return std::max(all_.sum, pushes_); }

uint64_t PeerRun::workers() const { return std::max(all_.count, uint64_t{1}); }

Result<PeerSummary> PeerRun::end() {
  const auto sent = bridge_.call<PeerTraffic>("peer.run", [](auto& peer, double, auto reply) {
    peer.keys.holder().on_pull(nullptr);
    peer.watch.on_state(nullptr);
    reply(peer.sent);
  });
  if (!sent) return sent.error();
  wait_.enter(Phase::none);
  config_.board->end_of_peers(config_.run);
  const PeerGate::Counts& counts = gate_.counts();
  return PeerSummary{completed(all_.least), all_.sum,     seconds(),      non_finite_,
                     counts.decisions,      counts.draws, *sent - before_};
}

}  // namespace actorhost
