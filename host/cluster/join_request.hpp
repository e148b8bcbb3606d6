#pragma once
// Joins a run: dials the addresses of the run, and follows redirects, until a coordinator admits this process. `run`
// blocks its caller, the thread that opens the cluster. The threads of links report the replies by the other functions.
// `Cluster` owns the object. Thread-safe.

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
  bool once = false;              // `run` tries each url once; else in turn until the timeout
  double start_timeout = 60;      // seconds
  double waited = 0;              // seconds of start_timeout that have already passed
};

class JoinRequest {
 public:
  JoinRequest(RunView& view, Dialler& dialler, const Clock& clock, Log& log)
      : view_(view), dialler_(dialler), clock_(clock), log_(log) {}

  /// Blocks until a coordinator has admitted this process. Code::unreachable: no process replied, or only processes
  /// that know no coordinator; Code::timeout: the coordinator did not reply in time; Code::peer_lost: the link closed
  /// before the reply; Code::bad_data: the reply is malformed; otherwise the code of the refusal (Code::refused if the
  /// coordinator belongs to another run).
  Status run(const JoinPlace& place, const JoinMessage& self, StreamTransport& stream);

  // ---- the threads of links ----

  /// The link over which this process requests admission, from its opening to the reply; else 0.
  LinkId link() const noexcept { return link_; }
  void set_link(LinkId link) noexcept { link_ = link; }
  // Events that end the attempt over this link: a redirect to the coordinator's address, a refusal, or an error.
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
  std::optional<std::string> redirect_;  // the url of a redirect; empty if the redirecting process knows no coordinator
};

}  // namespace actorhost
