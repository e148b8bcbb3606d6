#include "host/cluster/cluster.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>

#include "host/cluster/place/endpoint.hpp"

namespace actorhost {

namespace {

constexpr double kTick = 0.25;          // seconds between ticks of the service thread
constexpr double kRedial = 0.1;         // seconds between dials of another process
constexpr int kMaxRedirects = 4;        // redirects from one host to the next
constexpr double kRedirectSeconds = 5;  // seconds to reach the coordinator at the address from a member
constexpr double kQuiet = 1;            // seconds of failed dials before the log reports them
constexpr double kRefusalSeconds = 1;   // seconds for a refused process to read the reason
constexpr double kLeastDial = 1;        // least seconds for a dial, however late the coordinator's name was known

/// A bounded duration: a longer one would overflow a condition variable's clock.
std::chrono::duration<double> seconds(double value) {
  return std::chrono::duration<double>(std::clamp(value, 0.0, 1e7));
}

std::string whole_seconds(double value) { return std::to_string(static_cast<long>(value)) + " s"; }

}  // namespace

Cluster::Cluster(ClusterConfig config, JobSource& job, const Clock& clock, Log& log, ClusterEvents& events)
    : config_(std::move(config)),
      job_(job),
      clock_(clock),
      log_(log),
      events_(events),
      chunks_([this](Frame&& frame) {
        frame.src = service_address(process_);
        post([this, sent = std::make_shared<Frame>(std::move(frame))] { to_coordinator(std::move(*sent)); });
      }),
      state_(clock),
      election_(*this, peers_, lease_, config_.coordinator.times, log),
      detector_(config_.coordinator.times),
      outbox_([this](LinkId link, Frame&& frame) {
        return link != 0 ? stream_->send_on(link, std::move(frame)) : transport_->try_send(std::move(frame));
      }),
      stalls_(config_.coordinator.times, kTick),
      observer_links_(
          observer_sources(), [this](LinkId link) { return member_of(link); }, clock, log) {
  add_sections();
}

Cluster::~Cluster() { close(); }

// ---- opening ----

Status Cluster::open() {
  stalls_.begin(clock_.now());
  if (config_.place == ClusterConfig::Place::alone) {
    transport_ = std::make_unique<LocalTransport>();
  } else {
    auto stream = std::make_unique<StreamTransport>(config_.stream, log_, static_cast<LinkEvents&>(*this));
    stream_ = stream.get();
    observer_links_.use(stream_);
    transport_ = std::move(stream);
  }
  return config_.place == ClusterConfig::Place::member ? open_member() : open_coordinator();
}

Status Cluster::open_coordinator() {
  process_ = 0;
  settings_ = config_.coordinator.settings;
  args_ = config_.coordinator.args;
  run_id_ = config_.coordinator.run_id;
  welcomed_ = true;
  if (stream_ == nullptr) {  // no other process can join, and no service thread ticks
    config_.coordinator.rendezvous.min_hosts = config_.coordinator.rendezvous.max_hosts = 1;
    AH_TRY(transport_->attach(service_address(0), inbox_));
  }
  coordinator_ = std::make_unique<Coordinator>(config_.coordinator, job_, log_, static_cast<CoordinatorOutput&>(*this),
                                               clock_.now());
  if (stream_ != nullptr) {
    stream_->set_self(0);
    auto bound = stream_->listen(config_.url);
    if (!bound) return bound.error();
    bound_url_ = *bound;
    config_.self.url = bound_url_;
  }
  AH_TRY(coordinator_->join_self(config_.self, clock_.now()));
  coordinator_->tick(clock_.now(), 0);
  thread_ = std::thread([this] { serve(); });
  return {};
}

Status Cluster::open_member() {
  if (!config_.listen_url.empty()) {
    auto bound = listen_somewhere();
    if (!bound) return bound.error();
    config_.self.url = bound_url_ = *bound;
  }
  const double deadline = clock_.now() + std::max(kLeastDial, config_.start_timeout - config_.waited);
  std::vector<std::string> urls = {config_.url};
  urls.insert(urls.end(), config_.other_urls.begin(), config_.other_urls.end());
  for (size_t at = 0;; ++at) {
    const auto joined = join_coordinator(urls, at, deadline);
    if (joined && *joined) break;
    const bool last = config_.once && at + 1 >= urls.size();
    if (joined && (last || clock_.now() >= deadline)) {
      return Error{Code::unreachable, "other hosts, but no coordinator, at " + tried(urls)};
    }
    if (joined) {
      pause();
      continue;
    }
    const Code code = joined.error().code;
    if (code != Code::mismatch && code != Code::peer_lost) return joined.error();
    if (last || urls.size() == 1) {
      return Error{code == Code::mismatch ? Code::refused : code, joined.error().message};
    }
    log_.debug("cluster", "trying the run's next address: " + joined.error().message);
  }
  detector_.watch(coordinator(), clock_.now());
  if (outlives_) post([this] { on_outlives(); });
  thread_ = std::thread([this] { serve(); });
  return {};
}

Result<std::string> Cluster::listen_somewhere() {
  for (const std::string& url : config_.listen_first) {
    auto bound = stream_->listen(url);
    if (bound || bound.error().code != Code::io) return bound;
  }
  return stream_->listen(config_.listen_url);
}

/// Joins at one of `urls`, from index `at` on, or at the address to which a member there redirects. False: there are
/// members but no coordinator; there may be one soon.
Result<bool> Cluster::join_coordinator(const std::vector<std::string>& urls, size_t& at, double deadline) {
  AH_TRY(dial_coordinator(urls, at, deadline));
  for (int hops = 0;; ++hops) {
    const Status welcomed = await_welcome(deadline);
    if (welcomed) return true;
    stream_->close_link(join_link_, "it has not admitted this host");
    std::optional<std::string> place;
    {
      std::lock_guard lock(mutex_);
      place.swap(redirect_);
    }
    if (!place) return welcomed.error();
    size_t first = 0;
    if (place->empty() || hops == kMaxRedirects) return false;
    if (!dial_coordinator({*place}, first, std::min(deadline, clock_.now() + kRedirectSeconds))) return false;
  }
}

/// Between two tries.
void Cluster::pause() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, seconds(kRedial), [&] { return end_.has_value() || quit_; });
}

