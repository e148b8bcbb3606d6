// The waits of a run and the workers waited for. A long wait shows them in the state of the run and logs them once.

#include <algorithm>

#include "host/engine/peer/peer_run.hpp"

namespace actorhost {

namespace {

constexpr double kPollInterval = 0.02;  // between polls of the worker count
constexpr double kFirstCheck = 0.25;    // until the workers waited for are first looked up
constexpr double kNextCheck = 1;
constexpr size_t kMostNamed = 8;

void add(std::vector<NodeId>& ids, NodeId id) {
  if (ids.size() < kMostNamed && std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
}

}  // namespace

const char* PeerRun::phase_name() const noexcept {
  switch (phase_) {
    case Phase::begin: return "peer.run: until all workers are present";
    case Phase::ready: return "peer.run: until all workers are ready";
    case Phase::pass: return "peer.run: the barrier";
    case Phase::fetch: return "peer.run: values of keys";
    case Phase::push: return "peer.run: acknowledgements of a push";
    case Phase::stop: return "peer.run: until all workers have stopped";
    case Phase::settle: return "peer.run: until all updates are merged";
    case Phase::none: break;
  }
  return "peer.run";
}

PeerRun::InWait::InWait(PeerRun& run) : run_(run), activity_(run.bridge_.node().stats(), kCall) {
  run.since_ += run.bridge_.node().clock().now() - run.left_;
}

PeerRun::InWait::~InWait() {
  run_.left_ = run_.bridge_.node().clock().now();
  run_.await_workers({});
}

void PeerRun::enter(Phase phase) {
  phase_ = phase;
  since_ = left_ = bridge_.node().clock().now();
  next_check_ = since_ + kFirstCheck;
  logged_ = false;
}

// Whether to look up the workers waited for. In `begin` this sends a request to the coordinator, at growing intervals.
bool PeerRun::is_check_due() {
  const double now = bridge_.node().clock().now();
  if (now < next_check_) return false;
  next_check_ = now + (phase_ == Phase::begin ? std::clamp(now - since_, kFirstCheck, Node::kLongWait) : kNextCheck);
  if (!logged_ && now < since_ + Node::kLongWait) next_check_ = std::min(next_check_, since_ + Node::kLongWait);
  return true;
}

void PeerRun::request_awaited() {
  bridge_.post([mail = mail_](PeerService::PeerNode& peer, double when) {
    mail->put([&](PeerMail& m) {
      m.all = peer.overlay.aggregate(when);
      m.pending = peer.keys.pending();
    });
  });
}

std::string PeerRun::describe_slowest() const {
  const Mark least = all_.least;
  const RunId run = config_.run;
  const std::string description = bridge_.describe(all_.slowest);
  if (least < present_in(run)) return description + ", which has not begun the run";
  if (least < mark_of(run, 0)) return description + ", which is not ready";
  if (least >= stopped_in(run, 0)) return description + ", which has stopped and waits for updates to be merged";
  return description + ", which has completed " + std::to_string(completed(least)) + " steps";
}

// Shows the workers that this node waits for, and logs them after a long wait.
Status PeerRun::show_awaited(const std::vector<KeyClient::Pending>& pending) {
  Node& node = bridge_.node();
  std::vector<NodeId> ids;
  std::string description;
  if (phase_ == Phase::begin) {
    AH_LET(const auto late, node.behind(config_.run - 1));
    for (const Whereabouts& worker : late) add(ids, worker.id);
    description = node.describe(late);
  } else if (phase_ == Phase::pass && gate_.sampled()) {
    for (const NodeId id : gate_.sampled_behind()) {
      add(ids, id);
      description += (description.empty() ? "" : ", ") + bridge_.describe(id);
    }
  }
  const bool own = phase_ == Phase::fetch || phase_ == Phase::push || all_.slowest == node.index();
  if (ids.empty() && own) {
    for (const KeyClient::Pending& request : pending) {
      for (const NodeId id : request.awaited) add(ids, id);
      if (request.awaited.empty() && request.owner) add(ids, *request.owner);
    }
    description = bridge_.describe(pending);
  } else if (ids.empty() && !(phase_ == Phase::pass && gate_.sampled()) && all_.included && all_.slowest != kNoNode) {
    add(ids, all_.slowest);
    description = describe_slowest();
  }
  if (description.empty() && !leased()) description = "a majority of the workers, which the coordinator cannot reach";
  await_workers(std::move(ids));
  if (logged_ || node.clock().now() < since_ + Node::kLongWait) return {};
  logged_ = true;
  node.log_long_wait(phase_name(), description);
  return {};
}

void PeerRun::await_workers(std::vector<NodeId> ids) {
  if (ids == awaited_) return;
  awaited_ = std::move(ids);
  Node& node = bridge_.node();
  node.stats().await_workers({awaited_, since_});
  config_.board->update(config_.run, node.index(), [&](auto& self) { self.set_awaited(awaited_); });
}

Result<std::optional<PeerRun::Batch>> PeerRun::wait() {
  Node& node = bridge_.node();
  const InWait waiting(*this);
  for (;;) {
    AH_TRY(take_mail());
    if (!batches_.empty()) {
      Batch batch = std::move(batches_.front());
      batches_.pop_front();
      for (const PullEntry& entry : batch) pulling_.push_back(entry.key);
      invalidate_reads();
      return std::optional<Batch>(std::move(batch));
    }
    const bool led = leased();
    if (phase_ == Phase::pass && led) {
      AH_TRY(gate_.poll(now()));
      show_gate();
      send_gate_requests();
    }
    const Result<bool> done = advance();
    if (!done) return done.error();
    if (*done) {
      send_gate_requests();
      return std::optional<Batch>();
    }
    swapped_ = false;
    if (is_check_due()) request_awaited();
    double due = next_check_;
    if (phase_ == Phase::pass) due = std::min(due, began_ + gate_.next_time());
    const bool clocks = phase_ == Phase::pass || phase_ >= Phase::stop;
    if (phase_ <= Phase::ready || (clocks && !all_.included)) {
      poll_aggregate();  // a change of the count alone is not reported
      due = std::min(due, node.clock().now() + kPollInterval);
    }
    if (phase_ == Phase::settle) {
      check_staged();
      due = std::min(due, node.clock().now() + kPollInterval);
    }
    flush_posted();
    const uint64_t epoch = node.cluster().epoch();
    const auto something = [&] {
      return mail_->unread.load() || swapped_ || node.cluster().epoch() != epoch || leased() != led;
    };
    const Status waited = node.wait_until(something, {}, phase_name(), due);
    if (!waited.ok() && waited.error().code != Code::timeout) return waited.error();
  }
}

}  // namespace actorhost
