#include "host/cluster/cluster_service.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include <nlohmann/json.hpp>

#include "host/base/outside_json.hpp"

namespace actorhost {

namespace {

constexpr double kTick = 0.25;              // seconds between ticks
constexpr double kRetry = 0.01;             // seconds between retries of frames without room
constexpr double kInterruptSeconds = 0.05;  // seconds between interrupts of a chunk
constexpr double kPeerDial = 5;             // seconds for a link to another member
constexpr double kProof = 0.8;              // seconds to find out that a process is dead
constexpr double kFinishSeconds = 1;        // seconds for others to read their queued frames
constexpr double kLinkCheck = 0.1;          // seconds between checks for the end of links
constexpr uint32_t kMaxServers = 64;

}  // namespace

ClusterService::ClusterService(ClusterConfig& config, JobSource& job, const Clock& clock, Log& log,
                               ClusterEvents& events, RunView& view, Dialler& dialler, Observers::Sources sources)
    : config_(config),
      job_(job),
      clock_(clock),
      log_(log),
      events_(events),
      view_(view),
      dialler_(dialler),
      chunks_([this](Frame&& frame) {
        frame.src = service_address(view_.process());
        post([this, sent = std::make_shared<Frame>(std::move(frame))] { to_coordinator(std::move(*sent)); });
      }),
      member_(*this, peers_, view, config.self, config.coordinator.times, clock, log),
      outbox_([this](LinkId link, Frame&& frame) {
        return link != 0 ? stream()->send_on(link, std::move(frame)) : transport_->try_send(std::move(frame));
      }),
      stalls_(config.coordinator.times, kTick),
      observer_links_(
          std::move(sources), [this](LinkId link) { return member_of(link); }, clock, log) {}

// ---- start and end ----

void ClusterService::open(LinkEvents& events) {
  stalls_.begin(clock_.now());
  if (config_.place == ClusterConfig::Place::alone) {
    transport_ = std::make_unique<LocalTransport>();
    return;
  }
  transport_ = std::make_unique<StreamTransport>(config_.stream, log_, events);
  observer_links_.use(stream());
  dialler_.use(stream());
}

Status ClusterService::coordinate() {
  (void)view_.set_process(0);
  if (stream() == nullptr) {  // no other process can join, and no service thread ticks
    config_.coordinator.rendezvous.min_hosts = config_.coordinator.rendezvous.max_hosts = 1;
    AH_TRY(transport_->attach(service_address(0), queue_.inbox));
  }
  coordinator_ = std::make_unique<Coordinator>(config_.coordinator, job_, log_, static_cast<CoordinatorOutput&>(*this),
                                               clock_.now());
  if (stream() != nullptr) {
    stream()->set_self(0);
    AH_LET(config_.self.url, stream()->listen(config_.url));
  }
  AH_TRY(coordinator_->join_self(config_.self, clock_.now()));
  coordinator_->tick(clock_.now(), 0);
  thread_ = Task([this] { serve(); });
  return {};
}

void ClusterService::follow() {
  member_.watch(view_.coordinator());
  if (view_.outlives_coordinator()) post([this] { member_.on_outlives(); });
  thread_ = Task([this] { serve(); });
}

void ClusterService::close() {
  if (view_.set_quit() && !thread_.joinable()) return;
  queue_.inbox.wake();
  if (thread_.joinable()) thread_.join();
  observer_links_.close();
  if (transport_) transport_->close();  // ends pending dials
  helpers_.clear();
}

// ---- the thread ----

void ClusterService::post(Event event) {
  const bool is_frame = event.type == Event::Type::frame || event.type == Event::Type::reader_frame;
  if (is_frame && !observer_links_.may_queue(event.link, event.frame)) return;
  {
    std::lock_guard lock(queue_.mutex);
    queue_.events.push_back(std::move(event));
  }
  queue_.inbox.wake();
}

void ClusterService::serve() {
  std::vector<Frame> frames;
  for (;;) {
    const double next =
        std::min(stream() != nullptr ? stalls_.next_tick() : kForever, observer_links_.observers().next_time());
    double wait = std::max(0.0, next - clock_.now());
    if (!outbox_.empty()) wait = std::min(wait, kRetry);
    if (chunks_.interrupt_again()) wait = std::min(wait, kInterruptSeconds);
    frames.clear();
    queue_.inbox.pop_all(frames, wait);
    std::deque<Event> events;
    const bool quit = view_.quitting();  // read first: no event before it is dropped
    {
      std::lock_guard lock(queue_.mutex);
      events.swap(queue_.events);
    }
    for (Event& event : events) handle(event);
    for (Frame& frame : frames) handle_frame(0, std::move(frame));
    outbox_.flush();
    if (quit) break;
    observer_links_.observers().tick(clock_.now());
    if (stream() != nullptr && clock_.now() >= stalls_.next_tick()) tick();
  }
  for (const LinkId link : observer_links_.announce_end(view_.end())) {
    if (ControlEntry::is_one(link)) live_[link] = "an observer";
  }
  finish_all_links();
}

/// Finishes every link, also links of observers: a link ends once the other end has read all of it. After a successful
/// run the coordinator gives more time to a member that still sends: a partition in one direction may delay the end.
void ClusterService::finish_all_links() {
  const double begun = clock_.now();
  const bool ok = view_.end() && view_.end()->ok;
  const auto limit = [&](LinkId link) {
    return ok && member_of(link) != kNoProcess ? kMinorityTimeout : kFinishSeconds;
  };
  const auto pending = [&](const auto& entry) {
    const double now = clock_.now();
    if (now < begun + kFinishSeconds || now >= begun + limit(entry.first)) return now < begun + kFinishSeconds;
    return now < last_received(member_of(entry.first)) + config_.coordinator.times.dead;
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
    queue_.inbox.pop_all(frames, outbox_.empty() ? kLinkCheck : kRetry);
    std::lock_guard lock(queue_.mutex);
    for (const Event& event : queue_.events) {
      if (event.type == Event::Type::up) live_[event.link] = event.text;
      if (event.type == Event::Type::down) live_.erase(event.link);
    }
    queue_.events.clear();
  }
}

void ClusterService::handle(Event& event) {
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
      if (coordinator_ == nullptr && event.process != view_.coordinator())
        peers_.wanted(event.process);  // others dial the coordinator
      return;
    case Event::Type::call: return event.call();
  }
}

