#include "host/cluster/look/observer_links.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "host/base/outside_json.hpp"
#include "host/base/printable.hpp"

namespace actorhost {

namespace {

using nlohmann::json;

constexpr size_t kMaxCommand = size_t{8} << 20;  // bytes: a chunk of 1 MiB is shorter in any JSON
constexpr int kMaxPendingObserves = 8;           // pending requests of an observer for the state
constexpr size_t kMaxQueuedRequests = 4096;      // requests of an observer in the queue
constexpr size_t kMaxQueuedBytes = size_t{16} << 20;
constexpr size_t kMostUnread = size_t{32} << 20;  // bytes queued for an observer

}  // namespace

ObserverLinks::ObserverLinks(Observers::Sources sources, std::function<ProcessId(LinkId)> member_of, const Clock& clock,
                             Log& log)
    : self_(sources.self),
      membership_(sources.membership),
      member_of_(std::move(member_of)),
      clock_(clock),
      log_(log),
      observers_(std::move(sources)) {}

Status ObserverLinks::listen(const std::string& url, std::string token, ControlEntry::Events events) {
  StreamOptions options;
  options.token = std::move(token);
  control_ = std::make_unique<ControlEntry>(std::move(options), log_, std::move(events));
  return control_->listen(url);
}

void ObserverLinks::close() {
  if (control_) control_->close();
}

bool ObserverLinks::may_queue(LinkId link, const Frame& frame) {
  if (!is_request(frame.kind)) return true;
  {
    std::lock_guard lock(mutex_);
    Queued& queued = queued_[link];
    if (queued.frames < kMaxQueuedRequests && queued.bytes <= kMaxQueuedBytes) {
      ++queued.frames;
      queued.bytes += frame.cost();
      return true;
    }
    if (std::exchange(queued.disconnected, true)) return false;
  }
  disconnect(link, "it has too many pending requests");
  return false;
}

void ObserverLinks::dequeued(LinkId link, const Frame& frame) {
  if (!is_request(frame.kind)) return;
  std::lock_guard lock(mutex_);
  const auto queued = queued_.find(link);
  if (queued == queued_.end()) return;
  --queued->second.frames;
  queued->second.bytes -= frame.cost();
  if (queued->second.frames == 0) queued_.erase(queued);
}

bool ObserverLinks::take(LinkId link, const Frame& frame, ConsoleHub& console) {
  if (frame.kind == cluster_kind::report) {
    const ProcessId process = member_of_(link);
    if (process != kNoProcess) observers_.on_report(process, frame.tag, frame.body.view(), clock_.now());
  } else if (frame.kind == cluster_kind::spans) {
    const auto message = read_message<SpansMessage>(frame);
    const ProcessId process = member_of_(link);
    if (message && process != kNoProcess) add_spans(process, frame.src, *message);
  } else if (frame.kind == cluster_kind::observe) {
    on_observe(link, frame);
  } else if (frame.kind == cluster_kind::control) {
    on_command(link, frame, console);
  } else {
    return ControlEntry::is_one(link);
  }
  return true;
}

void ObserverLinks::on_command(LinkId link, const Frame& frame, ConsoleHub& console) {
  if (watchers_[link].disconnected) return;
  const auto reply = [this, link, tag = frame.tag](const json& result) {
    send(link, cluster_kind::control_reply, tag, json_text(result));
  };
  if (frame.body.size() > kMaxCommand) {
    return reply({{"ok", false}, {"message", "a command has at most 8 MiB"}, {"code", code_name(Code::full)}});
  }
  const json command = parse_outside_json(frame.body.view());
  console.command(link, "an observer", command.is_object() ? command : json::object(), reply,
                  [this, link](const json& news) { send(link, cluster_kind::pushed, 0, json_text(news)); });
}

/// Commands are refused by name, and a frame that no observer sends ends the link.
void ObserverLinks::take_from_reader(LinkId link, const Frame& frame) {
  if (!is_request(frame.kind)) return disconnect(link, "a connection with only the reading token may only read");
  if (frame.kind == cluster_kind::observe) return on_observe(link, frame);
  const json command = frame.body.size() > kMaxCommand ? json() : parse_outside_json(frame.body.view());
  const auto op = command.is_object() ? command.find("op") : command.end();
  const std::string name = op != command.end() && op->is_string() ? op->get<std::string>() : "";
  const json refusal = {{"ok", false},
                        {"code", code_name(Code::refused)},
                        {"message", "this connection only reads, and the command '" + first_line(name) +
                                        "' does not: it has proved the run's reading token; attach without "
                                        "--read-only, with the token itself"}};
  send(link, cluster_kind::control_reply, frame.tag, json_text(refusal));
}

void ObserverLinks::disconnect(LinkId link, const std::string& why) {
  log_.warn("cluster", "closed the connection to an observer: " + why);
  if (ControlEntry::is_one(link)) return control_->close_link(link, why);
  stream_->close_link(link, why);
}

/// Replies to a request for the state of the run. Drops requests beyond a few in flight.
void ObserverLinks::on_observe(LinkId link, const Frame& frame) {
  Watcher& watcher = watchers_[link];
  if (watcher.disconnected || watcher.pending >= kMaxPendingObserves) return;
  ++watcher.pending;
  const auto wanted = read_message<ObserveMessage>(frame);
  observers_.request_state(
      wanted ? wanted->sections : std::vector<std::string>(),
      [this, link, tag = frame.tag](const std::string& state) {
        if (const auto entry = watchers_.find(link); entry != watchers_.end()) --entry->second.pending;
        send(link, cluster_kind::observed, tag, state);
      },
      clock_.now());
}

/// Disconnects an observer that does not read its replies: its queue has a bound.
void ObserverLinks::send(LinkId link, Kind kind, uint32_t tag, std::string_view text) {
  const bool at_socket = ControlEntry::is_one(link);
  const size_t unread = at_socket ? control_->queued(link) : stream_ != nullptr ? stream_->queued(link) : 0;
  if (unread > 0 && unread + text.size() > kMostUnread) {
    // The observer's chunks end when the link is down, because the console may be processing this chunk.
    const auto watcher = watchers_.find(link);
    const bool known = watcher != watchers_.end() && !std::exchange(watcher->second.disconnected, true);
    if (known) disconnect(link, "it does not read the replies to its requests");
    return;
  }
  Frame frame = make_frame(kind, service_address(self_()), kNoAddress, tag, {}, Blob::copy_of(text));
  if (at_socket) {
    (void)control_->send(link, std::move(frame));
  } else if (stream_ != nullptr) {
    (void)stream_->send_on(link, std::move(frame));
  }
}

std::vector<LinkId> ObserverLinks::announce_end(const std::optional<EndMessage>& end) {
  const json news = {{"event", "ended"},
                     {"ok", !end || end->ok},
                     {"code", end && !end->ok ? code_name(end->code) : ""},
                     {"message", end ? end->message : ""}};
  std::vector<LinkId> links;
  for (const auto& [link, watcher] : watchers_) {
    send(link, cluster_kind::pushed, 0, json_text(news));
    links.push_back(link);
  }
  return links;
}

void ObserverLinks::add_spans(ProcessId process, Address node, const SpansMessage& message) {
  if (!chrome_) return;
  const MembershipPtr table = membership_();
  const ProcessInfo* info = table->process(process);
  const auto rank = is_worker(node) ? table->rank_of(node) : std::nullopt;
  chrome_->add(process, info == nullptr ? "" : info->host, node,
               rank ? "rank " + std::to_string(*rank) : address_name(node), message.spans, message.sent, clock_.now());
}

}  // namespace actorhost
