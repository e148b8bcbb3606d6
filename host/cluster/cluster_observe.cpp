// Cluster's part for observers: takes their requests, requests reports from processes, and sends the replies.

#include <utility>

#include <nlohmann/json.hpp>

#include "host/base/outside_json.hpp"
#include "host/base/printable.hpp"
#include "host/cluster/cluster.hpp"

namespace actorhost {

namespace {

using nlohmann::json;

constexpr size_t kMaxCommand = size_t{8} << 20;  // bytes: a chunk of 1 MiB is shorter in any JSON
constexpr int kMaxPendingObserves = 8;           // pending requests of an observer for the state
constexpr size_t kMaxQueuedRequests = 4096;      // requests of an observer in the queue
constexpr size_t kMaxQueuedBytes = size_t{16} << 20;
constexpr size_t kMostUnread = size_t{32} << 20;  // bytes queued for an observer

bool is_observer_request(Kind kind) noexcept { return kind == cluster_kind::observe || kind == cluster_kind::control; }

}  // namespace

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
          [this](json& run) {
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
  state_.section("members", [this](json& out) { observers_.add_members(out); });
  state_.section("links", [this](json& out) {
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
    observers_.request_state(sections, callback, clock_.now());
  });
}

Status Cluster::open_control(const std::string& url, std::string token) {
  StreamOptions options;
  options.token = std::move(token);
  control_ = std::make_unique<ControlEntry>(
      std::move(options), log_,
      ControlEntry::Events{[this](LinkId link, Frame&& frame) {
                             if (may_queue_request(link, frame)) {
                               post({Event::Type::frame, link, kNoProcess, {}, std::move(frame)});
                             }
                           },
                           [this](LinkId link, Frame&& frame) { on_reader_frame(link, std::move(frame)); },
                           [this](LinkId link) {
                             post({Event::Type::down, link, kNoProcess, "closed"});
                           }});
  return control_->listen(url);
}

/// Whether the frame is from an observer, or a process's report for observers.
bool Cluster::take_observer_frame(LinkId link, const Frame& frame) {
  if (frame.kind == cluster_kind::report) {
    for (const auto& [process, of_member] : members_) {
      if (of_member == link) observers_.on_report(process, frame.tag, frame.body.view(), clock_.now());
    }
    return true;
  }
  if (frame.kind == cluster_kind::spans) {
    const auto message = read_message<SpansMessage>(frame);
    for (const auto& [process, of_member] : members_) {
      if (of_member == link && message) take_spans(process, frame.src, *message);
    }
    return true;
  }
  if (frame.kind == cluster_kind::observe) {
    on_observe(link, frame);
    return true;
  }
  if (frame.kind != cluster_kind::control) return ControlEntry::is_one(link);
  if (watchers_[link].disconnected) return true;
  const auto reply = [this, link, tag = frame.tag](const json& result) {
    send_to_observer(link, cluster_kind::control_reply, tag, json_text(result));
  };
  if (frame.body.size() > kMaxCommand) {
    reply({{"ok", false}, {"message", "a command has at most 8 MiB"}, {"code", code_name(Code::full)}});
    return true;
  }
  const json command = parse_outside_json(frame.body.view());
  coordinator_->console().command(
      link, "an observer", command.is_object() ? command : json::object(), reply,
      [this, link](const json& news) { send_to_observer(link, cluster_kind::pushed, 0, json_text(news)); });
  return true;
}

/// Whether an observer's request may enter the service thread's queue. Disconnects an observer whose requests arrive
/// far faster than replies leave. On the link's thread.
bool Cluster::may_queue_request(LinkId link, const Frame& frame) {
  if (!is_observer_request(frame.kind)) return true;
  {
    std::lock_guard lock(mutex_);
    QueuedRequests& queued = queued_requests_[link];
    if (queued.frames < kMaxQueuedRequests && queued.bytes <= kMaxQueuedBytes) {
      ++queued.frames;
      queued.bytes += frame.cost();
      return true;
    }
    if (std::exchange(queued.disconnected, true)) return false;
  }
  end_observer(link, "it has too many pending requests");
  return false;
}

/// An observer's frame has left the queue.
void Cluster::on_request_dequeued(LinkId link, const Frame& frame) {
  if (!is_observer_request(frame.kind)) return;
  std::lock_guard lock(mutex_);
  const auto queued = queued_requests_.find(link);
  if (queued == queued_requests_.end()) return;
  --queued->second.frames;
  queued->second.bytes -= frame.cost();
  if (queued->second.frames == 0) queued_requests_.erase(queued);
}

/// A frame from an observer with only the reading token. The observer may request the state. Commands are refused by
/// name, and a frame that no observer sends ends the link.
void Cluster::take_reader_frame(LinkId link, const Frame& frame) {
  if (!is_observer_request(frame.kind))
    return end_observer(link, "a connection with only the reading token may only read");
  if (!coordinator_) return send_redirect(link);
  if (frame.kind == cluster_kind::observe) return on_observe(link, frame);
  const json command = frame.body.size() > kMaxCommand ? json() : parse_outside_json(frame.body.view());
  const auto op = command.is_object() ? command.find("op") : command.end();
  const std::string name = op != command.end() && op->is_string() ? op->get<std::string>() : "";
  const json refusal = {{"ok", false},
                        {"code", code_name(Code::refused)},
                        {"message", "this connection only reads, and the command '" + first_line(name) +
                                        "' does not: it has proved the run's reading token; attach without "
                                        "--read-only, with the token itself"}};
  send_to_observer(link, cluster_kind::control_reply, frame.tag, json_text(refusal));
}

void Cluster::end_observer(LinkId link, const std::string& why) {
  log_.warn("cluster", "closed the connection to an observer: " + why);
  if (ControlEntry::is_one(link)) return control_->close_link(link, why);
  stream_->close_link(link, why);
}

/// Replies to a request for the state of the run. Drops requests beyond a few in flight.
void Cluster::on_observe(LinkId link, const Frame& frame) {
  Watcher& watcher = watchers_[link];
  if (watcher.disconnected || watcher.pending >= kMaxPendingObserves) return;
  ++watcher.pending;
  const auto wanted = read_message<ObserveMessage>(frame);
  observers_.request_state(
      wanted ? wanted->sections : std::vector<std::string>(),
      [this, link, tag = frame.tag](const std::string& state) {
        if (const auto entry = watchers_.find(link); entry != watchers_.end()) --entry->second.pending;
        send_to_observer(link, cluster_kind::observed, tag, state);
      },
      clock_.now());
}

/// Disconnects an observer that does not read its replies: its queue has a bound.
void Cluster::send_to_observer(LinkId link, Kind kind, uint32_t tag, std::string_view text) {
  const bool at_socket = ControlEntry::is_one(link);
  const size_t unread = at_socket ? control_->queued(link) : stream_ != nullptr ? stream_->queued(link) : 0;
  if (unread > 0 && unread + text.size() > kMostUnread) {
    // The observer's chunks end when the link is down, because the console may be processing this chunk.
    const auto watcher = watchers_.find(link);
    const bool known = watcher != watchers_.end() && !std::exchange(watcher->second.disconnected, true);
    if (known) end_observer(link, "it does not read the replies to its requests");
    return;
  }
  Frame frame = make_frame(kind, service_address(process_), kNoAddress, tag, {}, Blob::copy_of(text));
  if (at_socket) {
    (void)control_->send(link, std::move(frame));
  } else if (stream_ != nullptr) {
    (void)stream_->send_on(link, std::move(frame));
  }
}

void Cluster::remove_observer(LinkId link) {
  if (watchers_.erase(link) > 0 && coordinator_) coordinator_->console().leave(link);
}

void Cluster::notify_observers_of_end() {
  const auto over = end();
  const json news = {{"event", "ended"},
                     {"ok", !over || over->ok},
                     {"code", over && !over->ok ? code_name(over->code) : ""},
                     {"message", over ? over->message : ""}};
  for (const auto& [link, watcher] : watchers_) {
    send_to_observer(link, cluster_kind::pushed, 0, json_text(news));
    if (ControlEntry::is_one(link)) live_[link] = "an observer";
  }
}

void Cluster::lost(const std::string& host, const std::vector<NodeId>& workers, const std::string& reason) {
  observers_.on_lost(host, workers, reason);
}

void Cluster::report_spans(Address node, SpansMessage message) {
  post([this, node, message = std::move(message)] {
    if (coordinator_) return take_spans(process_, node, message);
    to_coordinator(make_frame(cluster_kind::spans, node, kNoAddress, 0, pack(message)));
  });
}

void Cluster::take_spans(ProcessId process, Address node, const SpansMessage& message) {
  if (!chrome_) return;
  const ProcessInfo* info = membership()->process(process);
  const auto rank = is_worker(node) ? membership()->rank_of(node) : std::nullopt;
  chrome_->add(process, info == nullptr ? "" : info->host, node,
               rank ? "rank " + std::to_string(*rank) : address_name(node), message.spans, message.sent, clock_.now());
}

/// The coordinator requests this process's part of the run's state.
void Cluster::send_report(const Frame& request) {
  const auto wanted = read_message<ObserveMessage>(request);
  if (!wanted) return;
  const std::string text = json_text(state_.report(wanted->sections));
  send_on(coordinator_link_, make_frame(cluster_kind::report, service_address(process_), kNoAddress, request.tag, {},
                                        Blob::copy_of(text)));
}

}  // namespace actorhost
