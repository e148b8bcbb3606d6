#include "host/cluster/cluster.hpp"

#include <algorithm>

#include "host/wire/packer.hpp"

namespace actorhost {

namespace {

constexpr double kTick = 0.25;
constexpr double kRedial = 0.1;  // seconds between tries to reach the rendezvous host

}  // namespace

Cluster::Cluster(ClusterConfig config, JobSource& job, const Clock& clock, Log& log, ClusterEvents& events)
    : config_(std::move(config)), job_(job), clock_(clock), log_(log), events_(events) {}

Cluster::~Cluster() { close(); }

Status Cluster::open() {
  last_tick_ = clock_.now();
  if (config_.place == ClusterConfig::Place::alone) {
    transport_ = std::make_unique<LocalTransport>();
  } else {
    auto stream = std::make_unique<StreamTransport>(config_.stream, log_, static_cast<LinkEvents&>(*this));
    stream_ = stream.get();
    transport_ = std::move(stream);
  }
  return config_.place == ClusterConfig::Place::member ? open_member() : open_head();
}

Status Cluster::open_head() {
  process_ = 0;
  settings_ = config_.head.settings;
  args_ = config_.head.args;
  run_id_ = config_.head.run_id;
  welcomed_ = true;
  head_ = std::make_unique<Head>(config_.head, job_, log_, static_cast<HeadOutput&>(*this), clock_.now());
  if (stream_ != nullptr) {
    auto bound = stream_->listen(config_.url);
    if (!bound) return bound.error();
    bound_url_ = *bound;
    config_.self.url = bound_url_;
  }
  AH_TRY(transport_->attach(service_address(0), inbox_));
  AH_TRY(head_->join_self(config_.self, clock_.now()));
  head_->tick(clock_.now(), 0);
  thread_ = std::thread([this] { serve(); });
  return {};
}

Status Cluster::open_member() {
  if (!config_.listen_url.empty()) {
    auto bound = stream_->listen(config_.listen_url);
    if (!bound) return bound.error();
    config_.self.url = *bound;
  }
  const double deadline = clock_.now() + config_.start_timeout;
  AH_TRY(dial_head(deadline));
  thread_ = std::thread([this] { serve(); });
  std::unique_lock lock(mutex_);
  const auto ready = [&] { return welcomed_ || end_.has_value(); };
  const double left = std::max(0.0, deadline - clock_.now());
  if (!changed_.wait_for(lock, std::chrono::duration<double>(left), ready)) {
    return Error{Code::timeout, "the rendezvous host at " + config_.url + " has not answered within " +
                                    std::to_string(static_cast<long>(config_.start_timeout)) + " s"};
  }
  if (end_) return Error{end_->code, end_->message};
  return {};
}

Status Cluster::dial_head(double deadline) {
  for (;;) {
    const double left = deadline - clock_.now();
    auto link = stream_->dial(config_.url, std::min(std::max(left, 0.05), 5.0));
    if (link) {
      head_link_ = *link;
      stream_->assign(*link, 0);
      stream_->set_route(service_address(0), 0);
      return stream_->send_on(*link, make_frame(cluster_kind::join, kNoAddress, kNoAddress, 0, config_.self.encode()));
    }
    if (link.error().code == Code::refused) return link.error();
    if (clock_.now() + kRedial >= deadline) {
      return Error{Code::unreachable, "no rendezvous host at " + config_.url + " within " +
                                          std::to_string(static_cast<long>(config_.start_timeout)) +
                                          " s (--start-timeout): " + link.error().message};
    }
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::duration<double>(kRedial), [&] { return end_.has_value() || quit_; });
    if (end_) return Error{end_->code, end_->message};
    if (quit_) return Error{Code::interrupted, "interrupted"};
  }
}

Status Cluster::wait_for_start() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return membership_->epoch() > 0 || end_.has_value(); });
  if (end_ && !end_->ok) return Error{end_->code, end_->message};
  return {};
}

MembershipPtr Cluster::membership() const {
  std::lock_guard lock(mutex_);
  return membership_;
}

std::vector<NodeId> Cluster::local_workers() const {
  std::vector<NodeId> ids;
  for (const Member& member : membership()->workers()) {
    if (member.process == process_) ids.push_back(member.id);
  }
  return ids;
}

std::optional<EndMessage> Cluster::end() const {
  std::lock_guard lock(mutex_);
  return end_;
}

void Cluster::report_error(Address node, const EndMessage& error) {
  Event event{Event::What::frame,
              head_link_,
              0,
              {},
              make_frame(cluster_kind::node_error, node, service_address(0), 0, error.encode()),
              {}};
  post(std::move(event));
}

void Cluster::report_ended(NodeId node, uint32_t actions) {
  post({Event::What::frame,
        head_link_,
        0,
        {},
        make_frame(cluster_kind::node_ended, worker_address(node), service_address(0), actions)});
}