void ClusterService::on_down(LinkId link, const std::string& reason) {
  live_.erase(link);
  if (observer_links_.leave(link) && coordinator_) coordinator_->console().leave(link);
  if (!coordinator_) return member_.on_link_down(link, reason);
  peers_.release(peers_.owner(link));
  coordinator_->on_link_down(link, reason, clock_.now(), stall_seconds() > 0);
}

void ClusterService::handle_frame(LinkId link, Frame&& frame) {
  if (frame.kind == cluster_kind::attach) return on_attach(link, frame);
  if (frame.kind == cluster_kind::attached) return member_.on_attached(link, frame.tag);
  if (coordinator_ && observer_links_.take(link, frame, coordinator_->console())) return;
  if (coordinator_) return coordinator_->on_frame(link, std::move(frame), clock_.now());
  member_.on_frame(link, std::move(frame));
}

/// A frame from an observer with only the reading token.
void ClusterService::take_reader_frame(LinkId link, const Frame& frame) {
  if (!coordinator_ && ObserverLinks::is_request(frame.kind)) return redirect(link);
  observer_links_.take_from_reader(link, frame);
}

void ClusterService::handle_request(const Frame& request) {
  if (request.kind == cluster_kind::report_wanted) return send_report(request);
  console_frame(request);
}

/// A console request of the coordinator to this process's nodes.
void ClusterService::console_frame(const Frame& frame) {
  if (frame.kind == console_kind::leave) (void)std::raise(SIGKILL);
  const Status taken = chunks_.take(frame);
  if (!taken) finish({Code::bad_data, false, "from the coordinator: " + taken.error().message});
}

bool ClusterService::request_report(ProcessId process, uint32_t number, const std::vector<std::string>& sections) {
  const auto member = member_links_.find(process);
  if (member == member_links_.end()) return false;
  send_on(member->second, make_frame(cluster_kind::report_wanted, service_address(view_.process()), kNoAddress, number,
                                     pack(ObserveMessage{sections})));
  return true;
}

/// The coordinator requests this process's part of the run's state.
void ClusterService::send_report(const Frame& request) {
  const auto wanted = read_message<ObserveMessage>(request);
  if (!wanted) return;
  const nlohmann::json state = observer_links_.observers().state().report(wanted->sections);
  const std::string text = json_text(state);
  to_coordinator(make_frame(cluster_kind::report, service_address(view_.process()), kNoAddress, request.tag, {},
                            Blob::copy_of(text)));
}

