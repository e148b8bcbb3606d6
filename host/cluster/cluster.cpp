#include "host/cluster/cluster.hpp"

#include <utility>

#include <nlohmann/json.hpp>

namespace actorhost {

namespace {

using nlohmann::json;

constexpr uint64_t kOwnProgram = UINT64_MAX;  // an observer's number, which no link has
constexpr double kRefusalSeconds = 1;         // seconds for a refused process to read the reason

}  // namespace

Cluster::Cluster(ClusterConfig config, JobSource& job, const Clock& clock, Log& log, ClusterEvents& events)
    : config_(std::move(config)),
      job_(job),
      clock_(clock),
      log_(log),
      view_(config_.url),
      state_(clock),
      dialler_(view_, clock, log),
      join_(view_, dialler_, clock, log),
      service_(config_, job, clock, log, events, view_, dialler_, observer_sources()) {
  add_sections();
}

Cluster::~Cluster() { close(); }

// ---- opening ----

Status Cluster::open() {
  service_.open(static_cast<LinkEvents&>(*this));
  return config_.place == ClusterConfig::Place::member ? open_member() : service_.coordinate();
}

Status Cluster::open_member() {
  if (!config_.listen_url.empty()) {
    AH_LET(config_.self.url, listen_somewhere());
  }
  JoinPlace place{{config_.url}, config_.once, config_.start_timeout, config_.waited};
  place.urls.insert(place.urls.end(), config_.other_urls.begin(), config_.other_urls.end());
  AH_TRY(join_.run(place, config_.self, *stream()));
  service_.follow();
  return {};
}

Result<std::string> Cluster::listen_somewhere() {
  for (const std::string& url : config_.listen_first) {
    auto bound = stream()->listen(url);
    if (bound || bound.error().code != Code::io) return bound;
  }
  return stream()->listen(config_.listen_url);
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

bool Cluster::has_failed_everywhere() const {
  const auto how = end();
  // On another process, an end without a node may concern that process only.
  return how && !how->ok && (is_coordinator() || is_worker(how->origin) || is_server(how->origin));
}

void Cluster::report_error(Address node, const EndMessage& error) {
  service_.post([this, node, error] {
    service_.member().reports().failed(node, error);
    service_.to_coordinator(error_frame(node, error));
  });
}

void Cluster::report_ended(NodeId node, uint32_t actions) {
  service_.post([this, node, actions] {
    service_.member().reports().ended(node);
    service_.to_coordinator(make_frame(cluster_kind::node_ended, worker_address(node), kNoAddress, actions));
  });
}

void Cluster::report_server_ended(uint32_t shard, uint32_t actions) {
  service_.post([this, shard, actions] {
    service_.to_coordinator(make_frame(cluster_kind::node_ended, server_address(shard), kNoAddress, actions));
  });
}

void Cluster::report_participation(NodeId node, bool is_peer) {
  service_.post([this, node, is_peer] {
    if (!service_.member().reports().participates(node, is_peer)) return;
    service_.to_coordinator(make_frame(cluster_kind::participation, worker_address(node), kNoAddress, is_peer ? 1 : 0));
  });
}

void Cluster::report_actions(NodeId node, uint32_t entered) { service_.member().reports().entered(node, entered); }

void Cluster::cache_value(uint32_t action, const Blob& value) {
  if (outlives_coordinator()) service_.member().reports().cache_value(action, value);
}

void Cluster::servers_ended() {
  service_.post([this] { service_.coordinator()->servers_ended(); });
}

void Cluster::stop(const EndMessage& end) {
  if (config_.place != ClusterConfig::Place::member)
    return service_.post([this, end] { service_.coordinator()->stop(end); });
  // Set at once: `open` may be dialling before there is a service thread. That thread notifies the listeners.
  if (view_.set_end(end)) service_.post([this] { service_.changed(); });
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
  service_.post([this, process, what] {
    service_.coordinator() ? service_.coordinator()->distrust(process, what)
                           : service_.member().distrust(process, what);
  });
  return true;
}

void Cluster::outlive_coordinator() {
  if (view_.set_outlives()) return;
  service_.post([this] {
    service_.to_coordinator(make_frame(cluster_kind::outlive, service_address(process()), kNoAddress, 0));
    service_.member().on_outlives();
  });
}

double Cluster::leased_until() const noexcept {
  return outlives_coordinator() && stream() != nullptr ? service_.member().lease().until() : kForever;
}

// ---- observing the run ----

Observers::Sources Cluster::observer_sources() {
  return {state_,
          [this] { return membership(); },
          [this](ProcessId process, uint32_t number, const std::vector<std::string>& sections) {
            return service_.request_report(process, number, sections);
          },
          [this](ProcessId process) { return stream() == nullptr ? clock_.now() : stream()->last_received(process); },
          [this] { return suspected(); },
          [this](nlohmann::json& run) {
            for (const auto& [name, value] : config_.about) run[name] = value;
            run["job"] = job_.name();
            run["paused"] = service_.coordinator()->console().paused();
            run["console"] = service_.coordinator()->console().ready();
            run["id"] = run_id();
            if (const auto over = end()) run["ended"] = over->ok ? "done" : over->message;
          },
          [this] { return process(); }};
}

/// The sections that the cluster itself provides.
void Cluster::add_sections() {
  state_.section("members", [this](nlohmann::json& out) { service_.observer_links().observers().add_members(out); });
  state_.section("links", [this](nlohmann::json& out) {
    if (stream() == nullptr) return;
    for (const StreamTransport::LinkCounters& link : stream()->links()) {
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
  service_.post([this, sections = std::move(sections), callback = std::move(callback)] {
    service_.observer_links().observers().request_state(sections, callback, clock_.now());
  });
}

void Cluster::command(json command, ConsoleHub::Callback reply, ConsoleHub::Callback news) {
  service_.post([this, command = std::move(command), reply = std::move(reply), news = std::move(news)] {
    Coordinator* const coordinator = service_.coordinator();
    if (coordinator == nullptr) {
      return reply({{"ok", false},
                    {"code", code_name(Code::refused)},
                    {"message", "only the program that hosts the run's coordinator can run chunks on its nodes"}});
    }
    coordinator->console().command(kOwnProgram, "the program of this host", command, reply, news);
  });
}

Status Cluster::open_control(const std::string& url, std::string token) {
  return service_.observer_links().listen(
      url, std::move(token),
      {[this](LinkId link, Frame&& frame) {
         service_.post({Event::Type::frame, link, kNoProcess, {}, std::move(frame)});
       },
       [this](LinkId link, Frame&& frame) { on_reader_frame(link, std::move(frame)); },
       [this](LinkId link) {
         service_.post({Event::Type::down, link, kNoProcess, "closed"});
       }});
}

void Cluster::report_spans(Address node, SpansMessage message) {
  service_.post([this, node, message = std::move(message)] {
    if (service_.coordinator()) return service_.observer_links().add_spans(process(), node, message);
    service_.to_coordinator(make_frame(cluster_kind::spans, node, kNoAddress, 0, pack(message)));
  });
}

// ---- events from the transport ----

/// The reader of a dialled link starts after this returns, so every frame on the link has a process, and the hello is
/// sent before all frames that wait for the link.
void Cluster::on_link_up(LinkId link, std::optional<ProcessId> dialled, const std::string& peer) {
  service_.post({Event::Type::up, link, kNoProcess, peer});
  if (!dialled) return;
  if (*dialled == kNoProcess) return join_.set_link(link);  // possibly the coordinator: `take_welcome` assigns it
  (void)stream()->send_on(link, make_frame(Kind::link_hello, kNoAddress, kNoAddress, view_.process()));
  assign_peer(link, *dialled);
}

/// The service thread may cut off `process` at the same time: the second of the two removes the link.
void Cluster::assign_peer(LinkId link, ProcessId process) {
  stream()->assign(link, process);
  if (view_.is_cut_off(process)) stream()->forget(process);
}

void Cluster::on_link_down(LinkId link, ProcessId, const std::string& reason) {
  if (link == join_.link()) join_.reject({Code::peer_lost, reason});
  service_.post({Event::Type::down, link, kNoProcess, reason});
}

void Cluster::on_service_frame(LinkId link, Frame&& frame) {
  if (frame.kind == Kind::link_hello) return on_hello(link, frame.tag);
  if (link != 0 && link == join_.link()) {
    if (frame.kind == cluster_kind::welcome) return take_welcome(link, frame);
    if (frame.kind == cluster_kind::redirect) return join_.on_redirect(frame);
    if (frame.kind == cluster_kind::refuse) return join_.on_refusal(frame);
  }
  if (link != 0 && link == service_.member().coordinator_link()) before_service(frame);
  if (process() == kNoProcess && frame.kind == cluster_kind::join)
    return service_.redirect(link);  // and the coordinator is unknown
  service_.post({Event::Type::frame, link, kNoProcess, {}, std::move(frame)});
}

void Cluster::on_reader_frame(LinkId link, Frame&& frame) {
  service_.post({Event::Type::reader_frame, link, kNoProcess, {}, std::move(frame)});
}

/// Runs before the next frame of the coordinator's link is read: frames for the workers of a table may follow the
/// table.
void Cluster::before_service(const Frame& frame) {
  if (frame.kind != cluster_kind::membership || view_.mail_open()) return;
  if (const auto table = unpack<Membership>(frame.body.view())) service_.prepare(*table);
}

void Cluster::take_welcome(LinkId link, const Frame& frame) {
  auto welcome = unpack<WelcomeMessage>(frame.meta.view());
  if (!welcome) return join_.reject(welcome.error());
  if (!view_.set_process(welcome->process)) return;
  stream()->set_self(welcome->process);
  view_.set_coordinator(welcome->coordinator);
  service_.member().set_coordinator_link(link);
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
    return stream()->close_link(link, "its hello names a process that cannot be behind it");
  }
  const RunView::LinkRefusal refusal = view_.refuse_link(process);
  if (!refusal.why.empty()) {
    log_.warn("cluster", "closed a connection: " + refusal.why);
    const EndMessage end{Code::peer_lost, false, "the other hosts continue without it", service_address(process)};
    (void)stream()->send_on(
        link, make_frame(cluster_kind::refuse, kNoAddress, kNoAddress, refusal.has_left ? 1 : 0, pack(end)));
    return stream()->finish_link(link, kRefusalSeconds);
  }
  assign_peer(link, process);
  service_.post({Event::Type::hello, link, process});
}

void Cluster::on_link_wanted(ProcessId process) { service_.post({Event::Type::wanted, 0, process}); }

}  // namespace actorhost