void Cluster::stop(const EndMessage& end) {
  if (config_.place == ClusterConfig::Place::member) return finish(end);
  post({Event::What::call, 0, 0, {}, {}, [this, end] { head_->stop(end); }});
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
  if (transport_) transport_->close();  // ends dials that are under way
  for (std::thread& dialer : dialers_) dialer.join();
  dialers_.clear();
}

// ---- events from the transport ----

void Cluster::post(Event event) {
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(std::move(event));
  }
  inbox_.wake();
}

void Cluster::on_link_up(LinkId link, bool, const std::string& peer) {
  post({Event::What::up, link, kNoProcess, peer});
}

void Cluster::on_link_down(LinkId link, ProcessId process, const std::string& reason) {
  post({Event::What::down, link, process, reason});
}

void Cluster::on_service_frame(LinkId link, Frame&& frame) {
  post({Event::What::frame, link, kNoProcess, {}, std::move(frame)});
}

void Cluster::on_link_wanted(ProcessId process) { post({Event::What::wanted, 0, process, {}}); }

// ---- the service thread ----

void Cluster::serve() {
  std::vector<Frame> frames;
  for (;;) {
    const double wait = stream_ != nullptr ? std::max(0.0, last_tick_ + kTick - clock_.now()) : kForever;
    frames.clear();
    inbox_.pop_all(frames, outbox_.empty() ? wait : std::min(wait, 0.01));
    std::deque<Event> events;
    bool quit = false;
    {
      std::lock_guard lock(mutex_);
      events.swap(queue_);
      quit = quit_;
    }
    for (Event& event : events) handle(event);
    for (Frame& frame : frames) handle_frame(0, std::move(frame));
    flush_outbox();
    if (quit) break;
    if (stream_ != nullptr && clock_.now() >= last_tick_ + kTick) tick();
  }
  if (stream_ == nullptr) return;
  for (const auto& [process, link] : links_) stream_->finish_link(link, 1);
  if (head_link_ != 0) stream_->finish_link(head_link_, 1);
}

void Cluster::handle(Event& event) {
  switch (event.what) {
    case Event::What::frame: return handle_frame(event.link, std::move(event.frame));
    case Event::What::up: peers_[event.link] = event.text; return;
    case Event::What::call: return event.call();
    case Event::What::wanted: return connect_to(event.process);
    case Event::What::down: break;
  }
  peers_.erase(event.link);
  if (head_) return head_->on_link_down(event.link, event.text);
  if (event.process == kNoProcess) return;
  if (event.link == head_link_) {
    const std::string who = "server 0 and the rendezvous host at " + config_.url;
    return finish({Code::peer_lost, false,
                   "lost " + who + ": " + event.text + " (a run with checkpoints goes on with --resume)"});
  }
  links_.erase(event.process);
  if (membership()->process(event.process) != nullptr) {
    send(make_frame(cluster_kind::link_broken, service_address(process_), service_address(0), event.process));
  }
}

void Cluster::handle_frame(LinkId link, Frame&& frame) {
  if (head_) {
    if (frame.kind == Kind::link_hello) return;
    return head_->on_frame(link, std::move(frame), clock_.now());
  }
  member_frame(link, std::move(frame));
}

void Cluster::member_frame(LinkId link, Frame&& frame) {
  if (frame.kind == cluster_kind::node_error || frame.kind == cluster_kind::node_ended) {
    return send(std::move(frame));  // our own report, on its way to the head
  }
  if (frame.kind == Kind::link_hello) {
    const ProcessId process = frame.tag;
    if (membership()->process(process) == nullptr)
      return stream_->close_link(link, "it names a process that is not of this run");
    links_[process] = link;
    return stream_->assign(link, process);
  }
  if (link != head_link_) return;  // only the head may tell us what follows
  if (frame.kind == cluster_kind::welcome) return on_welcome(frame);
  if (frame.kind == cluster_kind::membership) {
    auto table = Membership::decode(frame.body.view());
    if (!table) return finish({Code::bad_data, false, table.error().message});
    return adopt(std::make_shared<const Membership>(std::move(*table)));
  }
  if (frame.kind == cluster_kind::want_link) return connect_to(address_index(frame.src));
  if (frame.kind == cluster_kind::stop || frame.kind == cluster_kind::refuse) {
    auto end = EndMessage::decode(frame.meta.view());
    if (!end) return finish({Code::bad_data, false, end.error().message});
    if (frame.kind == cluster_kind::refuse)
      end->message = "refused by the rendezvous host at " + config_.url + ": " + end->message;
    finish(*end);
  }
}

void Cluster::on_welcome(const Frame& frame) {
  auto welcome = WelcomeMessage::decode(frame.meta.view());
  if (!welcome) return finish({Code::bad_data, false, welcome.error().message});
  process_ = welcome->process;
  settings_ = std::move(welcome->settings);
  args_ = std::move(welcome->args);
  run_id_ = std::move(welcome->run_id);
  if (!job_.has_script()) job_.receive(welcome->job_name, std::string(frame.body.view()));
  std::lock_guard lock(mutex_);
  welcomed_ = true;
  changed_.notify_all();
}

