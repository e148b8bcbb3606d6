// The waits of a run and the workers waited for. A long wait shows them in the state of the run and logs them once.

#include <algorithm>

#include "host/engine/peer/peer_run.hpp"

namespace actorhost {

namespace {

constexpr double kLookAround = 0.02;  // between polls of the worker count
constexpr double kFirstLook = 0.25;   // until the workers waited for are first looked up
constexpr double kNextLook = 1;
constexpr size_t kMostNamed = 8;

void add(std::vector<NodeId>& ids, NodeId id) {
  if (ids.size() < kMostNamed && std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
}

}  // namespace

const char* PeerRun::what() const noexcept {
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
  look_again_ = since_ + kFirstLook;
  told_ = false;
}

// Whether to look up the workers waited for. In `begin` this sends a request to the coordinator, at growing intervals.
bool PeerRun::is_look_due() {
  const double now = bridge_.node().clock().now();
  if (now < look_again_) return false;
  look_again_ = now + (phase_ == Phase::begin ? std::clamp(now - since_, kFirstLook, Node::kLongWait) : kNextLook);
  if (!told_ && now < since_ + Node::kLongWait) look_again_ = std::min(look_again_, since_ + Node::kLongWait);
  return true;
}

void PeerRun::ask_for_awaited() {
  bridge_.post([mail = mail_](PeerService::PeerNode& peer, double when) {
    mail->put([&](PeerMail& m) {
      m.all = peer.overlay.aggregate(when);
      m.open = peer.keys.open();
    });
  });
}

std::string PeerRun::describe_slowest() const {
  const Mark least = all_.least;
  const RunId run = config_.run;
  const std::string who = bridge_.describe(all_.slowest);
  if (least < present_in(run)) return who + ", which has not begun the run";
  if (least < mark_of(run, 0)) return who + ", which is not ready";
  if (least >= stopped_in(run, 0)) return who + ", which has stopped and waits for updates to be merged";
  return who + ", which has completed " + std::to_string(completed(least)) + " steps";
}

// Shows the workers that this node waits for, and logs them after a long wait.
Status PeerRun::show_awaited(const std::vector<KeyClient::Open>& open) {
  Node& node = bridge_.node();
  std::vector<NodeId> ids;
  std::string who;
  if (phase_ == Phase::begin) {
    const auto late = node.behind(config_.run - 1);
    if (!late) return late.error();
    for (const Whereabouts& worker : *late) add(ids, worker.id);
    who = node.describe(*late);
  } else if (phase_ == Phase::pass && gate_.sampled()) {
    for (const NodeId id : gate_.sampled_behind()) {
      add(ids, id);
      who += (who.empty() ? "" : ", ") + bridge_.describe(id);
    }
  }
  const bool own = phase_ == Phase::fetch || phase_ == Phase::push || all_.slowest == node.index();
  if (ids.empty() && own) {
    for (const KeyClient::Open& question : open) {
      for (const NodeId id : question.awaited) add(ids, id);
      if (question.awaited.empty() && question.owner) add(ids, *question.owner);
    }
    who = bridge_.describe(open);
  } else if (ids.empty() && !(phase_ == Phase::pass && gate_.sampled()) && all_.included && all_.slowest != kNoNode) {
    add(ids, all_.slowest);
    who = describe_slowest();
  }
  if (who.empty() && !leased()) who = "a majority of the workers, which the rendezvous host cannot reach";
  await_workers(std::move(ids));
  if (told_ || node.clock().now() < since_ + Node::kLongWait) return {};
  told_ = true;
  node.log_long_wait(what(), who);
  return {};
}

void PeerRun::await_workers(std::vector<NodeId> ids) {
  if (ids == awaited_) return;
  awaited_ = std::move(ids);
  Node& node = bridge_.node();
  node.stats().await_workers({awaited_, since_});
  config_.board->note(config_.run, node.index(), [&](auto& self) { self.awaits(awaited_); });
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
      look_otherwise();
      return std::optional<Batch>(std::move(batch));
    }
    const bool led = leased();
    if (phase_ == Phase::pass && led) {
      AH_TRY(gate_.poll(now()));
      show_gate();
      look_around();
    }
    const Result<bool> done = finished();
    if (!done) return done.error();
    if (*done) {
      look_around();
      return std::optional<Batch>();
    }
    swapped_ = false;
    if (is_look_due()) ask_for_awaited();
    double due = look_again_;
    if (phase_ == Phase::pass) due = std::min(due, began_ + gate_.next_time());
    const bool clocks = phase_ == Phase::pass || phase_ >= Phase::stop;
    if (phase_ <= Phase::ready || (clocks && !all_.included)) {
      look_at_all();  // a change of the count alone is not reported
      due = std::min(due, node.clock().now() + kLookAround);
    }
    if (phase_ == Phase::settle) {
      look_for_staged();
      due = std::min(due, node.clock().now() + kLookAround);
    }
    look_at_posted();
    const uint64_t epoch = node.cluster().epoch();
    const auto something = [&] {
      return mail_->news.load() || swapped_ || node.cluster().epoch() != epoch || leased() != led;
    };
    const Status waited = node.wait_until(something, {}, what(), due);
    if (!waited.ok() && waited.error().code != Code::timeout) return waited.error();
  }
}

}  // namespace actorhost
