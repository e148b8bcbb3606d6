#pragma once
// The links of observers to a process: over its control socket, and over the transport of the run. The coordinator
// replies to requests for the state of the run, passes commands to its console, and records spans. Bounds the requests
// and the unread replies of each observer. The cluster's service thread calls it; `may_queue` runs on the threads of
// links.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/log.hpp"
#include "host/base/non_copyable.hpp"
#include "host/cluster/cluster_messages.hpp"
#include "host/cluster/look/chrome_trace.hpp"
#include "host/cluster/look/console_hub.hpp"
#include "host/cluster/look/control_entry.hpp"
#include "host/cluster/look/observers.hpp"

namespace actorhost {

class ObserverLinks : private NonCopyable {
 public:
  /// `member_of`: the process of a link to a member; kNoProcess for other links.
  ObserverLinks(Observers::Sources sources, std::function<ProcessId(LinkId)> member_of, const Clock& clock, Log& log);

  /// The transport of the run, if it has sockets. Before the service thread starts.
  void use(StreamTransport* stream) noexcept { stream_ = stream; }
  /// Accepts observers with the token at `url`. On any thread, once.
  Status listen(const std::string& url, std::string token, ControlEntry::Events events);
  /// Closes the control socket. After the service thread has ended.
  void close();

  /// Whether a frame may enter the service thread's queue. False if requests of an observer arrive far faster than its
  /// replies leave: its link closes. On the link's thread.
  bool may_queue(LinkId link, const Frame& frame);
  /// The frame has left the queue.
  void dequeued(LinkId link, const Frame& frame);
  /// On the coordinator. Returns whether the frame is from an observer, or a process's report for observers.
  bool take(LinkId link, const Frame& frame, ConsoleHub& console);
  /// A frame of an observer with only the reading token, which may request the state. On the coordinator; elsewhere
  /// only frames that are no requests, which end the link.
  void take_from_reader(LinkId link, const Frame& frame);
  static bool is_request(Kind kind) noexcept { return kind == cluster_kind::observe || kind == cluster_kind::control; }
  /// A link has closed. Returns whether its observer may have chunks.
  bool leave(LinkId link) { return watchers_.erase(link) > 0; }
  /// Closes a link of the control socket once the observer has read the queued frames, or after `seconds`.
  void finish(LinkId link, double seconds) { control_->finish(link, seconds); }
  /// Reports the end of the run to all observers; returns their links.
  std::vector<LinkId> announce_end(const std::optional<EndMessage>& end);

  /// Records spans in this trace from now on.
  void record(std::shared_ptr<ChromeTrace> trace) { chrome_ = std::move(trace); }
  void add_spans(ProcessId process, Address node, const SpansMessage& message);
  /// The state of the run.
  Observers& observers() noexcept { return observers_; }

 private:
  struct Queued {  // requests in the service thread's queue
    size_t frames = 0;
    size_t bytes = 0;
    bool disconnected = false;
  };
  struct Watcher {
    int pending = 0;            // pending requests
    bool disconnected = false;  // its link is about to end
  };

  void disconnect(LinkId link, const std::string& why);
  void on_observe(LinkId link, const Frame& frame);
  void on_command(LinkId link, const Frame& frame, ConsoleHub& console);
  void send(LinkId link, Kind kind, uint32_t tag, std::string_view text);

  const std::function<ProcessId()> self_;
  const std::function<MembershipPtr()> membership_;
  const std::function<ProcessId(LinkId)> member_of_;
  const Clock& clock_;
  Log& log_;
  Observers observers_;
  StreamTransport* stream_ = nullptr;
  std::unique_ptr<ControlEntry> control_;  // written by `listen` before its links are up
  std::mutex mutex_;
  std::map<LinkId, Queued> queued_;     // guarded by mutex_
  std::map<LinkId, Watcher> watchers_;  // observers with a request so far
  std::shared_ptr<ChromeTrace> chrome_;
};

}  // namespace actorhost