void Cluster::adopt(MembershipPtr table) {
  if (stream_ != nullptr) {
    const MembershipPtr before = membership();
    for (const Member& member : table->workers()) {
      if (member.process != process_) stream_->set_route(worker_address(member.id), member.process);
    }
    if (process_ != 0) {
      for (uint32_t shard = 0; shard < 64; ++shard) stream_->set_route(server_address(shard), 0);
    }
    for (const Member& member : before->workers()) {
      if (!table->alive(member.id)) stream_->set_route(worker_address(member.id), kNoProcess);
    }
    for (const ProcessInfo& info : before->processes()) {
      if (info.process != process_ && table->process(info.process) == nullptr) stream_->forget(info.process);
    }
  }
  {
    std::lock_guard lock(mutex_);
    membership_ = std::move(table);
    changed_.notify_all();
  }
  events_.cluster_changed();
}

void Cluster::finish(const EndMessage& end) {
  {
    std::lock_guard lock(mutex_);
    if (end_) return;
    end_ = end;
    changed_.notify_all();
  }
  events_.cluster_changed();
}

void Cluster::tick() {
  const double now = clock_.now();
  const double late = std::max(0.0, now - last_tick_ - 2 * kTick);
  last_tick_ = now;
  if (head_) {
    for (const auto& [process, link] : links_) {
      if (const double heard = stream_->heard_from(process); heard > 0) head_->heard(process, heard);
      (void)stream_->send_on(link, make_frame(Kind::heartbeat, kNoAddress, kNoAddress, 0));
    }
    return head_->tick(now, late);
  }
  if (head_link_ == 0) return;
  (void)stream_->send_on(head_link_, make_frame(Kind::heartbeat, kNoAddress, kNoAddress, 0));
  const double heard = stream_->heard_from(0);
  if (heard > 0 && now - heard - late > config_.head.times.dead) {
    finish({Code::peer_lost, false,
            "lost server 0 and the rendezvous host at " + config_.url +
                ": no sign of life for 2.5 s (a run with checkpoints goes on with --resume)"});
  }
}

void Cluster::flush_outbox() {
  while (!outbox_.empty()) {
    auto& [link, frame] = outbox_.front();
    const Status sent = link != 0 ? stream_->send_on(link, std::move(frame)) : transport_->try_send(std::move(frame));
    if (!sent && sent.error().code == Code::full) return;
    outbox_.pop_front();
  }
}

/// To another process of the run: the one with the higher number dials, so that two never dial each other.
void Cluster::connect_to(ProcessId process) {
  const MembershipPtr table = membership();
  const ProcessInfo* info = table->process(process);
  if (info == nullptr || links_.contains(process)) return;
  if (process > process_ || info->url.empty()) {
    return send(make_frame(cluster_kind::want_link, service_address(process_), service_address(0), process));
  }
  dialers_.emplace_back([this, process, url = info->url] {
    auto link = stream_->dial(url, 5);
    post({Event::What::call, 0, 0, {}, {}, [this, process, link] {
            if (!link) {
              log_.warn("cluster", "cannot connect to host " + std::to_string(process) + ": " + link.error().message);
              return send(
                  make_frame(cluster_kind::link_broken, service_address(process_), service_address(0), process));
            }
            links_[process] = *link;
            stream_->assign(*link, process);
            (void)stream_->send_on(*link, make_frame(Kind::link_hello, kNoAddress, kNoAddress, process_));
          }});
  });
}

// ---- what the Head asks for ----

void Cluster::send(Frame&& frame) {
  if (!is_service(frame.dst)) {
    outbox_.emplace_back(0, std::move(frame));
    return flush_outbox();
  }
  const ProcessId process = address_index(frame.dst);
  if (process == process_ || stream_ == nullptr) return;
  if (process == 0) return send_on(head_link_, std::move(frame));
  if (const auto link = links_.find(process); link != links_.end()) send_on(link->second, std::move(frame));
}

void Cluster::send_on(LinkId link, Frame&& frame) {
  if (stream_ == nullptr) return;
  frame.dst = kNoAddress;  // for the service of whoever is at the other end
  outbox_.emplace_back(link, std::move(frame));
  flush_outbox();
}

void Cluster::assign(LinkId link, ProcessId process) {
  links_[process] = link;
  stream_->assign(link, process);
}

void Cluster::finish_link(LinkId link) { stream_->finish_link(link, 1); }

void Cluster::drop(ProcessId process) {
  links_.erase(process);
  if (stream_ != nullptr) stream_->forget(process);
}

std::string Cluster::peer_of(LinkId link) const {
  const auto peer = peers_.find(link);
  return peer == peers_.end() ? std::string() : peer->second;
}

void Cluster::publish(MembershipPtr table) { adopt(std::move(table)); }

Status Cluster::start_servers(uint32_t action) { return events_.start_servers(action); }

void Cluster::ended(const EndMessage& end) { finish(end); }

}  // namespace actorhost
