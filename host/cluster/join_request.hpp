#pragma once
// A process's request to join a run, until a coordinator admits it. `run` dials the addresses of the run and follows
// redirects, on the thread that opens the cluster; the thread of the link reports what the other end replies.
// Thread-safe.

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "host/cluster/cluster_messages.hpp"
#include "host/cluster/dialler.hpp"
#include "host/cluster/run_view.hpp"

namespace actorhost {

struct JoinPlace {
  std::vector<std::string> urls;  // of the coordinator or of members
  bool once = false;              // tries each address once
  double start_timeout = 60;
  double waited = 0;  // seconds of it that have passed
};

class JoinRequest {
 public:
  JoinRequest(RunView& view, Dialler& dialler, const Clock& clock, Log& log)
      : view_(view), dialler_(dialler), clock_(clock), log_(log) {}

  /// Blocks until a coordinator has admitted this process. Code::unreachable, refused, timeout.
  Status run(const JoinPlace& place, const JoinMessage& self, StreamTransport& stream);

  // ---- the threads of links ----

  /// The link to the process that may admit this process; 0 before, after its refusal, and once admitted.
  LinkId link() const noexcept { return link_; }
  void set_link(LinkId link) noexcept { link_ = link; }
  /// This process may not join there: a redirect, a refusal, or an error.
  void on_redirect(const Frame& frame);
  void on_refusal(const Frame& frame);
  void reject(const Error& error);
  /// A coordinator has admitted this process.
  void admit();

 private:
  Result<bool> join(const JoinPlace& place, const JoinMessage& self, size_t& at, double deadline);
  Status dial(const JoinPlace& place, const std::vector<std::string>& urls, const JoinMessage& self, size_t& at,
              double deadline);
  Status await_reply(const JoinPlace& place, double deadline);

  RunView& view_;
  Dialler& dialler_;
  const Clock& clock_;
  Log& log_;
  StreamTransport* stream_ = nullptr;
  std::atomic<LinkId> link_{0};
  LinkId dialled_ = 0;  // the link over which this process has sent its request

  std::mutex mutex_;  // guards the members below
  bool admitted_ = false;
  std::optional<Error> rejection_;       // by the process at the other end
  std::optional<std::string> redirect_;  // its reply: the coordinator's address; empty: unknown
};

}  // namespace actorhost
