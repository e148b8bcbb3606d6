// Cluster's service thread: handles events and ticks, and carries out the outputs of Coordinator and PeerLinks.

#include <algorithm>
#include <csignal>
#include <utility>

#include "host/cluster/cluster.hpp"

namespace actorhost {

namespace {

constexpr double kRetry = 0.01;             // seconds between retries of frames without room
constexpr double kInterruptSeconds = 0.05;  // seconds between interrupts of a chunk
constexpr double kPeerDial = 5;             // seconds for a link to another member
constexpr double kProof = 0.8;              // seconds to find out that a process is dead
constexpr double kFinishSeconds = 1;        // seconds for others to read their queued frames
constexpr double kLinkCheck = 0.1;          // seconds between checks of the links that have yet to end
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

/// Finishes every link, also links of observers: a link ends once the other end has read all of it. After a successful
/// run the coordinator gives more time to a member that still sends: a partition in one direction may delay the end.
void Cluster::finish_all_links() {
  const double begun = clock_.now();
  const bool ok = end() && end()->ok;
  const auto limit = [&](LinkId link) {
    return ok && member_of(link) != kNoProcess ? kMinorityTimeout : kFinishSeconds;
  };
  const auto pending = [&](const auto& entry) {
    const double waited = clock_.now() - begun;
    if (waited < kFinishSeconds) return true;
    const double silence = clock_.now() - stream_->last_received(member_of(entry.first));
    return waited < limit(entry.first) && silence < config_.coordinator.times.dead;
  };
  std::map<LinkId, bool> finished;
  std::vector<Frame> frames;
  for (;;) {
    outbox_.flush();
    for (const auto& [link, peer] : live_) {
      if (outbox_.empty() && !std::exchange(finished[link], true)) finish_link(link, limit(link));
    }
    if (std::none_of(live_.begin(), live_.end(), pending)) return;
    frames.clear();
    inbox_.pop_all(frames, outbox_.empty() ? kLinkCheck : kRetry);
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
      member_.watch(event.process);
      peers_.accepted(event.process, event.link);
      return peer_linked(event.process);
    case Event::Type::wanted:
      if (coordinator_ == nullptr && event.process != coordinator())
        peers_.wanted(event.process);  // others dial the coordinator
      return;
    case Event::Type::call: return event.call();
  }
}

void Cluster::on_down(LinkId link, const std::string& reason) {
  live_.erase(link);
  if (observer_links_.leave(link) && coordinator_) coordinator_->console().leave(link);
  if (!coordinator_) return member_.on_link_down(link, reason);
  peers_.release(peers_.owner(link));
  coordinator_->on_link_down(link, reason, clock_.now(), stall_seconds() > 0);
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
  post([this, process, what] {
    coordinator_ ? coordinator_->distrust(process, what) : member_.distrust(process, what);
  });
  return true;
}

void Cluster::handle_frame(LinkId link, Frame&& frame) {
  if (frame.kind == cluster_kind::attach) return on_attach(link, frame);
  if (frame.kind == cluster_kind::attached) return member_.on_attached(link, frame.tag);
  if (coordinator_ && observer_links_.take(link, frame, coordinator_->console())) return;
  if (coordinator_) return coordinator_->on_frame(link, std::move(frame), clock_.now());
  member_.on_frame(link, std::move(frame));
}

/// A frame from an observer with only the reading token.
void Cluster::take_reader_frame(LinkId link, const Frame& frame) {
  if (!coordinator_ && ObserverLinks::is_request(frame.kind)) return redirect(link);
  observer_links_.take_from_reader(link, frame);
}

void Cluster::handle_request(const Frame& request) {
  if (request.kind == cluster_kind::report_wanted) return send_report(request);
  console_frame(request);
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
  member_.adopt(table);
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
    member_.forget(info.process);
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
  if (!coordinator_) return member_.tick(now, late);
  for (const auto& [process, link] : peers_.links()) {  // that have yet to attach
    coordinator_->record_heartbeat(process, stream_->last_received(process));
    heartbeat(link);
  }
  for (const auto& [process, link] : member_links_) {
    coordinator_->record_heartbeat(process, stream_->last_received(process));
    heartbeat(link);
  }
  coordinator_->tick(now, late);
}

// ---- outputs of the Coordinator and of the links to peers ----

void Cluster::to_coordinator(Frame&& frame) {
  if (coordinator_) return coordinator_->on_frame(0, std::move(frame), clock_.now());
  member_.send(std::move(frame));
}

void Cluster::send(Frame&& frame) {
  if (!is_service(frame.dst)) return outbox_.put(0, std::move(frame));
  if (frame.dst == service_address(process())) return console_frame(frame);
  if (const auto member = member_links_.find(address_index(frame.dst)); member != member_links_.end()) {
    send_on(member->second, std::move(frame));
  }
}

void Cluster::send_on(LinkId link, Frame&& frame) {
  if (stream_ == nullptr) return;
  frame.dst = kNoAddress;  // for the service thread at the other end
  outbox_.put(link, std::move(frame));
}

void Cluster::assign(LinkId link, ProcessId process) {
  member_links_[process] = link;
  stream_->assign(link, process);
}

void Cluster::finish_link(LinkId link) { finish_link(link, kFinishSeconds); }

void Cluster::finish_link(LinkId link, double seconds) {
  if (ControlEntry::is_one(link)) return observer_links_.finish(link, seconds);
  stream_->finish_link(link, seconds);
}

/// The member at the other end of a link, or kNoProcess.
ProcessId Cluster::member_of(LinkId link) const {
  const auto at =
      std::find_if(member_links_.begin(), member_links_.end(), [&](const auto& entry) { return entry.second == link; });
  return at == member_links_.end() ? kNoProcess : at->first;
}

std::string Cluster::peer_of(LinkId link) const {
  const auto peer = live_.find(link);
  return peer == live_.end() ? std::string() : peer->second;
}

void Cluster::drop(ProcessId process) {
  const auto member = member_links_.find(process);
  if (member == member_links_.end()) {
    const auto absent = peers_.links().find(process);
    if (absent != peers_.links().end()) stream_->close_link(absent->second, "it has not attached");
    return;
  }
  stream_->finish_link(member->second, kFinishSeconds);
  member_links_.erase(member);
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
      member_.watch(process);
      peers_.dialled(process, *link);
      peer_linked(process);
    };
  });
}