std::string Cluster::tried(const std::vector<std::string>& urls) const {
  std::string list;
  for (const std::string& url : urls) list += (list.empty() ? "" : ", ") + url;
  return list;
}

/// Dials `urls`, from index `at` on, until a host with the token answers; sets `at` to its index.
Status Cluster::dial_coordinator(const std::vector<std::string>& urls, size_t& at, double deadline) {
  auto link = dial_until(kNoProcess, urls, at, deadline);
  if (!link) {
    const Code code = link.error().code;
    if (code != Code::unreachable && code != Code::timeout) return link.error();
    return Error{Code::unreachable, "no coordinator at " + tried(urls) + " within " +
                                        whole_seconds(config_.start_timeout) +
                                        " (--start-timeout): " + link.error().message};
  }
  join_link_ = *link;
  set_url(urls[at % urls.size()]);
  // If sending fails the link is down, and `await_welcome` returns that error.
  (void)stream_->send_on(*link, make_frame(cluster_kind::join, kNoAddress, kNoAddress, 0, pack(config_.self)));
  return {};
}

/// Waits for the coordinator's reply. Code::mismatch: another run replied; Code::peer_lost: the link ended first.
Status Cluster::await_welcome(double deadline) {
  std::unique_lock lock(mutex_);
  const auto ready = [&] { return welcomed_ || rejection_ || end_.has_value() || quit_; };
  if (!changed_.wait_for(lock, seconds(deadline - clock_.now()), ready)) {
    return Error{Code::timeout, "the coordinator at " + config_.url + " has not answered within " +
                                    whole_seconds(config_.start_timeout) + " (--start-timeout)"};
  }
  if (end_) return Error{end_->code, end_->message};
  if (welcomed_) return {};
  if (!rejection_) return Error{Code::interrupted, "interrupted"};
  const Error error = *std::exchange(rejection_, std::nullopt);
  const char* what = error.code == Code::peer_lost  ? "lost"
                     : error.code == Code::bad_data ? "cannot understand"
                                                    : "refused by";
  return Error{error.code, std::string(what) + " the coordinator at " + config_.url + ": " + error.message};
}

