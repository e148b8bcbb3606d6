// Cluster's part when the head is lost: who is asked to be the next one, and how this process becomes it.

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
  lease_end_ = std::max(lease_end_, clock_.now());  // all processes of the table are on one side so far
  if (bound_url_.empty()) return;
  log_.info("cluster", "workers are peers, so the run goes on without its rendezvous host; it can be joined at " +
                           bound_url_ + " too");
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

// ---- a member and the lease of its head ----

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

// ---- the head is lost ----

/// The head is gone, at least for this process. One whose link has not closed may come back.
void Cluster::lose_head(const std::string& reason, bool closed) {
  const MembershipPtr table = membership();
  const bool out = table->process(process_) == nullptr;
  if (!outlives_ || (closed && stood_still() > 0) || out) return finish_as_lost(reason);
  if (ended_) return;
  log_.warn("cluster", "lost " + head_name() + ": " + reason + "; looking for the next one");
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
    succession_at_ = head_beat_at_ + kCoordinatorLease;  // unless it is proved to be dead
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

/// The lost head will not come back.
void Cluster::give_up_lost_head() {
  {
    std::lock_guard lock(mutex_);
    cut_off_.insert(lost_head_);
  }
  stream_->forget(lost_head_);
  lost_head_link_ = 0;
  late_frames_.clear();
}

/// A head that had fallen silent is heard again.
void Cluster::on_lost_head_frame(Frame&& frame) {
  if (bound_ != kNoProcess) return late_frames_.push_back(std::move(frame));
  late_frames_.push_back(std::move(frame));
  recover_head();
}

void Cluster::recover_head() {
  log_.info("cluster", "the rendezvous host is heard again");
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

/// The asked process will not be the head, or cannot be reached.
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

/// A process takes this one for the next head. It may not know yet that it is: then the process has to wait.
void Cluster::on_attach(LinkId link, const Frame& frame) {
  auto attach = read_message<AttachMessage>(frame);
  const ProcessId owner = peers_.owner(link);
  if (!attach || owner == kNoProcess || attach->process != owner || attach->tables.empty()) {
    return stream_->close_link(link, attach ? "it is not the process that it says it is" : attach.error().message);
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

/// The tables that this process and those that have asked it to be the head know.
Quorum Cluster::quorum_of_all() const {
  Quorum quorum = quorum_;
  for (const auto& [link, held] : held_) quorum.merge(held.attach.tables);
  return quorum;
}

/// Becomes the head once the processes that have asked for it, and this one, are a majority.
void Cluster::consider_taking_over() {
  if (!stands_ || head_ || ended_) return;
  const Quorum quorum = quorum_of_all();
  std::set<ProcessId> here = {process_};
  for (const auto& [link, held] : held_) here.insert(held.attach.process);
  if (quorum.majority([&](ProcessId process) { return here.contains(process); })) return take_over(quorum);
  if (!majority_is_possible(here)) {
    finish_as_lost(why_lost_ + "; the other hosts go on without this one, to which they have closed their links");
  }
}

/// Whether those that may still ask this process to be the head would make a majority with those that have. A live
/// process whose link has closed will not: it is not made again.
bool Cluster::majority_is_possible(const std::set<ProcessId>& here) const {
  return quorum_.majority([&](ProcessId process) {
    const bool lost_head = process == lost_head_ && lost_head_link_ == 0;
    const bool closed = lost_head || peers_.broken_ones().contains(process);
    return here.contains(process) || !closed || proofs_.contains(process) || !asked_for_proof_.contains(process);
  });
}

/// Asks for proof of those that are dead, so that they do not count: at once of those whose links have closed, and a
/// moment later of those to which there is none. A process that a proposed table has dropped still counts in the
/// committed table.
void Cluster::prove_absent() {
  const bool all = clock_.now() - stands_since_ > config_.head.times.heartbeat / 2;
  for (const ProcessInfo& info : quorum_of_all().processes()) {
    if (info.process == process_ || peers_.links().contains(info.process) || quorum_.excludes(info.process)) continue;
    if (!all && !peers_.broken_ones().contains(info.process)) continue;
    if (asked_for_proof_.insert(info.process).second) prove_dead(info.process, info.url);
  }
}

void Cluster::on_proof(ProcessId process, bool dead) {
  const double now = clock_.now();
  if (head_) return head_->on_proof(process, dead, now);
  if (dead && now < lease_end_ + kProofHolds) quorum_.exclude(process);
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
              peers_.broken_ones().end());  // died just before the head, or cannot come over
  for (const auto& [link, held] : held_) lost.erase(held.attach.process);
  head_->succeed(quorum, lost, self, why_lost_, now);
  for (const auto& [process, link] : peers_.links()) head_->linked(process, link);
  for (const auto& [link, held] : std::exchange(held_, {})) take_in(link, held.attach);
  head_process_ = process_.load();
  send_unsent();
  events_.cluster_changed();
}

/// A process that was asked is the head. It may have got the request late, when this process had passed it over. This
/// process may follow it nevertheless, if it has followed no other head since: the tables that it sent are its newest.
void Cluster::on_attached(LinkId link, uint32_t loss) {
  const ProcessId process = peers_.owner(link);
  if (process == kNoProcess) return;
  if (head() != kNoProcess || loss != losses_) {
    return stream_->close_link(link, "this host has another rendezvous host by now");
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

/// What the head before may not have heard. (Which scripts have ended is in the message by which this process
/// attached.)
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

/// A process that was asked is not the head, and will not be.
void Cluster::on_elsewhere(LinkId link) {
  const ProcessId process = peers_.owner(link);
  if (process != kNoProcess) refuse_asked(process);
}

/// What a process without a head does from time to time; and what one that has a head tells those that ask for another.
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
  if (bound_ == asked && succession_.asked() != asked) bound_ = kNoProcess;  // it has been passed over
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
            what + "; the run may go on without this host, so it ends after " +
                std::to_string(static_cast<int>(kMinorityPatience)) + " s" +
                " (start it again to join the run, if it is elastic)",
            service_address(process_)});
  } else if (now - lease_end_ > kMajorityTold && !std::exchange(told_without_head_, true)) {
    log_.warn("cluster", what + "; waiting for them");
  }
}

/// Tells one that takes this process for the head where that is. Any thread.
void Cluster::tell_where(LinkId link) {
  ElsewhereMessage place;
  if (process_ != kNoProcess && head() != kNoProcess) place.url = url();
  (void)stream_->send_on(link, make_frame(cluster_kind::elsewhere, kNoAddress, kNoAddress, 0, pack(place)));
}

/// The workers of which nothing is heard, and those of the lost head.
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
