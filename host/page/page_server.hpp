#pragma once
// The page of a run: files, states and metrics over HTTP, for browsers and Prometheus. It only reads. It is a watcher
// of Looks, which bring it states while somebody looks; of a recorded run it shows the states of a file. Requests come
// on the web server's thread, states on that of Looks; a mutex is held for neither writing nor shaping a message.

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "host/base/clock.hpp"
#include "host/page/looks.hpp"
#include "host/page/page_access.hpp"
#include "host/page/page_address.hpp"
#include "host/page/page_view.hpp"
#include "host/page/recording.hpp"
#include "host/page/web_server.hpp"

namespace actorhost {

struct PageOptions {
  std::string address = kPageAddress;  // as parse_page_address takes it
  bool page = true;
  bool metrics = false;
  double every = 1;                      // seconds between two messages to a viewer
  const Recording* recording = nullptr;  // to show this instead of a run
  std::string reading_token = {};        // opens the page too; empty: there is none
  WebLimits limits = {};
};

class PageServer final : public Watcher, private WebSite {
 public:
  /// Listens. Code::bad_argument, io and unsupported, for users. An address that others can reach gets a random token.
  static Result<std::unique_ptr<PageServer>> open(PageOptions options, const Clock& clock);
  ~PageServer() override;

  /// What to open in a browser, with the token.
  std::string url() const;
  /// Called, on the web server's thread, when somebody wants a state: Looks::wake. To be set before Looks start.
  void on_wanted(std::function<void()> wake);
  /// Shows the viewers the state after the run's end, where there is one, and tells them how it has ended; waits for a
  /// moment until they have read it, and ends all connections.
  void finish(const StatePtr& last, const std::string& how);
  /// How many browsers watch. Any thread.
  size_t viewers();

  double next_look() override;
  void seen(const StatePtr& state, double now) override;

 private:
  using Message = std::shared_ptr<const std::string>;  // shared by the viewers of a view

  PageServer(PageOptions options, const Clock& clock) : options_(std::move(options)), clock_(clock) {}
  WebAnswer answer(const WebRequest& request) override;
  void gone(uint64_t request) override;
  WebAnswer answer_path(const WebRequest& request);
  WebAnswer about() const;
  WebAnswer frame(const WebRequest& request) const;
  WebAnswer events(const WebRequest& request);
  WebAnswer wait_for_state(uint64_t request, bool metrics);
  void want();

  const PageOptions options_;
  const Clock& clock_;
  PageAccess access_;

  std::mutex mutex_;                 // guards what follows, up to the next blank line
  std::condition_variable changed_;  // there are fewer viewers
  std::function<void()> wake_;
  std::map<uint64_t, PageView> viewers_;
  std::map<uint64_t, bool> waiting_;  // requests that the next state answers; true: with metrics
  StatePtr latest_;
  double latest_at_ = -kForever;

  std::unique_ptr<WebServer> server_;  // the last to come and the first to go: it calls the others
};

}  // namespace actorhost