void ClusterService::adopt(MembershipPtr table) {
  const MembershipPtr before = view_.membership();
  if (table->epoch() <= before->epoch()) return;
  for (const ProcessInfo& info : before->processes()) {
    if (table->process(info.process) == nullptr) view_.cut_off(info.process);
  }
  if (stream() != nullptr) set_routes(*before, *table);
  peers_.adopt(view_.process(), table);
  member_.adopt(table);
  view_.adopt(std::move(table));
  events_.cluster_changed();
}

void ClusterService::set_routes(const Membership& before, const Membership& table) {
  const ProcessId self = view_.process();
  for (const Member& member : table.workers()) {
    if (member.process != self && !before.alive(member.id)) {
      stream()->set_route(worker_address(member.id), member.process);
    }
  }
  const bool lost_servers = before.process(0) != nullptr && table.process(0) == nullptr;
  for (uint32_t shard = 0; self != 0 && (before.epoch() == 0 || lost_servers) && shard < kMaxServers; ++shard) {
    stream()->set_route(server_address(shard), table.process(0) != nullptr ? 0 : kNoProcess);
  }
  for (const ProcessInfo& info : table.processes()) {
    if (info.process != self && before.process(info.process) == nullptr) {
      stream()->set_route(data_address(info.process), info.process);
      stream()->set_route(courier_address(info.process), info.process);
    }
  }
  for (const Member& member : before.workers()) {
    if (!table.alive(member.id)) stream()->set_route(worker_address(member.id), kNoProcess);
  }
  for (const ProcessInfo& info : before.processes()) {
    if (table.process(info.process) != nullptr) continue;
    stream()->set_route(data_address(info.process), kNoProcess);
    stream()->set_route(courier_address(info.process), kNoProcess);
    if (coordinator_) {
      stream()->refuse(info.process);  // its link ends with a goodbye
      continue;
    }
    member_.forget(info.process);
    stream()->forget(info.process);
  }
}

void ClusterService::tick() {
  const double now = clock_.now();
  const double late = stalls_.tick(now);
  if (!coordinator_) return member_.tick(now, late);
  for (const auto& [process, link] : peers_.links()) {  // of processes before they attach
    coordinator_->record_heartbeat(process, stream()->last_received(process));
    heartbeat(link);
  }
  for (const auto& [process, link] : member_links_) {
    coordinator_->record_heartbeat(process, stream()->last_received(process));
    heartbeat(link);
  }
  coordinator_->tick(now, late);
}

// ---- outputs of the Coordinator and of the links to peers ----

void ClusterService::to_coordinator(Frame&& frame) {
  if (coordinator_) return coordinator_->on_frame(0, std::move(frame), clock_.now());
  member_.send(std::move(frame));
}

void ClusterService::send(Frame&& frame) {
  if (!is_service(frame.dst)) return outbox_.put(0, std::move(frame));
  if (frame.dst == service_address(view_.process())) return console_frame(frame);
  if (const auto member = member_links_.find(address_index(frame.dst)); member != member_links_.end()) {
    send_on(member->second, std::move(frame));
  }
}

void ClusterService::send_on(LinkId link, Frame&& frame) {
  if (stream() == nullptr) return;
  frame.dst = kNoAddress;  // for the service thread at the other end
  outbox_.put(link, std::move(frame));
}

void ClusterService::finish_link(LinkId link) { finish_link(link, kFinishSeconds); }

void ClusterService::finish_link(LinkId link, double seconds) {
  if (ControlEntry::is_one(link)) return observer_links_.finish(link, seconds);
  stream()->finish_link(link, seconds);
}

/// The member at the other end of a link, or kNoProcess.
ProcessId ClusterService::member_of(LinkId link) const {
  const auto at =
      std::find_if(member_links_.begin(), member_links_.end(), [&](const auto& entry) { return entry.second == link; });
  return at == member_links_.end() ? kNoProcess : at->first;
}

std::string ClusterService::peer_of(LinkId link) const {
  const auto peer = live_.find(link);
  return peer == live_.end() ? std::string() : peer->second;
}

void ClusterService::drop(ProcessId process) {
  const auto member = member_links_.find(process);
  if (member == member_links_.end()) {
    const auto absent = peers_.links().find(process);
    if (absent != peers_.links().end()) stream()->close_link(absent->second, "it has not attached");
    return;
  }
  stream()->finish_link(member->second, kFinishSeconds);
  member_links_.erase(member);
}

void ClusterService::prepare(const Membership& table) {
  // On the coordinator: a process with the table may send requests to nodes here at once, and their replies need
  // routes.
  if (coordinator_ && stream() != nullptr) set_routes(*view_.membership(), table);
  view_.open_mail(*transport_, table);
}