/// Dials the urls in turn until one succeeds or `deadline` has passed. If there are several urls, a host that refuses
/// may belong to another run, so the next url is tried. Runs on the calling thread.
Result<LinkId> Cluster::dial_until(ProcessId process, const std::vector<std::string>& urls, size_t& at,
                                   double deadline) {
  {
    std::lock_guard lock(mutex_);
    diallers_[std::this_thread::get_id()] = process;
  }
  bool refused = false;
  std::map<size_t, std::string> why;  // the newest failure of each url
  const double log_at = clock_.now() + kQuiet;
  bool logged = false;
  for (;; ++at) {
    const std::string& url = urls[at % urls.size()];
    Result<LinkId> link =
        stream_->dial(with_scope_of(url, config_.url), std::clamp(deadline - clock_.now(), 0.05, 5.0));
    const bool strange = !link && link.error().code == Code::refused && urls.size() > 1;
    refused = refused || strange;
    if (!link) why[at % urls.size()] = link.error().message;
    const bool again =
        strange || (!link && (link.error().code == Code::unreachable || link.error().code == Code::timeout));
    if (again && !logged && clock_.now() >= log_at) {
      log_.info("cluster", "retrying until there is a link: " + link.error().message);
      logged = true;
    }
    const bool last = config_.once && process == kNoProcess && at + 1 >= urls.size();
    const double pause = (at + 1) % urls.size() == 0 ? kRedial : 0;
    std::unique_lock lock(mutex_);
    const auto over = [&] { return end_.has_value() || quit_; };
    if (again && !last && clock_.now() + pause < deadline && !changed_.wait_for(lock, seconds(pause), over)) continue;
    diallers_.erase(std::this_thread::get_id());
    if (link) return link;
    if (end_) return Error{end_->code, end_->message};
    if (quit_) return Error{Code::interrupted, "interrupted"};
    std::string all;
    for (const auto& [number, message] : why) all += (all.empty() ? "" : "; ") + message;
    return Error{refused ? Code::refused : link.error().code, all};
  }
}

Status Cluster::wait_for_start() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return membership_->epoch() > 0 || end_.has_value() || quit_; });
  if (membership_->epoch() > 0) return {};  // the run has begun; `end` holds the result if it is over too
  if (end_ && !end_->ok) return Error{end_->code, end_->message};
  return Error{Code::interrupted, "the run was over before it started"};
}

// ---- for nodes and the program ----

MembershipPtr Cluster::membership() const {
  std::lock_guard lock(mutex_);
  return membership_;
}

MembershipPtr Cluster::first_membership() const {
  std::lock_guard lock(mutex_);
  return first_membership_;
}

std::set<ProcessId> Cluster::suspected() const {
  std::lock_guard lock(mutex_);
  return suspected_;
}

std::vector<NodeId> Cluster::local_workers() const {
  std::vector<NodeId> ids;
  const MembershipPtr table = membership();
  for (const Member& member : table->workers()) {
    if (member.process == process_) ids.push_back(member.id);
  }
  return ids;
}

std::shared_ptr<Mailbox> Cluster::take_mailbox(Address address) {
  std::lock_guard lock(mutex_);
  const auto at = mailboxes_.find(address);
  if (at == mailboxes_.end()) return nullptr;
  auto mailbox = std::move(at->second);
  mailboxes_.erase(at);
  return mailbox;
}

std::optional<EndMessage> Cluster::end() const {
  std::lock_guard lock(mutex_);
  return end_;
}

void Cluster::report_error(Address node, const EndMessage& error) {
  post([this, node, error] {
    reports_.failed(node, error);
    to_coordinator(error_frame(node, error));
  });
}

