// Cluster's part in an election: attaches to a candidate after the coordinator has failed, and takes over as a
// candidate.

#include <utility>

#include "host/cluster/cluster.hpp"

namespace actorhost {

void Cluster::outlive_coordinator() {
  if (outlives_.exchange(true)) return;
  post([this] {
    to_coordinator(make_frame(cluster_kind::outlive, service_address(process_), kNoAddress, 0));
    on_outlives();
  });
}

void Cluster::on_outlives() {
  lease_end_ = std::max(lease_end_, clock_.now());  // so far all processes of the table are on one side
  if (bound_url_.empty()) return;
  log_.info("cluster",
            "workers are peers, so the run outlives its coordinator; it can be joined at " + bound_url_ + " too");
}

double Cluster::leased_until() const noexcept {
  return outlives_coordinator() && stream_ != nullptr ? leased_until_.load(std::memory_order_acquire) : kForever;
}

void Cluster::report_participation(NodeId node, bool is_peer) {
  post([this, node, is_peer] {
    const auto [at, fresh] = is_peer_.try_emplace(node, is_peer);
    if (!fresh && std::exchange(at->second, is_peer) == is_peer) return;
    to_coordinator(make_frame(cluster_kind::participation, worker_address(node), kNoAddress, is_peer ? 1 : 0));
  });
}

// ---- a member and the lease of its coordinator ----

void Cluster::on_renewal(const Frame& frame) {
  const auto renewal = read_message<LeaseRenewal>(frame);
  if (!renewal) return finish({Code::bad_data, false, "from the coordinator: " + renewal.error().message});
  coordinator_renewal_ = std::max(coordinator_renewal_, renewal->number);
  coordinator_renewal_at_ = clock_.now();
  const double sent = renewals_.sent(renewal->acknowledged);
  if (sent >= 0 && renewal->lease > 0) leased(std::max(leased_until_.load(), sent + renewal->lease));
  send_renewal_reply();
}

void Cluster::send_renewal_reply() {
  to_coordinator(make_frame(cluster_kind::lease_renewal, service_address(process_), kNoAddress, 0,
                            pack(LeaseRenewal{renewals_.next(clock_.now()), coordinator_renewal_, 0, accepted_})));
}

void Cluster::on_proposal(const Frame& frame) {
  auto table = unpack<Membership>(frame.body.view());
  if (!table) return finish({Code::bad_data, false, "from the coordinator: " + table.error().message});
  accepted_ = std::max(accepted_, table->epoch());
  quorum_.accept(std::make_shared<const Membership>(std::move(*table)));
  send_renewal_reply();
}

// ---- the coordinator is lost ----

/// The coordinator has failed, at least for this process. It may resume if its link has not closed.
void Cluster::lose_coordinator(const std::string& reason, bool closed) {
  const MembershipPtr table = membership();
  const bool out = table->process(process_) == nullptr;
  if (!outlives_ || (closed && stall_seconds() > 0) || out) return finish_as_lost(reason);
  if (ended_) return;
  log_.warn("cluster", "lost " + coordinator_name() + ": " + reason + "; electing the next one");
  lost_coordinator_ = coordinator();
  ++losses_;
  loss_reason_ = reason;
  lost_coordinator_link_ = coordinator_link_;
  detector_.forget(lost_coordinator_);
  coordinator_link_ = 0;
  coordinator_process_ = kNoProcess;
  chunks_.cancel_all();
  without_coordinator_ = clock_.now();
  proofs_requested_.clear();
  logged_without_coordinator_ = false;
  if (closed) {
    give_up_lost_coordinator();
    succession_at_ = coordinator_renewal_at_ + kCoordinatorLease;  // unless it is proved dead
    const ProcessInfo* info = table->process(lost_coordinator_);
    proofs_requested_ = {lost_coordinator_};
    prove_dead(lost_coordinator_, info != nullptr ? info->url : "");
  } else {
    begin_succession();
  }
  events_.cluster_changed();
}

void Cluster::begin_succession() {
  succession_at_ = kForever;
  succession_.begin(process_, membership(), lost_coordinator_, clock_.now());
}

/// The lost coordinator will not return.
void Cluster::give_up_lost_coordinator() {
  {
    std::lock_guard lock(mutex_);
    cut_off_.insert(lost_coordinator_);
  }
  stream_->forget(lost_coordinator_);
  lost_coordinator_link_ = 0;
  late_frames_.clear();
}

/// A silent coordinator sends again.
void Cluster::on_lost_coordinator_frame(Frame&& frame) {
  if (bound_ != kNoProcess) return late_frames_.push_back(std::move(frame));
  late_frames_.push_back(std::move(frame));
  recover_coordinator();
}

void Cluster::recover_coordinator() {
  log_.info("cluster", "the coordinator sends again");
  is_candidate_ = false;
  bound_ = kNoProcess;
  succession_at_ = kForever;
  succession_.recovered();
  coordinator_link_ = std::exchange(lost_coordinator_link_, 0);
  coordinator_process_ = lost_coordinator_;
  detector_.watch(lost_coordinator_, clock_.now());
  for (const auto& [link, held] : std::exchange(held_, {})) send_redirect(link);
  send_unsent();
  events_.cluster_changed();
  for (Frame& frame : std::exchange(late_frames_, {})) member_frame(std::move(frame));
}

AttachMessage Cluster::own_attach() const {
  AttachMessage attach;
  attach.process = process_;
  attach.lost = lost_coordinator_;
  attach.loss = losses_;
  attach.self = config_.self;
  attach.self.settings.clear();
  attach.tables = quorum_.tables();
  std::lock_guard lock(mutex_);
  if (const ProcessInfo* info = membership_->process(process_)) attach.self.url = info->url;  // as others reach it
  for (const Member& member : membership_->workers()) {
    if (member.process != process_) continue;
    const auto peer = is_peer_.find(member.id);
    const bool left = peer != is_peer_.end() ? !peer->second : member.id >= membership_->founders();
    const auto entered = actions_.find(member.id);
    attach.workers.push_back(
        {member.id, entered == actions_.end() ? 0 : entered->second, ended_nodes_.contains(member.id), left});
  }
  return attach;
}

bool Cluster::attach_to(ProcessId process) {
  const auto link = peers_.links().find(process);
  if (link == peers_.links().end()) return peers_.reach(process);
  if (clock_.now() - stream_->last_received(process) >= config_.coordinator.times.dead) return false;
  send_attach(link->second);
  return true;
}

void Cluster::send_attach(LinkId link) {
  bound_ = peers_.owner(link);
  Frame frame = message_frame(cluster_kind::attach, kNoAddress, 0, own_attach());
  frame.src = service_address(process_);
  send_on(link, std::move(frame));
}

/// The candidate will not be the coordinator, or cannot be reached.
void Cluster::skip_candidate(ProcessId process) {
  if (bound_ == process) bound_ = kNoProcess;
  if (succession_.candidate() == process && !late_frames_.empty()) return recover_coordinator();
  succession_.failed(process, clock_.now());
}

/// There is a link to a peer.
void Cluster::peer_linked(ProcessId process) {
  const auto link = peers_.links().find(process);
  if (link == peers_.links().end()) return;
  if (coordinator_) return coordinator_->linked(process, link->second);
  if (succession_.candidate() == process) send_attach(link->second);
}

/// A process attaches to this process, which may not be a candidate yet: then the process has to wait.
void Cluster::on_attach(LinkId link, const Frame& frame) {
  auto attach = read_message<AttachMessage>(frame);
  const ProcessId owner = peers_.owner(link);
  if (!attach || owner == kNoProcess || attach->process != owner || attach->tables.empty()) {
    return stream_->close_link(link, attach ? "it names another process's number" : attach.error().message);
  }
  if (coordinator_) return accept_attach(link, *attach);
  if (coordinator() == kNoProcess || coordinator() == attach->lost) {
    held_[link] = {std::move(*attach), clock_.now()};
    consider_taking_over();
  } else {
    send_redirect(link);
  }
}

void Cluster::accept_attach(LinkId link, const AttachMessage& attach) {
  peers_.release(attach.process);
  coordinator_->on_attach(link, attach, clock_.now());
}

void Cluster::become_candidate() {
  is_candidate_ = true;
  candidate_since_ = clock_.now();
  prove_absent();
  consider_taking_over();
}

/// The tables of this process and of the processes attached to it.
Quorum Cluster::quorum_of_all() const {
  Quorum quorum = quorum_;
  for (const auto& [link, held] : held_) quorum.merge(held.attach.tables);
  return quorum;
}

/// Takes over once the attached processes and this process are a majority.
void Cluster::consider_taking_over() {
  if (!is_candidate_ || coordinator_ || ended_) return;
  const Quorum quorum = quorum_of_all();
  std::set<ProcessId> here = {process_};
  for (const auto& [link, held] : held_) here.insert(held.attach.process);
  if (quorum.majority([&](ProcessId process) { return here.contains(process); })) return take_over(quorum);
  if (!majority_is_possible(here)) {
    finish_as_lost(loss_reason_ + "; the other hosts continue without this one and have closed their links to it");
  }
}

/// Whether the processes that may still attach would make a majority with the attached ones. A live process with a
/// closed link cannot attach: the link is not made again.
bool Cluster::majority_is_possible(const std::set<ProcessId>& here) const {
  return quorum_.majority([&](ProcessId process) {
    const bool lost_coordinator = process == lost_coordinator_ && lost_coordinator_link_ == 0;
    const bool closed = lost_coordinator || peers_.broken_ones().contains(process);
    return here.contains(process) || !closed || proofs_.contains(process) || !proofs_requested_.contains(process);
  });
}

/// Requests proofs that absent processes are dead, so that they do not count: at once for processes whose links have
/// closed, a moment later for processes without a link. A process that a proposed table has dropped still counts in the
/// committed table.
void Cluster::prove_absent() {
  const bool all = clock_.now() - candidate_since_ > config_.coordinator.times.heartbeat / 2;
  for (const ProcessInfo& info : quorum_of_all().processes()) {
    if (info.process == process_ || peers_.links().contains(info.process) || quorum_.excludes(info.process)) continue;
    if (!all && !peers_.broken_ones().contains(info.process)) continue;
    if (proofs_requested_.insert(info.process).second) prove_dead(info.process, info.url);
  }
}

void Cluster::on_proof(ProcessId process, PortState port) {
  const double now = clock_.now();
  if (coordinator_) return coordinator_->on_proof(process, port, now);
  const bool dead = port == PortState::closed;
  if (port == PortState::unknown) proofs_requested_.erase(process);  // the next tick requests it again
  if (dead && (now < lease_end_ + kProofHolds || quorum_of_all().needs(process_))) quorum_.exclude(process);
  if (dead && process == lost_coordinator_ && succession_at_ < kForever) return begin_succession();
  consider_taking_over();
}

void Cluster::take_over(const Quorum& quorum) {
  CoordinatorConfig config = config_.coordinator;
  config.self = process_;
  config.run_id = run_id_;
  config.settings = settings_;
  config.args = args_;
  const double now = clock_.now();
  is_candidate_ = false;
  give_up_lost_coordinator();
  coordinator_ =
      std::make_unique<Coordinator>(std::move(config), job_, log_, static_cast<CoordinatorOutput&>(*this), now);
  const AttachMessage self = own_attach();
  set_url(self.self.url);
  if (const auto seed = settings_.find("seed"); seed != settings_.end()) config_.about.insert(*seed);
  log_.warn("cluster", "this host is the coordinator now" + (self.self.url.empty() ? "" : ", at " + self.self.url));
  std::set<ProcessId> lost = succession_.lost();
  lost.insert(peers_.broken_ones().begin(),
              peers_.broken_ones().end());  // died just before the coordinator, or cannot attach
  for (const auto& [link, held] : held_) lost.erase(held.attach.process);
  coordinator_process_ = process_.load();  // before the first table: its readers look for the coordinator
  coordinator_->succeed(quorum, lost, self, loss_reason_, now);
  for (const auto& [process, link] : peers_.links()) coordinator_->linked(process, link);
  for (const auto& [link, held] : std::exchange(held_, {})) accept_attach(link, held.attach);
  send_unsent();
  events_.cluster_changed();
}

/// A candidate is now the coordinator. It may have received the request after this process had skipped it. This process
/// may still follow it if it has followed no other coordinator since: the tables in the request are its newest.
void Cluster::on_attached(LinkId link, uint32_t loss) {
  const ProcessId process = peers_.owner(link);
  if (process == kNoProcess) return;
  if (coordinator() != kNoProcess || loss != losses_) {
    return stream_->close_link(link, "this host already has another coordinator");
  }
  give_up_lost_coordinator();
  follow(process, link);
}

void Cluster::follow(ProcessId process, LinkId link) {
  succession_.found();
  is_candidate_ = false;
  bound_ = kNoProcess;
  coordinator_renewal_ = 0;
  accepted_ = 0;
  peers_.release(process);
  coordinator_link_ = link;
  if (const ProcessInfo* info = membership()->process(process)) set_url(info->url);
  coordinator_process_ = process;
  detector_.watch(process, clock_.now());
  log_.info("cluster", "the coordinator is at " + config_.url + " now");
  for (const auto& [waiting_link, held] : std::exchange(held_, {})) send_redirect(waiting_link);
  send_unsent();
  peers_.resend_reports();
  events_.cluster_changed();
}

/// Sends what the previous coordinator may not have received. (The attach message holds the ended scripts.)
void Cluster::send_unsent() {
  if (failure_) {
    to_coordinator(make_frame(failure_->kind, failure_->src, kNoAddress, failure_->tag, failure_->meta.view()));
  }
  std::map<uint32_t, Blob> values;
  {
    std::lock_guard lock(mutex_);
    values = values_;
  }
  for (auto& [action, value] : values) {
    to_coordinator(
        make_frame(cluster_kind::action_done, service_address(process_), kNoAddress, action, {}, std::move(value)));
  }
  for (Frame& frame : std::exchange(unsent_, {})) to_coordinator(std::move(frame));
}

/// The candidate will not be the coordinator.
void Cluster::on_redirect(LinkId link) {
  const ProcessId process = peers_.owner(link);
  if (process != kNoProcess) skip_candidate(process);
}

/// Periodic work without a coordinator. With a coordinator, redirects processes that still attach to this process.
void Cluster::tick_without_coordinator(double now, double late) {
  const DetectorTimes& times = config_.coordinator.times;
  std::erase_if(held_, [&](const auto& entry) {
    const bool needless = coordinator() != kNoProcess && now - entry.second.since > times.suspect + times.heartbeat;
    if (needless) send_redirect(entry.first);
    return needless;
  });
  if (coordinator() != kNoProcess || !outlives_) return;
  if (now >= succession_at_) begin_succession();
  const ProcessId candidate = succession_.candidate();
  if (candidate != kNoProcess && candidate == bound_ && now - stream_->last_received(candidate) < times.suspect) {
    succession_.wait_longer(now);
  }
  succession_.tick(now);
  if (bound_ == candidate && succession_.candidate() != candidate) bound_ = kNoProcess;  // it was skipped
  if (bound_ == kNoProcess && !late_frames_.empty()) return recover_coordinator();
  if (is_candidate_ && !coordinator_) {
    prove_absent();
    consider_taking_over();
  }
  if (coordinator_ || coordinator() != kNoProcess) return;
  without_coordinator_ += late;
  const double waited = now - without_coordinator_;
  const std::string what = "no majority of the workers of this run of peers agrees on a coordinator after " +
                           coordinator_name() + " (" + loss_reason_ + "); missing: " + missing_workers();
  if (waited > kMinorityTimeout) {
    finish({Code::peer_lost, false,
            what + "; the run may continue without this host, so it ends after " +
                std::to_string(static_cast<int>(kMinorityTimeout)) + " s" +
                " (start it again to join the run, if it is elastic)",
            service_address(process_)});
  } else if (now - lease_end_ > kMajorityLogDelay && !std::exchange(logged_without_coordinator_, true)) {
    log_.warn("cluster", what + "; waiting for them");
  }
}

/// Redirects a process that takes this process for the coordinator. Thread-safe.
void Cluster::send_redirect(LinkId link) {
  RedirectMessage place;
  if (process_ != kNoProcess && coordinator() != kNoProcess) place.url = url();
  (void)stream_->send_on(link, make_frame(cluster_kind::redirect, kNoAddress, kNoAddress, 0, pack(place)));
}

/// The silent workers, and those of the lost coordinator.
std::string Cluster::missing_workers() const {
  const MembershipPtr table = membership();
  const double now = clock_.now();
  std::string list;
  for (const Member& member : table->workers()) {
    const bool heard = now - stream_->last_received(member.process) < config_.coordinator.times.suspect;
    if (member.process == process_ || (heard && member.process != lost_coordinator_)) continue;
    list += (list.empty() ? "" : ", ") + table->describe(worker_address(member.id));
  }
  return list;
}

}  // namespace actorhost