void ClusterService::publish(MembershipPtr table) {
  observer_links_.observers().on_members(*view_.membership(), *table);
  adopt(std::move(table));
}

Result<bool> ClusterService::start_servers(uint32_t action) {
  if (view_.process() == 0) return events_.start_servers(action);
  return Error{Code::peer_lost, "the coordinator is lost, and the parameter servers with it"};
}

void ClusterService::aside(const std::function<void()>& work, const std::function<void()>& then) {
  helpers_[{Helper::reader, 0}].run([this, work, then] {
    work();
    post(then);
  });
}

/// Runs `work` on a thread of its own, and then the function that it returns on the service thread.
void ClusterService::run_helper(Helper helper, ProcessId process, const std::function<std::function<void()>()>& work) {
  const std::pair key{helper, process};
  helpers_[key].run([this, key, work] {
    post([this, key, then = work()] {
      helpers_.erase(key);
      then();
    });
  });
}

void ClusterService::dial(ProcessId process, const std::string& url) {
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

void ClusterService::prove_dead(ProcessId process, const std::string& url) {
  if (stream() == nullptr || helpers_.contains({Helper::proof, process})) return;
  run_helper(Helper::proof, process, [this, process, url]() -> std::function<void()> {
    const PortState port = url.empty() ? PortState::open : stream()->probe(url, kProof);
    return [this, process, port] {
      if (coordinator_) return coordinator_->on_proof(process, port, clock_.now());
      member_.on_proof(process, port);
    };
  });
}

void ClusterService::report_broken(ProcessId process, const std::string& reason) {
  member_.forget(process);
  view_.cut_off(process);
  if (view_.ended()) return;  // all processes are leaving
  // Most often that process has just ended; if not, the coordinator warns when it drops a process.
  log_.debug("cluster", "no link to host " + std::to_string(process) + ": " + reason);
  to_coordinator(make_frame(cluster_kind::link_broken, service_address(view_.process()), kNoAddress, process));
  member_.unreachable(process);
}

// ---- a member and its coordinator ----

/// There is a link to a peer.
void ClusterService::peer_linked(ProcessId process) {
  const auto link = peers_.links().find(process);
  if (link == peers_.links().end()) return;
  if (coordinator_) return coordinator_->linked(process, link->second);
  member_.linked(process, link->second);
}

/// A process attaches to this process.
void ClusterService::on_attach(LinkId link, const Frame& frame) {
  auto attach = read_message<AttachMessage>(frame);
  const ProcessId owner = peers_.owner(link);
  if (!attach || owner == kNoProcess || attach->process != owner || attach->tables.empty()) {
    return stream()->close_link(link, attach ? "it names another process's number" : attach.error().message);
  }
  if (coordinator_) return accept_attach(link, *attach);
  member_.on_attach(link, std::move(*attach));
}

void ClusterService::accept_attach(LinkId link, const AttachMessage& attach) {
  peers_.release(attach.process);
  coordinator_->on_attach(link, attach, clock_.now());
}

void ClusterService::take_over(Takeover&& takeover) {
  CoordinatorConfig config = config_.coordinator;
  config.self = view_.process();
  const double now = clock_.now();
  coordinator_ =
      std::make_unique<Coordinator>(std::move(config), job_, log_, static_cast<CoordinatorOutput&>(*this), now);
  const std::string& url = takeover.self.self.url;
  view_.set_url(url);
  const auto& settings = config_.coordinator.settings;
  if (const auto seed = settings.find("seed"); seed != settings.end()) config_.about.insert(*seed);
  log_.warn("cluster", "this host is the coordinator now" + (url.empty() ? "" : ", at " + url));
  view_.set_coordinator(view_.process());  // before the first table: its readers look for the coordinator
  coordinator_->succeed(takeover, now);
  for (const auto& [process, link] : peers_.links()) coordinator_->linked(process, link);
  for (const auto& [link, attach] : takeover.attached) accept_attach(link, attach);
  for (Frame& frame : member_.reports().take_unsent(view_.process())) to_coordinator(std::move(frame));
  events_.cluster_changed();
}

void ClusterService::redirect(LinkId link) {
  RedirectMessage place;
  if (view_.process() != kNoProcess && view_.coordinator() != kNoProcess) place.url = view_.url();
  (void)stream()->send_on(link, make_frame(cluster_kind::redirect, kNoAddress, kNoAddress, 0, pack(place)));
}

}  // namespace actorhost
