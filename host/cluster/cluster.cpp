#include "host/cluster/cluster.hpp"

#include <utility>

#include <nlohmann/json.hpp>

namespace actorhost {

namespace {

constexpr double kTick = 0.25;         // seconds between ticks of the service thread
constexpr double kRefusalSeconds = 1;  // seconds for a refused process to read the reason

}  // namespace

Cluster::Cluster(ClusterConfig config, JobSource& job, const Clock& clock, Log& log, ClusterEvents& events)
    : config_(std::move(config)),
      job_(job),
      clock_(clock),
      log_(log),
      events_(events),
      chunks_([this](Frame&& frame) {
        frame.src = service_address(process());
        post([this, sent = std::make_shared<Frame>(std::move(frame))] { to_coordinator(std::move(*sent)); });
      }),
      view_(config_.url),
      state_(clock),
      dialler_(view_, clock, log),
      join_(view_, dialler_, clock, log),
      member_(*this, *this, peers_, view_, config_.self, config_.coordinator.times, clock, log),
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
    dialler_.use(stream_);
    transport_ = std::move(stream);
  }
  return config_.place == ClusterConfig::Place::member ? open_member() : open_coordinator();
}

Status Cluster::open_coordinator() {
  (void)view_.set_process(0);
  if (stream_ == nullptr) {  // no other process can join, and no service thread ticks
    config_.coordinator.rendezvous.min_hosts = config_.coordinator.rendezvous.max_hosts = 1;
    AH_TRY(transport_->attach(service_address(0), inbox_));
  }
  coordinator_ = std::make_unique<Coordinator>(config_.coordinator, job_, log_, static_cast<CoordinatorOutput&>(*this),
                                               clock_.now());
  if (stream_ != nullptr) {
    stream_->set_self(0);
    AH_LET(config_.self.url, stream_->listen(config_.url));
  }
  AH_TRY(coordinator_->join_self(config_.self, clock_.now()));
  coordinator_->tick(clock_.now(), 0);
  thread_ = std::thread([this] { serve(); });
  return {};
}

