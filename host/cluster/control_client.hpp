#pragma once
// One who looks into a run from another process: a connection to the rendezvous host, over its control socket or its
// address. It belongs to no node, is in no membership, and the run does not wait for it. Used by one thread; each call
// blocks up to the time given, and asks meanwhile whether to go on.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "host/base/clock.hpp"
#include "host/net/stream_transport.hpp"

namespace actorhost {

class ControlClient final : private LinkEvents {
 public:
  /// With a reading token in `options` the run refuses what changes it. An error of `check` ends a wait.
  ControlClient(StreamOptions options, const Clock& clock, Log& log, std::function<Status()> check);
  ~ControlClient() override;

  /// At the rendezvous host, or at any other: then questions go on to where that one says the rendezvous host is.
  /// Code::unreachable: nobody is there; Code::refused: another token, another version, or no actorhost.
  Status attach(const std::string& url, double seconds);
  /// The state as JSON, with these sections. Code::timeout; Code::peer_lost: the run is over or its host is gone.
  Result<std::string> state(const std::vector<std::string>& sections, double seconds);
  /// Sends a command (JSON) and returns the answer (JSON).
  Result<std::string> control(const std::string& command, double seconds);
  /// The next news that the run has pushed, as JSON; nothing when none came in time.
  Result<std::optional<std::string>> next(double seconds);

 private:
  void on_link_up(LinkId link, bool dialled, const std::string& peer) override;
  void on_link_down(LinkId link, ProcessId process, const std::string& reason) override;
  void on_service_frame(LinkId link, Frame&& frame) override;
  void on_link_wanted(ProcessId) override {}

  Result<std::string> ask(Kind kind, Kind answer, std::string_view meta, const Blob& body, double seconds);
  Result<std::string> ask_here(Kind kind, Kind answer, std::string_view meta, const Blob& body, double seconds);
  template <typename Take>
  Status wait(double seconds, const Take& take);

  const Clock& clock_;
  const std::function<Status()> check_;
  uint32_t number_ = 0;
  std::string url_;   // that was attached to last
  std::mutex mutex_;  // guards what follows up to the next blank line
  LinkId link_ = 0;   // the newest
  std::condition_variable came_;
  std::deque<Frame> answers_;
  std::deque<std::string> news_;
  std::optional<std::string> down_;       // why
  std::optional<std::string> elsewhere_;  // where the rendezvous host is

  StreamTransport transport_;
};

}  // namespace actorhost
