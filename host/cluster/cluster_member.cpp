#include "host/cluster/cluster_member.hpp"

#include <cstdio>
#include <utility>

#include "host/cluster/look/console_messages.hpp"

namespace actorhost {

ClusterMember::ClusterMember(ClusterMemberOutput& output, PeerLinks& peers, RunView& view, const JoinMessage& self,
                             const DetectorTimes& times, const Clock& clock, Log& log)
    : output_(output),
      peers_(peers),
      view_(view),
      self_(self),
      clock_(clock),
      log_(log),
      detector_(times),
      election_(static_cast<ElectionOutput&>(*this), output, peers, view, lease_, times, log) {}

void ClusterMember::on_outlives() {
  lease_.begin(clock_.now());
  if (self_.url.empty()) return;
  log_.info("cluster",
            "workers are peers, so the run outlives its coordinator; it can be joined at " + self_.url + " too");
}

void ClusterMember::send(Frame&& frame) {
  if (view_.coordinator() == kNoProcess) {
    reports_.hold(std::move(frame));
  } else {
    output_.send_on(coordinator_link_, std::move(frame));
  }
}

// ---- frames ----

void ClusterMember::on_frame(LinkId link, Frame&& frame) {
  if (link != 0 && link == coordinator_link_) return from_coordinator(frame);
  if (link != 0 && link == election_.lost_link()) return election_.on_lost_frame(std::move(frame), clock_.now());
  const bool refused = frame.kind == cluster_kind::refuse;
  if (refused && frame.tag == 1 && view_.coordinator() == kNoProcess) {
    return finish_as_lost("this host could not be reached for too long, and the other hosts continue without it");
  }
  const ProcessId owner = peers_.owner(link);
  if (refused || frame.kind == cluster_kind::redirect) {  // it will not be the coordinator
    if (owner != kNoProcess) election_.skip(owner, clock_.now());
    return;
  }
  const bool is_request =
      frame.kind == cluster_kind::join || frame.kind == cluster_kind::observe || frame.kind == cluster_kind::control;
  if (is_request && owner == kNoProcess) return output_.redirect(link);
  const std::string why =
      "a message of kind " + std::to_string(static_cast<unsigned>(frame.kind)) + " that only the coordinator may send";
  log_.warn("cluster", "closed the connection to " + output_.peer_of(link) + ": " + why);
  output_.close_link(link, why);
}

void ClusterMember::from_coordinator(const Frame& frame) {
  if (frame.kind == cluster_kind::membership) {
    auto table = unpack<Membership>(frame.body.view());
    if (!table) return finish({Code::bad_data, false, "from the coordinator: " + table.error().message});
    lease_.accept(table->epoch());
    return output_.adopt(std::make_shared<const Membership>(std::move(*table)));
  }
  if (frame.kind == cluster_kind::lease_renewal) return on_renewal(frame);
  if (frame.kind == cluster_kind::proposal) return on_proposal(frame);
  if (console_kind::is_one(frame.kind) || frame.kind == cluster_kind::report_wanted)
    return output_.handle_request(frame);
  if (frame.kind == cluster_kind::want_link) return peers_.on_want_link(address_index(frame.src));
  if (frame.kind == cluster_kind::outlive) {
    if (!view_.set_outlives()) on_outlives();
    return;
  }
  if (frame.kind != cluster_kind::stop) return;
  auto end = unpack<EndMessage>(frame.meta.view());
  if (!end) return finish({Code::bad_data, false, "from the coordinator: " + end.error().message});
  finish(*end);
}

void ClusterMember::on_renewal(const Frame& frame) {
  const auto renewal = read_message<LeaseRenewal>(frame);
  if (!renewal) return finish({Code::bad_data, false, "from the coordinator: " + renewal.error().message});
  if (lease_.receive(*renewal, clock_.now())) output_.changed();
  send_renewal_reply();
}

void ClusterMember::send_renewal_reply() {
  send(make_frame(cluster_kind::lease_renewal, service_address(view_.process()), kNoAddress, 0,
                  pack(lease_.reply(clock_.now()))));
}

void ClusterMember::on_proposal(const Frame& frame) {
  auto table = unpack<Membership>(frame.body.view());
  if (!table) return finish({Code::bad_data, false, "from the coordinator: " + table.error().message});
  lease_.accept(table->epoch());
  election_.accept(std::make_shared<const Membership>(std::move(*table)));
  send_renewal_reply();
}

void ClusterMember::distrust(ProcessId process, const std::string& what) {
  const auto peer = peers_.links().find(process);
  const bool is_coordinator = process == view_.coordinator();
  if (!is_coordinator && peer == peers_.links().end()) return;  // the link is closed
  const LinkId link = is_coordinator ? coordinator_link_.load() : peer->second;
  log_.error("cluster", "closed the connection to " + output_.peer_of(link) + ": " + what);
  output_.close_link(link, what);
}

// ---- failures ----

void ClusterMember::on_link_down(LinkId link, const std::string& reason) {
  if (election_.on_link_down(link)) return;
  if (link == coordinator_link_) return lose_coordinator(reason, true);
  peers_.down(link, reason);
}

void ClusterMember::tick(double now, double late) {
  election_.tick(now, late);
  const ProcessId coordinator = view_.coordinator();
  if (coordinator == view_.process() || view_.ended()) return;
  if (coordinator != kNoProcess) {
    output_.heartbeat(coordinator_link_);
    detector_.record_heartbeat(coordinator, output_.last_received(coordinator));
  } else if (election_.lost_link() != 0) {
    output_.heartbeat(election_.lost_link());
  }
  for (const auto& [process, link] : peers_.links()) {
    output_.heartbeat(link);
    detector_.record_heartbeat(process, output_.last_received(process));
  }
  for (const ProcessId process : detector_.check(now, late).dead) {
    if (process == view_.coordinator()) {
      lose_coordinator("no heartbeat for too long", false);
    } else if (!view_.outlives_coordinator() || now < lease_.until()) {
      peers_.silent(process);
    } else {
      detector_.watch(process, now);  // this process may be on the minority side
    }
  }
}

/// The coordinator has failed, at least for this process. It may resume if its link has not closed.
void ClusterMember::lose_coordinator(const std::string& reason, bool closed) {
  const bool out = view_.membership()->process(view_.process()) == nullptr;
  if (!view_.outlives_coordinator() || (closed && output_.stall_seconds() > 0) || out) return finish_as_lost(reason);
  if (view_.ended()) return;
  log_.warn("cluster", "lost " + view_.coordinator_name() + ": " + reason + "; electing the next one");
  const ProcessId lost = view_.coordinator();
  const LinkId link = coordinator_link_.exchange(0);
  detector_.forget(lost);
  view_.set_coordinator(kNoProcess);
  output_.coordinator_lost();
  election_.begin(lost, link, reason, closed, clock_.now());
  output_.changed();
}

/// Ends the run here: the coordinator has failed, at least for this process.
void ClusterMember::finish_as_lost(const std::string& reason) {
  std::string why = reason;
  if (const double seconds = output_.stall_seconds(); seconds > 0) {
    char text[96];
    std::snprintf(text, sizeof text, ", after this host did not run for %.1f s: the other hosts have dropped it",
                  seconds);
    why += text;
  }
  finish({Code::peer_lost, false,
          "lost " + view_.coordinator_name() + ": " + why + " (a run with checkpoints continues with --resume)",
          service_address(view_.process())});
}

// ---- the election ----

AttachMessage ClusterMember::own_state() const {
  const MembershipPtr table = view_.membership();
  AttachMessage attach;
  attach.self = self_;
  attach.self.settings.clear();
  if (const ProcessInfo* info = table->process(view_.process())) attach.self.url = info->url;  // as others reach it
  attach.workers = reports_.workers(*table, view_.process());
  return attach;
}

void ClusterMember::follow(ProcessId process, LinkId link, const std::vector<LinkId>& waiting) {
  lease_.follow_another();
  if (const ProcessInfo* info = view_.membership()->process(process)) view_.set_url(info->url);
  set_coordinator(process, link);
  log_.info("cluster", "the coordinator is at " + view_.url() + " now");
  resume(waiting);
  peers_.resend_reports();
  output_.changed();
}

void ClusterMember::recover(ProcessId process, LinkId link, const std::vector<LinkId>& waiting,
                            std::deque<Frame>&& late) {
  set_coordinator(process, link);
  resume(waiting);
  output_.changed();
  for (const Frame& frame : late) from_coordinator(frame);
}

void ClusterMember::set_coordinator(ProcessId process, LinkId link) {
  coordinator_link_ = link;
  view_.set_coordinator(process);
  detector_.watch(process, clock_.now());
}

/// There is a coordinator: the processes that have attached to this one look for it, and it receives what the previous
/// one may not have received.
void ClusterMember::resume(const std::vector<LinkId>& waiting) {
  for (const LinkId link : waiting) output_.redirect(link);
  for (Frame& frame : reports_.take_unsent(view_.process())) send(std::move(frame));
}

}  // namespace actorhost