void Cluster::leased(double until) {
  if (member_.lease().set(until, clock_.now())) events_.cluster_changed();
}

void Cluster::prove_dead(ProcessId process, const std::string& url) {
  if (stream_ == nullptr || helpers_.contains({Helper::proof, process})) return;
  run_helper(Helper::proof, process, [this, process, url]() -> std::function<void()> {
    const PortState port = url.empty() ? PortState::open : stream_->probe(url, kProof);
    return [this, process, port] {
      if (coordinator_) return coordinator_->on_proof(process, port, clock_.now());
      member_.on_proof(process, port);
    };
  });
}

void Cluster::request_dial(ProcessId process) {
  to_coordinator(make_frame(cluster_kind::want_link, service_address(view_.process()), kNoAddress, process));
}

void Cluster::report_broken(ProcessId process, const std::string& reason) {
  member_.forget(process);
  view_.cut_off(process);
  if (ended()) return;  // all processes are leaving
  // Most often that process has just ended; if not, the coordinator warns when it drops a process.
  log_.debug("cluster", "no link to host " + std::to_string(process) + ": " + reason);
  to_coordinator(make_frame(cluster_kind::link_broken, service_address(view_.process()), kNoAddress, process));
  member_.unreachable(process);
}

void Cluster::close_link(LinkId link, const std::string& reason) { stream_->close_link(link, reason); }

// ---- a member and its coordinator ----

void Cluster::outlive_coordinator() {
  if (view_.set_outlives()) return;
  post([this] {
    to_coordinator(make_frame(cluster_kind::outlive, service_address(process()), kNoAddress, 0));
    member_.on_outlives();
  });
}

double Cluster::leased_until() const noexcept {
  return outlives_coordinator() && stream_ != nullptr ? member_.lease().until() : kForever;
}

/// No link may lead to the process again.
void Cluster::cut_off(ProcessId process) {
  view_.cut_off(process);
  stream_->forget(process);
}

/// There is a link to a peer.
void Cluster::peer_linked(ProcessId process) {
  const auto link = peers_.links().find(process);
  if (link == peers_.links().end()) return;
  if (coordinator_) return coordinator_->linked(process, link->second);
  member_.linked(process, link->second);
}

/// A process attaches to this process.
void Cluster::on_attach(LinkId link, const Frame& frame) {
  auto attach = read_message<AttachMessage>(frame);
  const ProcessId owner = peers_.owner(link);
  if (!attach || owner == kNoProcess || attach->process != owner || attach->tables.empty()) {
    return stream_->close_link(link, attach ? "it names another process's number" : attach.error().message);
  }
  if (coordinator_) return accept_attach(link, *attach);
  member_.on_attach(link, std::move(*attach));
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
  for (Frame& frame : member_.reports().take_unsent(process())) to_coordinator(std::move(frame));
  events_.cluster_changed();
}

/// Redirects a process that takes this process for the coordinator. Thread-safe.
void Cluster::redirect(LinkId link) {
  RedirectMessage place;
  if (process() != kNoProcess && coordinator() != kNoProcess) place.url = url();
  (void)stream_->send_on(link, make_frame(cluster_kind::redirect, kNoAddress, kNoAddress, 0, pack(place)));
}

}  // namespace actorhost