void Cluster::report_ended(NodeId node, uint32_t actions) {
  post([this, node, actions] {
    reports_.ended(node);
    to_coordinator(make_frame(cluster_kind::node_ended, worker_address(node), kNoAddress, actions));
  });
}

void Cluster::report_server_ended(uint32_t shard, uint32_t actions) {
  post([this, shard, actions] {
    to_coordinator(make_frame(cluster_kind::node_ended, server_address(shard), kNoAddress, actions));
  });
}

void Cluster::report_participation(NodeId node, bool is_peer) {
  post([this, node, is_peer] {
    if (!reports_.participates(node, is_peer)) return;
    to_coordinator(make_frame(cluster_kind::participation, worker_address(node), kNoAddress, is_peer ? 1 : 0));
  });
}

void Cluster::report_actions(NodeId node, uint32_t entered) { reports_.entered(node, entered); }

void Cluster::cache_value(uint32_t action, const Blob& value) {
  if (outlives_coordinator()) reports_.cache_value(action, value);
}

std::string Cluster::url() const {
  std::lock_guard lock(mutex_);
  return config_.url;
}

void Cluster::set_url(const std::string& url) {
  std::lock_guard lock(mutex_);
  config_.url = url;
}

void Cluster::servers_ended() {
  post([this] { coordinator_->servers_ended(); });
}

void Cluster::stop(const EndMessage& end) {
  if (config_.place != ClusterConfig::Place::member) return post([this, end] { coordinator_->stop(end); });
  // Set at once: `open` may be dialling before there is a service thread. That thread notifies the listeners.
  if (set_end(end)) post([this] { events_.cluster_changed(); });
}

void Cluster::close() {
  {
    std::lock_guard lock(mutex_);
    if (quit_ && !thread_.joinable()) return;
    quit_ = true;
    changed_.notify_all();
  }
  inbox_.wake();
  if (thread_.joinable()) thread_.join();
  observer_links_.close();
  if (transport_) transport_->close();  // ends pending dials
  aside_.stop();
  for (auto* threads : {&dials_, &proofs_}) {
    for (auto& [process, thread] : *threads) thread.join();
    threads->clear();
  }
}

// ---- observing the run ----

Observers::Sources Cluster::observer_sources() {
  return {state_,
          [this] { return membership(); },
          [this](ProcessId process, uint32_t number, const std::vector<std::string>& sections) {
            const auto member = members_.find(process);
            if (member == members_.end()) return false;
            send_on(member->second, make_frame(cluster_kind::report_wanted, service_address(process_), kNoAddress,
                                               number, pack(ObserveMessage{sections})));
            return true;
          },
          [this](ProcessId process) { return stream_ == nullptr ? clock_.now() : stream_->last_received(process); },
          [this] { return suspected(); },
          [this](nlohmann::json& run) {
            for (const auto& [name, value] : config_.about) run[name] = value;
            run["job"] = job_.name();
            run["paused"] = coordinator_->console().paused();
            run["console"] = coordinator_->console().ready();
            run["id"] = run_id_;
            if (const auto over = end()) run["ended"] = over->ok ? "done" : over->message;
          },
          [this] { return process(); }};
}

/// The sections that the cluster itself provides.
void Cluster::add_sections() {
  state_.section("members", [this](nlohmann::json& out) { observer_links_.observers().add_members(out); });
  state_.section("links", [this](nlohmann::json& out) {
    if (stream_ == nullptr) return;
    for (const StreamTransport::LinkCounters& link : stream_->links()) {
      out["links"].push_back({{"from", process()},
                              {"to", link.process},
                              {"sent", link.bytes_sent},
                              {"received", link.bytes_received},
                              {"frames_sent", link.frames_sent},
                              {"frames_received", link.frames_received},
                              {"queued", link.queued}});
    }
  });
}

void Cluster::request_state(std::vector<std::string> sections, Observers::Callback callback) {
  post([this, sections = std::move(sections), callback = std::move(callback)] {
    observer_links_.observers().request_state(sections, callback, clock_.now());
  });
}

