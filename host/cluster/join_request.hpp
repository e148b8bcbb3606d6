#pragma once
// Joins a run: dials the addresses of the run until a coordinator admits this process. `run` blocks the thread that
// opens the cluster; it dials and follows redirects. The links' threads report the replies to this object. `Cluster`
// owns it. Thread-safe.

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
  double start_timeout = 60;      // seconds
  double waited = 0;              // seconds of start_timeout that have already passed
};

class JoinRequest {
 public:
  JoinRequest(RunView& view, Dialler& dialler, const Clock& clock, Log& log)
      : view_(view), dialler_(dialler), clock_(clock), log_(log) {}

  /// Blocks until a coordinator has admitted this process. Fails with Code::unreachable, refused or timeout.
  Status run(const JoinPlace& place, const JoinMessage& self, StreamTransport& stream);

  // ---- the threads of links ----

  /// The link to the process that may admit this process, from the opening of the link to the reply; else 0.
  LinkId link() const noexcept { return link_; }
  void set_link(LinkId link) noexcept { link_ = link; }
  // The replies that end the attempt over this link: the address of the coordinator, a refusal, or an error.
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
  std::optional<Error> rejection_;       // why the attempt over the current link has failed
  std::optional<std::string> redirect_;  // the coordinator's address by a redirect; an empty text: it is unknown
};

}  // namespace actorhost
