#pragma once
// Several StreamTransports in one test process, connected like hosts: `Events` records the events of a transport,
// `StreamCluster` dials every pair and assigns the links.

#include <condition_variable>
#include <mutex>

#include "host/net/stream_transport.hpp"
#include "tests/test.hpp"

namespace actorhost::test {

inline constexpr double kPatience = 30;

class Events final : public LinkEvents {
 public:
  struct Up {
    LinkId link;
    bool dialled;
    std::string peer;
  };
  struct Down {
    LinkId link;
    ProcessId process;
    std::string reason;
  };

  void on_link_up(LinkId link, std::optional<ProcessId> dialled, const std::string& peer) override;
  void on_link_down(LinkId link, ProcessId process, const std::string& reason) override;
  void on_service_frame(LinkId link, Frame&& frame) override;
  void on_link_wanted(ProcessId process) override;

  /// Waits until `done` holds, checking after each event; false after kPatience seconds.
  bool wait(const std::function<bool()>& done);

  // To be read inside `wait`, or when nothing runs any more.
  std::vector<Up> ups;
  std::vector<Down> downs;
  std::vector<std::pair<LinkId, Frame>> frames;
  std::vector<ProcessId> wanted;
  /// Called first with each service frame, on the link's thread; true if it has handled the frame.
  std::function<bool(LinkId, const Frame&)> on_frame;

 private:
  template <typename Change>
  void record(Change change) {
    {
      std::lock_guard lock(mutex_);
      change();
    }
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
};

/// A log that stores its lines.
struct QuietLog {
  QuietLog();
  bool has(const std::string& text) const;

  mutable std::mutex mutex;
  std::vector<std::string> lines;
  Log log;
};

/// An unused ipc address.
std::string fresh_ipc_url();

struct StreamHost {
  explicit StreamHost(StreamOptions options = {}) : transport(std::move(options), quiet.log, events) {}

  QuietLog quiet;
  Events events;
  StreamTransport transport;
};

class StreamCluster {
 public:
  /// `scheme`: "tcp", "ipc" or "tls+tcp".
  StreamCluster(size_t processes, const std::string& scheme, const StreamOptions& options = {});

  StreamTransport& at(size_t process) { return hosts.at(process)->transport; }

  std::vector<std::unique_ptr<StreamHost>> hosts;
};

/// Files of a self-signed certificate for 127.0.0.1 and localhost, made for these tests.
TlsFiles test_tls_files();

}  // namespace actorhost::test