Status Cluster::open_control(const std::string& url, std::string token) {
  return observer_links_.listen(url, std::move(token),
                                {[this](LinkId link, Frame&& frame) {
                                   if (observer_links_.may_queue(link, frame)) {
                                     post({Event::Type::frame, link, kNoProcess, {}, std::move(frame)});
                                   }
                                 },
                                 [this](LinkId link, Frame&& frame) { on_reader_frame(link, std::move(frame)); },
                                 [this](LinkId link) {
                                   post({Event::Type::down, link, kNoProcess, "closed"});
                                 }});
}

void Cluster::report_spans(Address node, SpansMessage message) {
  post([this, node, message = std::move(message)] {
    if (coordinator_) return observer_links_.add_spans(process_, node, message);
    to_coordinator(make_frame(cluster_kind::spans, node, kNoAddress, 0, pack(message)));
  });
}

/// The coordinator requests this process's part of the run's state.
void Cluster::send_report(const Frame& request) {
  const auto wanted = read_message<ObserveMessage>(request);
  if (!wanted) return;
  const std::string text =
      state_.report(wanted->sections).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  send_on(coordinator_link_, make_frame(cluster_kind::report, service_address(process_), kNoAddress, request.tag, {},
                                        Blob::copy_of(text)));
}

// ---- events from the transport ----

void Cluster::post(Event event) {
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(std::move(event));
  }
  inbox_.wake();
}

void Cluster::post(std::function<void()> call) { post({Event::Type::call, 0, kNoProcess, {}, {}, std::move(call)}); }

/// The reader of a dialled link starts after this returns, so every frame on the link has a process, and the hello is
/// sent before all frames that wait for the link.
void Cluster::on_link_up(LinkId link, bool dialled, const std::string& peer) {
  post({Event::Type::up, link, kNoProcess, peer});
  if (!dialled) return;
  ProcessId process = kNoProcess;
  {
    std::lock_guard lock(mutex_);
    process = diallers_.at(std::this_thread::get_id());
  }
  if (process == kNoProcess) {  // possibly the coordinator: `take_welcome` assigns it
    coordinator_link_ = link;
    return;
  }
  (void)stream_->send_on(link, make_frame(Kind::link_hello, kNoAddress, kNoAddress, process_));
  assign_peer(link, process);
}

/// The service thread may cut off `process` at the same time: the second of the two removes the link.
void Cluster::assign_peer(LinkId link, ProcessId process) {
  stream_->assign(link, process);
  bool late = false;
  {
    std::lock_guard lock(mutex_);
    late = cut_off_.contains(process);
  }
  if (late) stream_->forget(process);
}

void Cluster::on_link_down(LinkId link, ProcessId, const std::string& reason) {
  if (link == coordinator_link_) on_rejected({Code::peer_lost, reason});
  post({Event::Type::down, link, kNoProcess, reason});
}

void Cluster::on_service_frame(LinkId link, Frame&& frame) {
  if (frame.kind == Kind::link_hello) return on_hello(link, frame.tag);
  if (link != 0 && link == coordinator_link_) {
    const bool is_reply = frame.kind == cluster_kind::welcome || frame.kind == cluster_kind::refuse;
    if (is_reply || frame.kind == cluster_kind::redirect) return on_join_reply(frame);
    before_service(frame);
  }
  if (process_ == kNoProcess && frame.kind == cluster_kind::join)
    return redirect(link);  // and the coordinator is unknown
  if (!observer_links_.may_queue(link, frame)) return;
  post({Event::Type::frame, link, kNoProcess, {}, std::move(frame)});
}

void Cluster::on_reader_frame(LinkId link, Frame&& frame) {
  if (!observer_links_.may_queue(link, frame)) return;
  post({Event::Type::reader_frame, link, kNoProcess, {}, std::move(frame)});
}

/// Runs before the next frame of the coordinator's link is read: frames for the workers of a table may follow the
/// table.
void Cluster::before_service(const Frame& frame) {
  if (frame.kind != cluster_kind::membership || mail_open_) return;
  if (const auto table = unpack<Membership>(frame.body.view())) prepare(*table);
}

