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
  if (bound_url_.empty()) return;
  log_.info("cluster", "workers are peers, so the run goes on without its rendezvous host; it can be joined at " +
                           bound_url_ + " too");
}

/// The head is gone, at least for this process.
void Cluster::lose_head(const std::string& reason) {
  const MembershipPtr table = membership();
  if (!outlives_ || stood_still() > 0 || table->process(process_) == nullptr) return finish_as_lost(reason);
  if (ended_) return;
  log_.warn("cluster", "lost " + head_name() + ": " + reason + "; the run goes on without it");
  lost_head_ = head();
  why_lost_ = reason;
  {
    std::lock_guard lock(mutex_);
    cut_off_.insert(lost_head_);
  }
  stream_->forget(lost_head_);
  detector_.forget(lost_head_);
  head_link_ = 0;
  head_process_ = kNoProcess;
  desk_.let_go();
  succession_.begin(process_, table, lost_head_, clock_.now());
  events_.cluster_changed();
}

AttachMessage Cluster::own_attach() const {
  AttachMessage attach;
  attach.process = process_;
  attach.lost = lost_head_;
  attach.self = config_.self;
  attach.self.settings.clear();
  std::lock_guard lock(mutex_);
  attach.epoch = membership_->epoch();
  if (const ProcessInfo* info = membership_->process(process_)) attach.self.url = info->url;  // as others reach it
  for (const Member& member : membership_->workers()) {
    if (member.process != process_) continue;
    const auto entered = actions_.find(member.id);
    attach.workers.push_back(
        {member.id, entered == actions_.end() ? 0 : entered->second, ended_nodes_.contains(member.id)});
  }
  return attach;
}

bool Cluster::ask(ProcessId process) {
  const auto link = peers_.links().find(process);
  if (link == peers_.links().end()) return peers_.reach(process);
  send_attach(link->second);
  return true;
}

void Cluster::send_attach(LinkId link) {
  send_on(link, make_frame(cluster_kind::attach, service_address(process_), kNoAddress, 0, pack(own_attach())));
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
  auto attach = unpack<AttachMessage>(frame.meta.view());
  const ProcessId owner = peers_.owner(link);
  if (!attach || owner == kNoProcess || attach->process != owner) {
    return stream_->close_link(link, attach ? "it is not the process that it says it is" : attach.error().message);
  }
  if (head_) return take_in(link, *attach);
  if (head() == kNoProcess || head() == attach->lost) {
    held_[link] = std::move(*attach);
  } else {
    tell_where(link);
  }
}

void Cluster::take_in(LinkId link, const AttachMessage& attach) {
  peers_.release(attach.process);
  head_->on_attach(link, attach, clock_.now());
}

void Cluster::take_over() {
  HeadConfig config = config_.head;
  config.self = process_;
  config.run_id = run_id_;
  config.settings = settings_;
  config.args = args_;
  const double now = clock_.now();
  head_ = std::make_unique<Head>(std::move(config), job_, log_, static_cast<HeadOutput&>(*this), now);
  const AttachMessage self = own_attach();
  set_url(self.self.url);
  if (const auto seed = settings_.find("seed"); seed != settings_.end()) config_.about.insert(*seed);
  log_.warn("cluster", "this host is the rendezvous host now" + (self.self.url.empty() ? "" : ", at " + self.self.url));
  std::set<ProcessId> lost = succession_.lost();
  lost.insert(peers_.broken_ones().begin(),
              peers_.broken_ones().end());  // died just before the head, or cannot come over
  head_->succeed(membership(), lost, self, why_lost_, now);
  for (const auto& [process, link] : peers_.links()) head_->linked(process, link);
  for (const auto& [link, attach] : std::exchange(held_, {})) take_in(link, attach);
  head_process_ = process_.load();
  send_unsent();
  events_.cluster_changed();
}

/// A process that was asked is the head.
void Cluster::on_attached(LinkId link) {
  const ProcessId process = peers_.owner(link);
  if (process == kNoProcess) return;
  if (!succession_.going_on()) return stream_->close_link(link, "this host has another rendezvous host by now");
  follow(process, link);
}

void Cluster::follow(ProcessId process, LinkId link) {
  succession_.found();
  peers_.release(process);
  head_link_ = link;
  if (const ProcessInfo* info = membership()->process(process)) set_url(info->url);
  head_process_ = process;
  detector_.watch(process, clock_.now());
  log_.info("cluster", "the rendezvous host is at " + config_.url + " now");
  for (const auto& [asked, attach] : std::exchange(held_, {})) tell_where(asked);
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
  if (process != kNoProcess) succession_.failed(process, clock_.now());
}

/// Tells one that takes this process for the head where that is. Any thread.
void Cluster::tell_where(LinkId link) {
  ElsewhereMessage place;
  if (process_ != kNoProcess && head() != kNoProcess) place.url = url();
  (void)stream_->send_on(link, make_frame(cluster_kind::elsewhere, kNoAddress, kNoAddress, 0, pack(place)));
}

}  // namespace actorhost
