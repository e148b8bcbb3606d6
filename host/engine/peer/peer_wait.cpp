#include "host/engine/peer/peer_wait.hpp"

#include <algorithm>

namespace actorhost {

namespace {

constexpr double kFirstCheck = 0.25;  // until the workers waited for are first looked up
constexpr double kNextCheck = 1;
constexpr size_t kMostAwaited = 8;

void add(std::vector<NodeId>& ids, NodeId id) {
  if (ids.size() < kMostAwaited && std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
}

}  // namespace

const char* PeerWait::name() const noexcept {
  static constexpr std::array<const char*, 8> kPhaseNames = {"peer.run",
                                                             "peer.run: until all workers are present",
                                                             "peer.run: until all workers are ready",
                                                             "peer.run: the barrier",
                                                             "peer.run: values of keys",
                                                             "peer.run: acknowledgements of a push",
                                                             "peer.run: until all workers have stopped",
                                                             "peer.run: until all updates are merged"};
  return name_of(kPhaseNames, phase_);
}

const EngineCall& PeerWait::Scope::call_of(Phase phase) noexcept {
  static constexpr EngineCall kBarrier{Cause::peer, "barrier"};
  static constexpr EngineCall kPull{Cause::peer, "pull"};
  static constexpr EngineCall kPush{Cause::peer, "push"};
  static constexpr EngineCall kOther{Cause::peer, "peer.run"};
  switch (phase) {
    case Phase::pass: return kBarrier;
    case Phase::fetch: return kPull;
    case Phase::push: return kPush;
    default: return kOther;
  }
}

PeerWait::Scope::Scope(PeerWait& wait) : wait_(wait), activity_(wait.bridge_.node().stats(), call_of(wait.phase_)) {
  wait.since_ += wait.bridge_.node().clock().now() - wait.left_;
}

PeerWait::Scope::~Scope() {
  wait_.left_ = wait_.bridge_.node().clock().now();
  wait_.await_workers({});
}

void PeerWait::begin(RunId run, BarrierBoard& board) {
  run_ = run;
  board_ = &board;
  enter(Phase::begin);
}

void PeerWait::enter(Phase phase) {
  phase_ = phase;
  since_ = left_ = bridge_.node().clock().now();
  next_check_ = since_ + kFirstCheck;
  logged_ = false;
}

bool PeerWait::take_check() {
  const double now = bridge_.node().clock().now();
  if (now < next_check_) return false;
  next_check_ = now + (phase_ == Phase::begin ? std::clamp(now - since_, kFirstCheck, Node::kLongWait) : kNextCheck);
  if (!logged_ && now < since_ + Node::kLongWait) next_check_ = std::min(next_check_, since_ + Node::kLongWait);
  return true;
}

std::string PeerWait::describe_slowest() const {
  const Mark least = all_.least;
  const std::string description = bridge_.describe(all_.slowest);
  if (least < present_in(run_)) return description + ", which has not begun the run";
  if (least < mark_of(run_, 0)) return description + ", which is not ready";
  if (least >= stopped_in(run_, 0)) return description + ", which has stopped and waits for updates to be merged";
  return description + ", which has completed " + std::to_string(completed(least)) + " steps";
}

bool PeerWait::slowest_is_behind() const {
  return all_.included && all_.slowest != kNoNode && all_.slowest != bridge_.node().index() &&
         all_.least < mark_of(run_, gate_.step());
}

void PeerWait::show_barrier() {
  std::vector<NodeId> ids;
  if (gate_.sampled()) {
    for (const NodeId id : gate_.sampled_behind()) add(ids, id);
    if (ids.empty()) return;  // the next sample may have them
  } else if (slowest_is_behind()) {
    add(ids, all_.slowest);
  }
  await_workers(std::move(ids));
}

Status PeerWait::show(const std::vector<KeyClient::Pending>& pending) {
  Node& node = bridge_.node();
  std::vector<NodeId> ids;
  std::string description;
  if (phase_ == Phase::begin) {
    AH_LET(const auto late, node.behind(run_ - 1));
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
  } else if (ids.empty() && phase_ == Phase::pass && !gate_.sampled() && !slowest_is_behind()) {
    description = "the barrier rule, which refuses the step although no worker is behind";
  } else if (ids.empty() && !(phase_ == Phase::pass && gate_.sampled()) && all_.included && all_.slowest != kNoNode) {
    add(ids, all_.slowest);
    description = describe_slowest();
  }
  if (description.empty() && !bridge_.leased())
    description = "a majority of the workers, which the coordinator cannot reach";
  await_workers(std::move(ids));
  if (logged_ || node.clock().now() < since_ + Node::kLongWait) return {};
  logged_ = true;
  node.log_long_wait(name(), description);
  return {};
}

void PeerWait::await_workers(std::vector<NodeId> ids) {
  if (ids == awaited_) return;
  awaited_ = std::move(ids);
  bridge_.node().stats().await_workers({awaited_, since_});
  on_board([&](auto& self) { self.set_awaited(awaited_); });
}

}  // namespace actorhost
