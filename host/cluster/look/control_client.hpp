#pragma once
// An observer in another process: a connection to the coordinator, over its control socket or its address. An observer
// belongs to no node and no membership table, and the run does not wait for it. Used by one thread. Each call blocks up
// to the given time and polls `check` meanwhile.

#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/tasks.hpp"
#include "host/net/stream_transport.hpp"

namespace actorhost {

class ControlClient final : private LinkEvents {
 public:
  /// With a reading token in `options`, the run refuses commands that change it. An error of `check` ends a wait.
  ControlClient(StreamOptions options, const Clock& clock, Log& log, std::function<Status()> check);
  ~ControlClient() override;

  /// Connects to the coordinator or to any other host, which then redirects requests to the coordinator.
  /// Code::unreachable: no listener; Code::refused: another token, another version, or no actorhost.
  Status attach(const std::string& url, double seconds);
  /// The state as JSON, with these sections. Code::timeout; Code::peer_lost: the run is over or its host has failed.
  Result<std::string> state(const std::vector<std::string>& sections, double seconds);
  /// Sends a command (JSON) and returns the reply (JSON).
  Result<std::string> control(const std::string& command, double seconds);
  /// The next event that the run has pushed, as JSON; nullopt after `seconds` without an event.
  Result<std::optional<std::string>> next(double seconds);

 private:
  void on_link_up(LinkId link, std::optional<ProcessId> dialled, const std::string& peer) override;
  void on_link_down(LinkId link, ProcessId process, const std::string& reason) override;
  void on_service_frame(LinkId link, Frame&& frame) override;
  void on_link_wanted(ProcessId) override {}

  Result<std::string> request(Kind kind, Kind reply_kind, std::string_view meta, const Blob& body, double seconds);
  Result<std::string> send_request(Kind kind, Kind reply_kind, std::string_view meta, const Blob& body, double seconds);
  template <typename Take>
  Status wait(double seconds, const Take& take);

  const Clock& clock_;
  const std::function<Status()> check_;
  uint32_t number_ = 0;
  std::string url_;   // the last attached address
  std::mutex mutex_;  // guards the members up to the next blank line
  LinkId link_ = 0;   // the newest
  WaitPoint came_;
  std::deque<Frame> replies_;
  std::deque<std::string> news_;
  std::optional<std::string> down_;      // the reason
  std::optional<std::string> redirect_;  // the coordinator's address

  StreamTransport transport_;
};

}  // namespace actorhost