Status Cluster::open_member() {
  if (!config_.listen_url.empty()) {
    AH_LET(config_.self.url, listen_somewhere());
  }
  JoinPlace place{{config_.url}, config_.once, config_.start_timeout, config_.waited};
  place.urls.insert(place.urls.end(), config_.other_urls.begin(), config_.other_urls.end());
  AH_TRY(join_.run(place, config_.self, *stream_));
  member_.watch(coordinator());
  if (outlives_coordinator()) post([this] { member_.on_outlives(); });
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

// ---- for nodes and the program ----

std::vector<NodeId> Cluster::local_workers() const {
  std::vector<NodeId> ids;
  const MembershipPtr table = membership();
  for (const Member& member : table->workers()) {
    if (member.process == process()) ids.push_back(member.id);
  }
  return ids;
}

void Cluster::report_error(Address node, const EndMessage& error) {
  post([this, node, error] {
    member_.reports().failed(node, error);
    to_coordinator(error_frame(node, error));
  });
}

void Cluster::report_ended(NodeId node, uint32_t actions) {
  post([this, node, actions] {
    member_.reports().ended(node);
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
    if (!member_.reports().participates(node, is_peer)) return;
    to_coordinator(make_frame(cluster_kind::participation, worker_address(node), kNoAddress, is_peer ? 1 : 0));
  });
}

void Cluster::report_actions(NodeId node, uint32_t entered) { member_.reports().entered(node, entered); }

void Cluster::cache_value(uint32_t action, const Blob& value) {
  if (outlives_coordinator()) member_.reports().cache_value(action, value);
}

void Cluster::servers_ended() {
  post([this] { coordinator_->servers_ended(); });
}

void Cluster::stop(const EndMessage& end) {
  if (config_.place != ClusterConfig::Place::member) return post([this, end] { coordinator_->stop(end); });
  // Set at once: `open` may be dialling before there is a service thread. That thread notifies the listeners.
  if (view_.set_end(end)) post([this] { events_.cluster_changed(); });
}

void Cluster::close() {
  if (view_.set_quit() && !thread_.joinable()) return;
  inbox_.wake();
  if (thread_.joinable()) thread_.join();
  observer_links_.close();
  if (transport_) transport_->close();  // ends pending dials
  aside_.stop();
  for (auto& [purpose, thread] : helpers_) thread.join();
  helpers_.clear();
}

// ---- observing the run ----

Observers::Sources Cluster::observer_sources() {
  return {state_,
          [this] { return membership(); },
          [this](ProcessId process, uint32_t number, const std::vector<std::string>& sections) {
            const auto member = member_links_.find(process);
            if (member == member_links_.end()) return false;
            send_on(member->second, make_frame(cluster_kind::report_wanted, service_address(view_.process()),
                                               kNoAddress, number, pack(ObserveMessage{sections})));
            return true;
          },
          [this](ProcessId process) { return stream_ == nullptr ? clock_.now() : stream_->last_received(process); },
          [this] { return suspected(); },
          [this](nlohmann::json& run) {
            for (const auto& [name, value] : config_.about) run[name] = value;
            run["job"] = job_.name();
            run["paused"] = coordinator_->console().paused();
            run["console"] = coordinator_->console().ready();
            run["id"] = run_id();
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
    if (coordinator_) return observer_links_.add_spans(process(), node, message);
    to_coordinator(make_frame(cluster_kind::spans, node, kNoAddress, 0, pack(message)));
  });
}

/// The coordinator requests this process's part of the run's state.
void Cluster::send_report(const Frame& request) {
  const auto wanted = read_message<ObserveMessage>(request);
  if (!wanted) return;
  const std::string text =
      state_.report(wanted->sections).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  to_coordinator(
      make_frame(cluster_kind::report, service_address(process()), kNoAddress, request.tag, {}, Blob::copy_of(text)));
}

// ---- events from the transport ----

void Cluster::post(Event event) {
  {
    std::lock_guard lock(queue_mutex_);
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
  const ProcessId process = dialler_.dialled_process();
  if (process == kNoProcess) return join_.set_link(link);  // possibly the coordinator: `take_welcome` assigns it
  (void)stream_->send_on(link, make_frame(Kind::link_hello, kNoAddress, kNoAddress, view_.process()));
  assign_peer(link, process);
}

/// The service thread may cut off `process` at the same time: the second of the two removes the link.
void Cluster::assign_peer(LinkId link, ProcessId process) {
  stream_->assign(link, process);
  if (view_.is_cut_off(process)) stream_->forget(process);
}

void Cluster::on_link_down(LinkId link, ProcessId, const std::string& reason) {
  if (link == join_.link()) join_.reject({Code::peer_lost, reason});
  post({Event::Type::down, link, kNoProcess, reason});
}

void Cluster::on_service_frame(LinkId link, Frame&& frame) {
  if (frame.kind == Kind::link_hello) return on_hello(link, frame.tag);
  if (link != 0 && link == join_.link()) {
    if (frame.kind == cluster_kind::welcome) return take_welcome(link, frame);
    if (frame.kind == cluster_kind::redirect) return join_.on_redirect(frame);
    if (frame.kind == cluster_kind::refuse) return join_.on_refusal(frame);
  }
  if (link != 0 && link == member_.coordinator_link()) before_service(frame);
  if (process() == kNoProcess && frame.kind == cluster_kind::join)
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
  if (frame.kind != cluster_kind::membership || view_.mail_open()) return;
  if (const auto table = unpack<Membership>(frame.body.view())) prepare(*table);
}

void Cluster::take_welcome(LinkId link, const Frame& frame) {
  auto welcome = unpack<WelcomeMessage>(frame.meta.view());
  if (!welcome) return join_.reject(welcome.error());
  if (!view_.set_process(welcome->process)) return;
  stream_->set_self(welcome->process);
  view_.set_coordinator(welcome->coordinator);
  member_.set_coordinator_link(link);
  assign_peer(link, welcome->coordinator);
  if (welcome->outlives) (void)view_.set_outlives();
  CoordinatorConfig& terms = config_.coordinator;
  terms.rendezvous.min_hosts = welcome->min_hosts;
  terms.rendezvous.max_hosts = welcome->max_hosts;
  terms.settings = std::move(welcome->settings);
  terms.args = std::move(welcome->args);
  terms.run_id = std::move(welcome->run_id);
  if (!job_.has_script()) job_.receive(welcome->job_name, std::string(frame.body.view()));
  join_.admit();
}

/// Another member has dialled this process; its frames follow the hello. It may already have the table that makes the
/// two processes peers, so the link is not read further until this process's workers have their mailboxes.
void Cluster::on_hello(LinkId link, ProcessId process) {
  if (view_.process() == 0 || process >= kAddressMask) {
    return stream_->close_link(link, "its hello names a process that cannot be behind it");
  }
  const RunView::LinkRefusal refusal = view_.refuse_link(process);
  if (!refusal.why.empty()) {
    log_.warn("cluster", "closed a connection: " + refusal.why);
    const EndMessage end{Code::peer_lost, false, "the other hosts continue without it", service_address(process)};
    (void)stream_->send_on(
        link, make_frame(cluster_kind::refuse, kNoAddress, kNoAddress, refusal.has_left ? 1 : 0, pack(end)));
    return stream_->finish_link(link, kRefusalSeconds);
  }
  assign_peer(link, process);
  post({Event::Type::hello, link, process});
}

void Cluster::on_link_wanted(ProcessId process) { post({Event::Type::wanted, 0, process}); }

}  // namespace actorhost
