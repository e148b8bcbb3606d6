// Cluster's service thread: handles events and ticks, and carries out the outputs of Coordinator and PeerLinks.

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <utility>

#include "host/cluster/cluster.hpp"

namespace actorhost {

namespace {

constexpr double kRetry = 0.01;             // seconds between retries of frames without room
constexpr double kInterruptSeconds = 0.05;  // seconds between interrupts of a chunk
constexpr double kPeerDial = 5;             // seconds for a link to another member
constexpr double kProof = 0.8;              // seconds to find out that a process is dead
constexpr double kFinishSeconds = 1;        // seconds for others to read their queued frames
constexpr uint32_t kMaxServers = 64;

}  // namespace

void Cluster::serve() {
  std::vector<Frame> frames;
  for (;;) {
    const double next =
        std::min(stream_ != nullptr ? stalls_.next_tick() : kForever, observer_links_.observers().next_time());
    double wait = std::max(0.0, next - clock_.now());
    if (!outbox_.empty()) wait = std::min(wait, kRetry);
    if (chunks_.interrupt_again()) wait = std::min(wait, kInterruptSeconds);
    frames.clear();
    inbox_.pop_all(frames, wait);
    std::deque<Event> events;
    const bool quit = view_.quitting();  // read first: no event before it is dropped
    {
      std::lock_guard lock(queue_mutex_);
      events.swap(queue_);
    }
    for (Event& event : events) handle(event);
    for (Frame& frame : frames) handle_frame(0, std::move(frame));
    outbox_.flush();
    if (quit) break;
    observer_links_.observers().tick(clock_.now());
    if (stream_ != nullptr && clock_.now() >= stalls_.next_tick()) tick();
  }
  for (const LinkId link : observer_links_.announce_end(end())) {
    if (ControlEntry::is_one(link)) live_[link] = "an observer";
  }
  finish_all_links();
}

/// Finishes every link, also links of observers: a link ends once the other end has read all of it.
void Cluster::finish_all_links() {
  const double deadline = clock_.now() + kFinishSeconds;
  std::map<LinkId, bool> finished;
  std::vector<Frame> frames;
  for (;;) {
    outbox_.flush();
    for (const auto& [link, peer] : live_) {
      if (outbox_.empty() && !std::exchange(finished[link], true)) finish_link(link);
    }
    const double left = deadline - clock_.now();
    if (live_.empty() || left <= 0) return;
    frames.clear();
    inbox_.pop_all(frames, outbox_.empty() ? left : std::min(left, kRetry));
    std::lock_guard lock(queue_mutex_);
    for (const Event& event : queue_) {
      if (event.type == Event::Type::up) live_[event.link] = event.text;
      if (event.type == Event::Type::down) live_.erase(event.link);
    }
    queue_.clear();
  }
}

void Cluster::handle(Event& event) {
  switch (event.type) {
    case Event::Type::frame:
      observer_links_.dequeued(event.link, event.frame);
      return handle_frame(event.link, std::move(event.frame));
    case Event::Type::reader_frame:
      observer_links_.dequeued(event.link, event.frame);
      return take_reader_frame(event.link, event.frame);
    case Event::Type::up: live_[event.link] = event.text; return;
    case Event::Type::down: return on_down(event.link, event.text);
    case Event::Type::hello:
      detector_.watch(event.process, clock_.now());
      peers_.accepted(event.process, event.link);
      return peer_linked(event.process);
    case Event::Type::wanted:
      if (coordinator_ == nullptr && event.process != coordinator())
        peers_.wanted(event.process);  // others dial the coordinator
      return;
    case Event::Type::call: return event.call();
  }
}

std::string Cluster::coordinator_name() const {
  return std::string(coordinator() == 0 ? "server 0 and " : "") + "the coordinator at " + url();
}

void Cluster::on_down(LinkId link, const std::string& reason) {
  live_.erase(link);
  if (observer_links_.leave(link) && coordinator_) coordinator_->console().leave(link);
  if (election_.on_link_down(link)) return;
  if (coordinator_) {
    peers_.release(peers_.owner(link));
    return coordinator_->on_link_down(link, reason, clock_.now(), stalls_.stall_seconds(clock_.now()) > 0);
  }
  if (link == coordinator_link_) return lose_coordinator(reason, true);
  peers_.down(link, reason);
}

/// Ends the run here: the coordinator has failed, at least for this process.
void Cluster::finish_as_lost(const std::string& reason) {
  std::string why = reason;
  if (const double seconds = stalls_.stall_seconds(clock_.now()); seconds > 0) {
    char text[96];
    std::snprintf(text, sizeof text, ", after this host did not run for %.1f s: the other hosts have dropped it",
                  seconds);
    why += text;
  }
  finish({Code::peer_lost, false,
          "lost " + coordinator_name() + ": " + why + " (a run with checkpoints continues with --resume)",
          service_address(process())});
}

bool Cluster::distrust(Address sender, Kind kind, const std::string& why) {
  const MembershipPtr table = membership();
  const ProcessId process = table->home_of(sender);
  if (process == kNoProcess || process == view_.process()) return false;
  std::string ranks;
  for (const Member& member : table->workers()) {
    if (is_worker(sender) ? member.id == address_index(sender) : member.process == process) {
      ranks += (ranks.empty() ? "rank " : ", ") + std::to_string(*table->rank_of(member.id));
    }
  }
  const std::string what = "a message of kind " + std::to_string(static_cast<unsigned>(kind)) + " from " +
                           (ranks.empty() ? address_name(sender) : ranks) + " is wrong: " + why;
  post([this, process, what] { close_link_to(process, what); });
  return true;
}

void Cluster::close_link_to(ProcessId process, const std::string& what) {
  if (coordinator_) return coordinator_->distrust(process, what);
  const auto peer = peers_.links().find(process);
  const bool is_coordinator_link = process == coordinator();
  if (!is_coordinator_link && peer == peers_.links().end()) return;  // the link is closed
  const LinkId link = is_coordinator_link ? coordinator_link_.load() : peer->second;
  log_.error("cluster", "closed the connection to " + live_[link] + ": " + what);
  stream_->close_link(link, what);
}

void Cluster::handle_frame(LinkId link, Frame&& frame) {
  if (frame.kind == cluster_kind::attach) return on_attach(link, frame);
  if (frame.kind == cluster_kind::attached) return election_.on_attached(link, frame.tag);
  if (coordinator_ && observer_links_.take(link, frame, coordinator_->console())) return;
  if (coordinator_) return coordinator_->on_frame(link, std::move(frame), clock_.now());
  if (link != 0 && link == coordinator_link_) return member_frame(std::move(frame));
  if (link != 0 && link == election_.lost_link()) return election_.on_lost_frame(std::move(frame), clock_.now());
  const bool refused = frame.kind == cluster_kind::refuse;
  if (refused && frame.tag == 1 && coordinator() == kNoProcess) {
    return finish_as_lost("this host could not be reached for too long, and the other hosts continue without it");
  }
  if (refused || frame.kind == cluster_kind::redirect) {  // it will not be the coordinator
    const ProcessId process = peers_.owner(link);
    return process != kNoProcess ? election_.skip(process, clock_.now()) : void();
  }
  const bool is_request =
      frame.kind == cluster_kind::join || frame.kind == cluster_kind::observe || frame.kind == cluster_kind::control;
  if (is_request && peers_.owner(link) == kNoProcess) return redirect(link);
  const std::string why =
      "a message of kind " + std::to_string(static_cast<unsigned>(frame.kind)) + " that only the coordinator may send";
  log_.warn("cluster", "closed the connection to " + live_[link] + ": " + why);
  stream_->close_link(link, why);
}

/// A frame from an observer with only the reading token.
void Cluster::take_reader_frame(LinkId link, const Frame& frame) {
  if (!coordinator_ && ObserverLinks::is_request(frame.kind)) return redirect(link);
  observer_links_.take_from_reader(link, frame);
}

void Cluster::member_frame(Frame&& frame) {
  if (frame.kind == cluster_kind::membership) {
    auto table = unpack<Membership>(frame.body.view());
    if (!table) return finish({Code::bad_data, false, "from the coordinator: " + table.error().message});
    lease_.accept(table->epoch());
    return adopt(std::make_shared<const Membership>(std::move(*table)));
  }
  if (frame.kind == cluster_kind::lease_renewal) return on_renewal(frame);
  if (frame.kind == cluster_kind::proposal) return on_proposal(frame);
  if (console_kind::is_one(frame.kind)) return console_frame(frame);
  if (frame.kind == cluster_kind::want_link) return peers_.on_want_link(address_index(frame.src));
  if (frame.kind == cluster_kind::report_wanted) return send_report(frame);
  if (frame.kind == cluster_kind::outlive) {
    if (!view_.set_outlives()) on_outlives();
    return;
  }
  if (frame.kind != cluster_kind::stop) return;
  auto end = unpack<EndMessage>(frame.meta.view());
  if (!end) return finish({Code::bad_data, false, "from the coordinator: " + end.error().message});
  finish(*end);
}

/// A console request of the coordinator to this process's nodes.
void Cluster::console_frame(const Frame& frame) {
  if (frame.kind == console_kind::leave) (void)std::raise(SIGKILL);
  const Status taken = chunks_.take(frame);
  if (!taken) finish({Code::bad_data, false, "from the coordinator: " + taken.error().message});
}

void Cluster::adopt(MembershipPtr table) {
  const MembershipPtr before = membership();
  if (table->epoch() <= before->epoch()) return;
  for (const ProcessInfo& info : before->processes()) {
    if (table->process(info.process) == nullptr) view_.cut_off(info.process);
  }
  if (stream_ != nullptr) set_routes(*before, *table);
  peers_.adopt(process(), table);
  election_.adopt(process(), table);
  view_.adopt(std::move(table));
  events_.cluster_changed();
}

void Cluster::suspects(const std::set<ProcessId>& processes) {
  view_.set_suspected(processes);
  events_.cluster_changed();
}

void Cluster::set_routes(const Membership& before, const Membership& table) {
  for (const Member& member : table.workers()) {
    if (member.process != process() && !before.alive(member.id)) {
      stream_->set_route(worker_address(member.id), member.process);
    }
  }
  const bool lost_servers = before.process(0) != nullptr && table.process(0) == nullptr;
  for (uint32_t shard = 0; process() != 0 && (before.epoch() == 0 || lost_servers) && shard < kMaxServers; ++shard) {
    stream_->set_route(server_address(shard), table.process(0) != nullptr ? 0 : kNoProcess);
  }
  for (const ProcessInfo& info : table.processes()) {
    if (info.process != process() && before.process(info.process) == nullptr) {
      stream_->set_route(data_address(info.process), info.process);
      stream_->set_route(courier_address(info.process), info.process);
    }
  }
  for (const Member& member : before.workers()) {
    if (!table.alive(member.id)) stream_->set_route(worker_address(member.id), kNoProcess);
  }
  for (const ProcessInfo& info : before.processes()) {
    if (table.process(info.process) != nullptr) continue;
    stream_->set_route(data_address(info.process), kNoProcess);
    stream_->set_route(courier_address(info.process), kNoProcess);
  }
  for (const ProcessInfo& info : before.processes()) {
    if (table.process(info.process) != nullptr) continue;
    if (coordinator_) {
      stream_->refuse(info.process);  // its link ends with a goodbye
      continue;
    }
    detector_.forget(info.process);
    stream_->forget(info.process);
  }
}

void Cluster::finish(const EndMessage& end) {
  if (view_.set_end(end)) events_.cluster_changed();
}

void Cluster::heartbeat(LinkId link) {
  (void)stream_->send_on(link, make_frame(Kind::heartbeat, kNoAddress, kNoAddress, 0));
}

void Cluster::tick() {
  const double now = clock_.now();
  const double late = stalls_.tick(now);
  if (!coordinator_) return tick_member(now, late);
  for (const auto& [process, link] : peers_.links()) {  // that have yet to attach
    coordinator_->record_heartbeat(process, stream_->last_received(process));
    heartbeat(link);
  }
  for (const auto& [process, link] : members_) {
    coordinator_->record_heartbeat(process, stream_->last_received(process));
    heartbeat(link);
  }
  coordinator_->tick(now, late);
}

void Cluster::tick_member(double now, double late) {
  election_.tick(now, late);
  if (coordinator_ || ended()) return;
  if (const ProcessId at = coordinator(); at != kNoProcess) {
    heartbeat(coordinator_link_);
    detector_.record_heartbeat(at, stream_->last_received(at));
  } else if (election_.lost_link() != 0) {
    heartbeat(election_.lost_link());
  }
  for (const auto& [process, link] : peers_.links()) {
    heartbeat(link);
    detector_.record_heartbeat(process, stream_->last_received(process));
  }
  for (const ProcessId process : detector_.check(now, late).dead) {
    if (process == coordinator()) {
      lose_coordinator("no heartbeat for too long", false);
    } else if (now < leased_until()) {
      peers_.silent(process);
    } else {
      detector_.watch(process, now);  // this process may be on the minority side
    }
  }
}

// ---- outputs of the Coordinator and of the links to peers ----

void Cluster::to_coordinator(Frame&& frame) {
  if (coordinator_) return coordinator_->on_frame(0, std::move(frame), clock_.now());
  if (coordinator() == kNoProcess) {
    reports_.hold(std::move(frame));
  } else {
    send_on(coordinator_link_, std::move(frame));
  }
}

void Cluster::send(Frame&& frame) {
  if (!is_service(frame.dst)) return outbox_.put(0, std::move(frame));
  if (frame.dst == service_address(process())) return console_frame(frame);
  if (const auto member = members_.find(address_index(frame.dst)); member != members_.end()) {
    send_on(member->second, std::move(frame));
  }
}

void Cluster::send_on(LinkId link, Frame&& frame) {
  if (stream_ == nullptr) return;
  frame.dst = kNoAddress;  // for the service thread at the other end
  outbox_.put(link, std::move(frame));
}

void Cluster::assign(LinkId link, ProcessId process) {
  members_[process] = link;
  stream_->assign(link, process);
}

void Cluster::finish_link(LinkId link) {
  if (ControlEntry::is_one(link)) return observer_links_.finish(link, kFinishSeconds);
  stream_->finish_link(link, kFinishSeconds);
}

/// The member at the other end of a link, or kNoProcess.
ProcessId Cluster::member_of(LinkId link) const {
  const auto at =
      std::find_if(members_.begin(), members_.end(), [&](const auto& entry) { return entry.second == link; });
  return at == members_.end() ? kNoProcess : at->first;
}

std::string Cluster::peer_of(LinkId link) const {
  const auto peer = live_.find(link);
  return peer == live_.end() ? std::string() : peer->second;
}

void Cluster::drop(ProcessId process) {
  const auto member = members_.find(process);
  if (member == members_.end()) {
    const auto absent = peers_.links().find(process);
    if (absent != peers_.links().end()) stream_->close_link(absent->second, "it has not attached");
    return;
  }
  stream_->finish_link(member->second, kFinishSeconds);
  members_.erase(member);
}

void Cluster::prepare(const Membership& table) {
  // On the coordinator: a process with the table may send requests to nodes here at once, and their replies need
  // routes.
  if (coordinator_ && stream_ != nullptr) set_routes(*membership(), table);
  view_.open_mail(*transport_, table);
}

void Cluster::publish(MembershipPtr table) {
  observer_links_.observers().on_members(*membership(), *table);
  adopt(std::move(table));
}

Result<bool> Cluster::start_servers(uint32_t action) {
  if (process() == 0) return events_.start_servers(action);
  return Error{Code::peer_lost, "the coordinator is lost, and the parameter servers with it"};
}

void Cluster::ended(const EndMessage& end) { finish(end); }

void Cluster::lost(const std::string& host, const std::vector<NodeId>& workers, const std::string& reason) {
  observer_links_.observers().on_lost(host, workers, reason);
}

void Cluster::aside(const std::function<void()>& work, const std::function<void()>& then) {
  aside_.run([this, work, then] {
    work();
    post(then);
  });
}

/// Runs `work` on a thread of its own, and then the function that it returns on the service thread.
void Cluster::run_helper(Helper helper, ProcessId process, const std::function<std::function<void()>()>& work) {
  const std::pair key{helper, process};
  helpers_[key] = std::thread([this, key, work] {
    post([this, key, then = work()] {
      helpers_.at(key).join();
      helpers_.erase(key);
      then();
    });
  });
}

void Cluster::dial(ProcessId process, const std::string& url) {
  run_helper(Helper::dial, process, [this, process, url]() -> std::function<void()> {
    size_t first = 0;
    const auto link = dialler_.dial(process, {url}, first, clock_.now() + kPeerDial, false);
    return [this, process, link] {
      if (!link) return peers_.dial_failed(process, link.error().message);
      detector_.watch(process, clock_.now());
      peers_.dialled(process, *link);
      peer_linked(process);
    };
  });
}

void Cluster::leased(double until) {
  if (lease_.set(until, clock_.now())) events_.cluster_changed();
}

void Cluster::prove_dead(ProcessId process, const std::string& url) {
  if (stream_ == nullptr || helpers_.contains({Helper::proof, process})) return;
  run_helper(Helper::proof, process, [this, process, url]() -> std::function<void()> {
    const PortState port = url.empty() ? PortState::open : stream_->probe(url, kProof);
    return [this, process, port] {
      if (coordinator_) return coordinator_->on_proof(process, port, clock_.now());
      election_.on_proof(process, port, clock_.now());
    };
  });
}

void Cluster::request_dial(ProcessId process) {
  to_coordinator(make_frame(cluster_kind::want_link, service_address(view_.process()), kNoAddress, process));
}

void Cluster::report_broken(ProcessId process, const std::string& reason) {
  detector_.forget(process);
  view_.cut_off(process);
  if (ended()) return;  // all processes are leaving
  // Most often that process has just ended; if not, the coordinator warns when it drops a process.
  log_.debug("cluster", "no link to host " + std::to_string(process) + ": " + reason);
  to_coordinator(make_frame(cluster_kind::link_broken, service_address(view_.process()), kNoAddress, process));
  election_.skip(process, clock_.now());
}

void Cluster::close_link(LinkId link, const std::string& reason) { stream_->close_link(link, reason); }

// ---- a member and its coordinator ----

void Cluster::outlive_coordinator() {
  if (view_.set_outlives()) return;
  post([this] {
    to_coordinator(make_frame(cluster_kind::outlive, service_address(process()), kNoAddress, 0));
    on_outlives();
  });
}

void Cluster::on_outlives() {
  lease_.begin(clock_.now());
  if (bound_url().empty()) return;
  log_.info("cluster",
            "workers are peers, so the run outlives its coordinator; it can be joined at " + bound_url() + " too");
}

double Cluster::leased_until() const noexcept {
  return outlives_coordinator() && stream_ != nullptr ? lease_.until() : kForever;
}

void Cluster::on_renewal(const Frame& frame) {
  const auto renewal = read_message<LeaseRenewal>(frame);
  if (!renewal) return finish({Code::bad_data, false, "from the coordinator: " + renewal.error().message});
  if (lease_.receive(*renewal, clock_.now())) events_.cluster_changed();
  send_renewal_reply();
}

void Cluster::send_renewal_reply() {
  to_coordinator(make_frame(cluster_kind::lease_renewal, service_address(process()), kNoAddress, 0,
                            pack(lease_.reply(clock_.now()))));
}

void Cluster::on_proposal(const Frame& frame) {
  auto table = unpack<Membership>(frame.body.view());
  if (!table) return finish({Code::bad_data, false, "from the coordinator: " + table.error().message});
  lease_.accept(table->epoch());
  election_.accept(std::make_shared<const Membership>(std::move(*table)));
  send_renewal_reply();
}

/// The coordinator has failed, at least for this process. It may resume if its link has not closed.
void Cluster::lose_coordinator(const std::string& reason, bool closed) {
  const bool out = membership()->process(process()) == nullptr;
  if (!outlives_coordinator() || (closed && stalls_.stall_seconds(clock_.now()) > 0) || out)
    return finish_as_lost(reason);
  if (ended()) return;
  log_.warn("cluster", "lost " + coordinator_name() + ": " + reason + "; electing the next one");
  const ProcessId lost = coordinator();
  const LinkId link = coordinator_link_.exchange(0);
  detector_.forget(lost);
  view_.set_coordinator(kNoProcess);
  chunks_.cancel_all();
  election_.begin(lost, link, reason, closed, clock_.now());
  events_.cluster_changed();
}

/// No link may lead to the process again.
void Cluster::cut_off(ProcessId process) {
  view_.cut_off(process);
  stream_->forget(process);
}

AttachMessage Cluster::own_state() const {
  const MembershipPtr table = membership();
  AttachMessage attach;
  attach.self = config_.self;
  attach.self.settings.clear();
  if (const ProcessInfo* info = table->process(process())) attach.self.url = info->url;  // as others reach it
  attach.workers = reports_.workers(*table, process());
  return attach;
}

/// There is a link to a peer.
void Cluster::peer_linked(ProcessId process) {
  const auto link = peers_.links().find(process);
  if (link == peers_.links().end()) return;
  if (coordinator_) return coordinator_->linked(process, link->second);
  election_.linked(process, link->second);
}

/// A process attaches to this process.
void Cluster::on_attach(LinkId link, const Frame& frame) {
  auto attach = read_message<AttachMessage>(frame);
  const ProcessId owner = peers_.owner(link);
  if (!attach || owner == kNoProcess || attach->process != owner || attach->tables.empty()) {
    return stream_->close_link(link, attach ? "it names another process's number" : attach.error().message);
  }
  if (coordinator_) return accept_attach(link, *attach);
  election_.on_attach(link, std::move(*attach), coordinator(), clock_.now());
}

void Cluster::accept_attach(LinkId link, const AttachMessage& attach) {
  peers_.release(attach.process);
  coordinator_->on_attach(link, attach, clock_.now());
}

void Cluster::take_over(Takeover&& takeover) {
  CoordinatorConfig config = config_.coordinator;
  config.self = process();
  const double now = clock_.now();
  coordinator_ =
      std::make_unique<Coordinator>(std::move(config), job_, log_, static_cast<CoordinatorOutput&>(*this), now);
  const std::string& url = takeover.self.self.url;
  view_.set_url(url);
  if (const auto seed = settings().find("seed"); seed != settings().end()) config_.about.insert(*seed);
  log_.warn("cluster", "this host is the coordinator now" + (url.empty() ? "" : ", at " + url));
  view_.set_coordinator(process());  // before the first table: its readers look for the coordinator
  coordinator_->succeed(takeover.quorum, takeover.lost, takeover.self, takeover.reason, now);
  for (const auto& [process, link] : peers_.links()) coordinator_->linked(process, link);
  for (const auto& [link, attach] : takeover.attached) accept_attach(link, attach);
  send_unsent();
  events_.cluster_changed();
}

void Cluster::set_coordinator(ProcessId process, LinkId link) {
  coordinator_link_ = link;
  view_.set_coordinator(process);
  detector_.watch(process, clock_.now());
}

void Cluster::follow(ProcessId process, LinkId link, const std::vector<LinkId>& waiting) {
  lease_.follow_another();
  if (const ProcessInfo* info = membership()->process(process)) view_.set_url(info->url);
  set_coordinator(process, link);
  log_.info("cluster", "the coordinator is at " + url() + " now");
  for (const LinkId waiting_link : waiting) redirect(waiting_link);
  send_unsent();
  peers_.resend_reports();
  events_.cluster_changed();
}

void Cluster::recover(ProcessId process, LinkId link, const std::vector<LinkId>& waiting, std::deque<Frame>&& late) {
  set_coordinator(process, link);
  for (const LinkId waiting_link : waiting) redirect(waiting_link);
  send_unsent();
  events_.cluster_changed();
  for (Frame& frame : late) member_frame(std::move(frame));
}

/// Sends what the previous coordinator may not have received.
void Cluster::send_unsent() {
  for (Frame& frame : reports_.take_unsent(process())) to_coordinator(std::move(frame));
}

/// Redirects a process that takes this process for the coordinator. Thread-safe.
void Cluster::redirect(LinkId link) {
  RedirectMessage place;
  if (process() != kNoProcess && coordinator() != kNoProcess) place.url = url();
  (void)stream_->send_on(link, make_frame(cluster_kind::redirect, kNoAddress, kNoAddress, 0, pack(place)));
}

}  // namespace actorhost
