#pragma once
// Serves the page of a run over HTTP to browsers and Prometheus: files, states and metrics. Read-only. It watches a
// StatePoller, which passes it states for its clients and for the past of the run; for a recorded run it serves the
// states of a file.
// Requests arrive on the web server's thread, states on the thread of StatePoller. The mutex is held while a state is
// added to the past and while the reply with the past is made, but not while other messages are made or any is written.

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "host/base/clock.hpp"
#include "host/page/page_access.hpp"
#include "host/page/page_address.hpp"
#include "host/page/page_view.hpp"
#include "host/page/recording.hpp"
#include "host/page/run_past.hpp"
#include "host/page/state_poller.hpp"
#include "host/page/web_server.hpp"

namespace actorhost {

struct PageOptions {
  std::string address = kPageAddress;  // in the form of parse_page_address
  bool page = true;
  bool metrics = false;
  double every = 1;                      // seconds between two messages to a viewer
  double past_every = 1;                 // the same between two states for the past without viewers; kForever: no past
  const Recording* recording = nullptr;  // shows this recording instead of a run
  std::string reading_token = {};        // also opens the page; empty: none
  WebLimits limits = {};
};

class PageServer final : public Watcher, private WebSite {
 public:
  /// Listens. Fails with Code::bad_argument, io or unsupported. An address beyond loopback gets a random token.
  static Result<std::unique_ptr<PageServer>> open(PageOptions options, const Clock& clock);
  ~PageServer() override;

  /// The URL for a browser, with the token.
  std::string url() const;
  /// Sets the function that is called on the web server's thread when a client wants a state: StatePoller::wake. Call
  /// before the poller starts.
  void on_wanted(std::function<void()> wake);
  /// Sends the viewers the state after the run's end, if any, and how the run has ended. Waits briefly until they have
  /// read it, then ends all connections.
  void finish(const StatePtr& last, const std::string& how);
  /// Number of connected viewers. Any thread.
  size_t viewers();

  double next_poll() override;
  std::vector<std::string> sections() override;
  void seen(const StatePtr& state, double now) override;

 private:
  using Message = std::shared_ptr<const std::string>;  // shared by the viewers of a view

  PageServer(PageOptions options, const Clock& clock) : options_(std::move(options)), clock_(clock) {}
  WebResponse respond(const WebRequest& request) override;
  void on_request_ended(uint64_t request) override;
  WebResponse respond_to_path(const WebRequest& request);
  WebResponse about() const;
  WebResponse frame(const WebRequest& request) const;
  WebResponse past(const WebRequest& request);
  WebResponse events(const WebRequest& request);
  WebResponse wait_for_state(uint64_t request, bool metrics);
  void want();

  const PageOptions options_;
  const Clock& clock_;
  PageAccess access_;

  std::mutex mutex_;                 // guards the members up to the next blank line
  std::condition_variable changed_;  // a viewer or request has ended
  std::function<void()> wake_;
  std::map<uint64_t, PageView> viewers_;
  std::map<uint64_t, bool> waiting_;  // requests that wait for the next state; true: with metrics
  bool asked_whole_ = true;           // the newest request had sections; without viewers the past needs none
  StatePtr latest_;                   // with sections
  double latest_at_ = -kForever;
  double seen_at_ = -kForever;      // time of the newest state, with sections or without
  double least_every_ = 0;          // seconds between two states of so many nodes for the past
  std::set<std::string> sections_;  // of the next state, by the newest messages
  PastReader reader_;
  PastPoint point_;  // of `latest_`
  RunPast past_;

  std::unique_ptr<WebServer> server_;  // made last and destroyed first: it calls the other members
};

}  // namespace actorhost