/// The coordinator's reply to the request to join; `open` waits for it.
void Cluster::on_join_reply(const Frame& frame) {
  if (frame.kind == cluster_kind::welcome) return take_welcome(frame);
  if (frame.kind == cluster_kind::redirect) {
    auto place = unpack<RedirectMessage>(frame.meta.view());
    if (!place) return on_rejected(place.error());
    std::lock_guard lock(mutex_);
    redirect_ = std::move(place->url);
  }
  if (frame.kind == cluster_kind::redirect) return on_rejected({Code::peer_lost, "the coordinator is not there"});
  auto end = unpack<EndMessage>(frame.meta.view());
  if (!end) return on_rejected(end.error());
  on_rejected({end->code, end->message});
}

void Cluster::take_welcome(const Frame& frame) {
  auto welcome = unpack<WelcomeMessage>(frame.meta.view());
  if (!welcome) return on_rejected(welcome.error());
  ProcessId expected = kNoProcess;
  if (!process_.compare_exchange_strong(expected, welcome->process)) return;
  stream_->set_self(welcome->process);
  coordinator_process_ = welcome->coordinator;
  assign_peer(coordinator_link_, welcome->coordinator);
  if (welcome->outlives) outlives_ = true;
  config_.coordinator.rendezvous.min_hosts = welcome->min_hosts;
  config_.coordinator.rendezvous.max_hosts = welcome->max_hosts;
  std::lock_guard lock(mutex_);
  settings_ = std::move(welcome->settings);
  args_ = std::move(welcome->args);
  run_id_ = std::move(welcome->run_id);
  if (!job_.has_script()) job_.receive(welcome->job_name, std::string(frame.body.view()));
  welcomed_ = true;
  changed_.notify_all();
}

/// The process at the other end refuses to let this process join. The link is no longer the coordinator's.
void Cluster::on_rejected(const Error& error) {
  std::lock_guard lock(mutex_);
  if (welcomed_) return;
  coordinator_link_ = 0;
  rejection_ = error;
  changed_.notify_all();
}

/// Why a process that has dialled this process may not have a link; empty if it may. With the lock held.
std::string Cluster::link_refusal(ProcessId process) const {
  if (cut_off_.contains(process)) return "host " + std::to_string(process) + " has left the run, or its link broke";
  const ProcessInfo* own = membership_->process(process_);
  const ProcessInfo* peer = membership_->process(process);  // null: the peer has a newer table, and may
  const bool may = own == nullptr || peer == nullptr || dialler_of(*own, *peer) == process;
  return may ? "" : "host " + std::to_string(process) + " must not dial this host, which dials it";
}

/// Another member has dialled this process; its frames follow the hello. It may already have the table that makes the
/// two processes peers, so the link is not read further until this process's workers have their mailboxes.
void Cluster::on_hello(LinkId link, ProcessId process) {
  if (process_ == 0 || process >= kAddressMask) {
    return stream_->close_link(link, "its hello names a process that cannot be behind it");
  }
  std::string refusal;
  bool has_left = false;  // it has left the run
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return mail_open_ || end_.has_value() || quit_; });
    refusal = link_refusal(process);
    has_left = membership_->epoch() > 0 && cut_off_.contains(process) && membership_->process(process) == nullptr;
  }
  if (!refusal.empty()) {
    log_.warn("cluster", "closed a connection: " + refusal);
    const EndMessage end{Code::peer_lost, false, "the other hosts continue without it", service_address(process)};
    (void)stream_->send_on(link, make_frame(cluster_kind::refuse, kNoAddress, kNoAddress, has_left ? 1 : 0, pack(end)));
    return stream_->finish_link(link, kRefusalSeconds);
  }
  assign_peer(link, process);
  post({Event::Type::hello, link, process});
}

void Cluster::on_link_wanted(ProcessId process) { post({Event::Type::wanted, 0, process}); }

}  // namespace actorhost
