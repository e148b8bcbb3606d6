// Cluster's part in an election: attaches to a candidate after the coordinator has failed, and takes over as a
// candidate.

#include <utility>

#include "host/cluster/cluster.hpp"

namespace actorhost {

void Cluster::outlive_head() {
  if (outlives_.exchange(true)) return;
  post([this] {
    to_head(make_frame(cluster_kind::outlive, service_address(process_), kNoAddress, 0));
    on_outlives();
  });
}

void Cluster::on_outlives() {
  lease_end_ = std::max(lease_end_, clock_.now());  // so far all processes of the table are on one side
  if (bound_url_.empty()) return;
  log_.info("cluster",
            "workers are peers, so the run outlives its rendezvous host; it can be joined at " + bound_url_ + " too");
}

double Cluster::leased_until() const noexcept {
  return outlives_head() && stream_ != nullptr ? leased_until_.load(std::memory_order_acquire) : kForever;
}

void Cluster::tell_takes_part(NodeId node, bool takes_part) {
  post([this, node, takes_part] {
    const auto [at, fresh] = takes_part_.try_emplace(node, takes_part);
    if (!fresh && std::exchange(at->second, takes_part) == takes_part) return;
    to_head(make_frame(cluster_kind::takes_part, worker_address(node), kNoAddress, takes_part ? 1 : 0));
  });
}

// ---- a member and the lease of its coordinator ----

void Cluster::on_beat(const Frame& frame) {
  const auto beat = read_message<BeatMessage>(frame);
  if (!beat) return finish({Code::bad_data, false, "from the rendezvous host: " + beat.error().message});
  head_beat_ = std::max(head_beat_, beat->number);
  head_beat_at_ = clock_.now();
  const double sent = beats_.sent(beat->answers);
  if (sent >= 0 && beat->lease > 0) leased(std::max(leased_until_.load(), sent + beat->lease));
  answer_beat();
}

void Cluster::answer_beat() {
  to_head(make_frame(cluster_kind::beat, service_address(process_), kNoAddress, 0,
                     pack(BeatMessage{beats_.next(clock_.now()), head_beat_, 0, accepted_})));
}

void Cluster::on_proposal(const Frame& frame) {
  auto table = unpack<Membership>(frame.body.view());
  if (!table) return finish({Code::bad_data, false, "from the rendezvous host: " + table.error().message});
  accepted_ = std::max(accepted_, table->epoch());
  quorum_.accept(std::make_shared<const Membership>(std::move(*table)));
  answer_beat();
}

// ---- the coordinator is lost ----

/// The coordinator has failed, at least for this process. It may resume if its link has not closed.
void Cluster::lose_head(const std::string& reason, bool closed) {
  const MembershipPtr table = membership();
  const bool out = table->process(process_) == nullptr;
  if (!outlives_ || (closed && stood_still() > 0) || out) return finish_as_lost(reason);
  if (ended_) return;
  log_.warn("cluster", "lost " + head_name() + ": " + reason + "; electing the next one");
  lost_head_ = head();
  ++losses_;
  why_lost_ = reason;
  lost_head_link_ = head_link_;
  detector_.forget(lost_head_);
  head_link_ = 0;
  head_process_ = kNoProcess;
  desk_.let_go();
  without_head_ = clock_.now();
  asked_for_proof_.clear();
  told_without_head_ = false;
  if (closed) {
    give_up_lost_head();
    succession_at_ = head_beat_at_ + kCoordinatorLease;  // unless it is proved dead
    const ProcessInfo* info = table->process(lost_head_);
    asked_for_proof_ = {lost_head_};
    prove_dead(lost_head_, info != nullptr ? info->url : "");
  } else {
    begin_succession();
  }
  events_.cluster_changed();
}

void Cluster::begin_succession() {
  succession_at_ = kForever;
  succession_.begin(process_, membership(), lost_head_, clock_.now());
}

/// The lost coordinator will not return.
void Cluster::give_up_lost_head() {
  {
    std::lock_guard lock(mutex_);
    cut_off_.insert(lost_head_);
  }
  stream_->forget(lost_head_);
  lost_head_link_ = 0;
  late_frames_.clear();
}

/// A silent coordinator sends again.
void Cluster::on_lost_head_frame(Frame&& frame) {
  if (bound_ != kNoProcess) return late_frames_.push_back(std::move(frame));
  late_frames_.push_back(std::move(frame));
  recover_head();
}

void Cluster::recover_head() {
  log_.info("cluster", "the rendezvous host sends again");
  stands_ = false;
  bound_ = kNoProcess;
  succession_at_ = kForever;
  succession_.recovered();
  head_link_ = std::exchange(lost_head_link_, 0);
  head_process_ = lost_head_;
  detector_.watch(lost_head_, clock_.now());
  for (const auto& [link, held] : std::exchange(held_, {})) tell_where(link);
  send_unsent();
  events_.cluster_changed();
  for (Frame& frame : std::exchange(late_frames_, {})) member_frame(std::move(frame));
}

AttachMessage Cluster::own_attach() const {
  AttachMessage attach;
  attach.process = process_;
  attach.lost = lost_head_;
  attach.loss = losses_;
  attach.self = config_.self;
  attach.self.settings.clear();
  attach.tables = quorum_.tables();
  std::lock_guard lock(mutex_);
  if (const ProcessInfo* info = membership_->process(process_)) attach.self.url = info->url;  // as others reach it
  for (const Member& member : membership_->workers()) {
    if (member.process != process_) continue;
    const auto peer = takes_part_.find(member.id);
    const bool left = peer != takes_part_.end() ? !peer->second : member.id >= membership_->founders();
    const auto entered = actions_.find(member.id);
    attach.workers.push_back(
        {member.id, entered == actions_.end() ? 0 : entered->second, ended_nodes_.contains(member.id), left});
  }
  return attach;
}

bool Cluster::ask(ProcessId process) {
  const auto link = peers_.links().find(process);
  if (link == peers_.links().end()) return peers_.reach(process);
  if (clock_.now() - stream_->heard_from(process) >= config_.head.times.dead) return false;
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
void Cluster::refuse_asked(ProcessId process) {
  if (bound_ == process) bound_ = kNoProcess;
  if (succession_.asked() == process && !late_frames_.empty()) return recover_head();
  succession_.failed(process, clock_.now());
}

/// There is a link to a peer.
void Cluster::peer_linked(ProcessId process) {
  const auto link = peers_.links().find(process);
  if (link == peers_.links().end()) return;
  if (head_) return head_->linked(process, link->second);
  if (succession_.asked() == process) send_attach(link->second);
}

/// A process attaches to this process, which may not be a candidate yet: then the process has to wait.
void Cluster::on_attach(LinkId link, const Frame& frame) {
  auto attach = read_message<AttachMessage>(frame);
  const ProcessId owner = peers_.owner(link);
  if (!attach || owner == kNoProcess || attach->process != owner || attach->tables.empty()) {
    return stream_->close_link(link, attach ? "it names another process's number" : attach.error().message);
  }
  if (head_) return take_in(link, *attach);
  if (head() == kNoProcess || head() == attach->lost) {
    held_[link] = {std::move(*attach), clock_.now()};
    consider_taking_over();
  } else {
    tell_where(link);
  }
}

void Cluster::take_in(LinkId link, const AttachMessage& attach) {
  peers_.release(attach.process);
  head_->on_attach(link, attach, clock_.now());
}

void Cluster::stand() {
  stands_ = true;
  stands_since_ = clock_.now();
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
  if (!stands_ || head_ || ended_) return;
  const Quorum quorum = quorum_of_all();
  std::set<ProcessId> here = {process_};
  for (const auto& [link, held] : held_) here.insert(held.attach.process);
  if (quorum.majority([&](ProcessId process) { return here.contains(process); })) return take_over(quorum);
  if (!majority_is_possible(here)) {
    finish_as_lost(why_lost_ + "; the other hosts continue without this one and have closed their links to it");
  }
}

/// Whether the processes that may still attach would make a majority with the attached ones. A live process with a
/// closed link cannot attach: the link is not made again.
bool Cluster::majority_is_possible(const std::set<ProcessId>& here) const {
  return quorum_.majority([&](ProcessId process) {
    const bool lost_head = process == lost_head_ && lost_head_link_ == 0;
    const bool closed = lost_head || peers_.broken_ones().contains(process);
    return here.contains(process) || !closed || proofs_.contains(process) || !asked_for_proof_.contains(process);
  });
}

/// Requests proofs that absent processes are dead, so that they do not count: at once for processes whose links have
/// closed, a moment later for processes without a link. A process that a proposed table has dropped still counts in the
/// committed table.
void Cluster::prove_absent() {
  const bool all = clock_.now() - stands_since_ > config_.head.times.heartbeat / 2;
  for (const ProcessInfo& info : quorum_of_all().processes()) {
    if (info.process == process_ || peers_.links().contains(info.process) || quorum_.excludes(info.process)) continue;
    if (!all && !peers_.broken_ones().contains(info.process)) continue;
    if (asked_for_proof_.insert(info.process).second) prove_dead(info.process, info.url);
  }
}

void Cluster::on_proof(ProcessId process, PortState port) {
  const double now = clock_.now();
  if (head_) return head_->on_proof(process, port, now);
  const bool dead = port == PortState::closed;
  if (port == PortState::unknown) asked_for_proof_.erase(process);  // the next tick requests it again
  if (dead && (now < lease_end_ + kProofHolds || quorum_of_all().needs(process_))) quorum_.exclude(process);
  if (dead && process == lost_head_ && succession_at_ < kForever) return begin_succession();
  consider_taking_over();
}

void Cluster::take_over(const Quorum& quorum) {
  HeadConfig config = config_.head;
  config.self = process_;
  config.run_id = run_id_;
  config.settings = settings_;
  config.args = args_;
  const double now = clock_.now();
  stands_ = false;
  give_up_lost_head();
  head_ = std::make_unique<Head>(std::move(config), job_, log_, static_cast<HeadOutput&>(*this), now);
  const AttachMessage self = own_attach();
  set_url(self.self.url);
  if (const auto seed = settings_.find("seed"); seed != settings_.end()) config_.about.insert(*seed);
  log_.warn("cluster", "this host is the rendezvous host now" + (self.self.url.empty() ? "" : ", at " + self.self.url));
  std::set<ProcessId> lost = succession_.lost();
  lost.insert(peers_.broken_ones().begin(),
              peers_.broken_ones().end());  // died just before the head, or cannot attach
  for (const auto& [link, held] : held_) lost.erase(held.attach.process);
  head_->succeed(quorum, lost, self, why_lost_, now);
  for (const auto& [process, link] : peers_.links()) head_->linked(process, link);
  for (const auto& [link, held] : std::exchange(held_, {})) take_in(link, held.attach);
  head_process_ = process_.load();
  send_unsent();
  events_.cluster_changed();
}

/// A candidate is now the coordinator. It may have received the request after this process had skipped it. This process
/// may still follow it if it has followed no other coordinator since: the tables in the request are its newest.
void Cluster::on_attached(LinkId link, uint32_t loss) {
  const ProcessId process = peers_.owner(link);
  if (process == kNoProcess) return;
  if (head() != kNoProcess || loss != losses_) {
    return stream_->close_link(link, "this host already has another rendezvous host");
  }
  give_up_lost_head();
  follow(process, link);
}

void Cluster::follow(ProcessId process, LinkId link) {
  succession_.found();
  stands_ = false;
  bound_ = kNoProcess;
  head_beat_ = 0;
  accepted_ = 0;
  peers_.release(process);
  head_link_ = link;
  if (const ProcessInfo* info = membership()->process(process)) set_url(info->url);
  head_process_ = process;
  detector_.watch(process, clock_.now());
  log_.info("cluster", "the rendezvous host is at " + config_.url + " now");
  for (const auto& [asked, held] : std::exchange(held_, {})) tell_where(asked);
  send_unsent();
  peers_.tell_again();
  events_.cluster_changed();
}

/// Sends what the previous coordinator may not have received. (The attach message holds the ended scripts.)
void Cluster::send_unsent() {
  if (failure_) to_head(make_frame(failure_->kind, failure_->src, kNoAddress, failure_->tag, failure_->meta.view()));
  std::map<uint32_t, Blob> values;
  {
    std::lock_guard lock(mutex_);
    values = values_;
  }
  for (auto& [action, value] : values) {
    to_head(make_frame(cluster_kind::action_done, service_address(process_), kNoAddress, action, {}, std::move(value)));
  }
  for (Frame& frame : std::exchange(unsent_, {})) to_head(std::move(frame));
}

/// The candidate will not be the coordinator.
void Cluster::on_elsewhere(LinkId link) {
  const ProcessId process = peers_.owner(link);
  if (process != kNoProcess) refuse_asked(process);
}

/// Periodic work without a coordinator. With a coordinator, redirects processes that still attach to this process.
void Cluster::tick_without_head(double now, double late) {
  const DetectorTimes& times = config_.head.times;
  std::erase_if(held_, [&](const auto& entry) {
    const bool needless = head() != kNoProcess && now - entry.second.since > times.suspect + times.heartbeat;
    if (needless) tell_where(entry.first);
    return needless;
  });
  if (head() != kNoProcess || !outlives_) return;
  if (now >= succession_at_) begin_succession();
  const ProcessId asked = succession_.asked();
  if (asked != kNoProcess && asked == bound_ && now - stream_->heard_from(asked) < times.suspect) {
    succession_.wait_longer(now);
  }
  succession_.tick(now);
  if (bound_ == asked && succession_.asked() != asked) bound_ = kNoProcess;  // it was skipped
  if (bound_ == kNoProcess && !late_frames_.empty()) return recover_head();
  if (stands_ && !head_) {
    prove_absent();
    consider_taking_over();
  }
  if (head_ || head() != kNoProcess) return;
  without_head_ += late;
  const double waited = now - without_head_;
  const std::string what = "no majority of the workers of this run of peers agrees on a rendezvous host after " +
                           head_name() + " (" + why_lost_ + "); missing: " + missing_workers();
  if (waited > kMinorityPatience) {
    finish({Code::peer_lost, false,
            what + "; the run may continue without this host, so it ends after " +
                std::to_string(static_cast<int>(kMinorityPatience)) + " s" +
                " (start it again to join the run, if it is elastic)",
            service_address(process_)});
  } else if (now - lease_end_ > kMajorityTold && !std::exchange(told_without_head_, true)) {
    log_.warn("cluster", what + "; waiting for them");
  }
}

/// Redirects a process that takes this process for the coordinator. Thread-safe.
void Cluster::tell_where(LinkId link) {
  ElsewhereMessage place;
  if (process_ != kNoProcess && head() != kNoProcess) place.url = url();
  (void)stream_->send_on(link, make_frame(cluster_kind::elsewhere, kNoAddress, kNoAddress, 0, pack(place)));
}

/// The silent workers, and those of the lost coordinator.
std::string Cluster::missing_workers() const {
  const MembershipPtr table = membership();
  const double now = clock_.now();
  std::string list;
  for (const Member& member : table->workers()) {
    const bool heard = now - stream_->heard_from(member.process) < config_.head.times.suspect;
    if (member.process == process_ || (heard && member.process != lost_head_)) continue;
    list += (list.empty() ? "" : ", ") + table->describe(worker_address(member.id));
  }
  return list;
}

}  // namespace actorhost
