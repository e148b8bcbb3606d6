#pragma once
// Lets a node that waits read the links of its process itself, on its own thread: a frame then reaches the node without
// a wake-up. While a node polls, arriving frames do not wake the links' own threads. While nodes sleep, frames in
// shared memory wake one of these nodes, which also delivers the frames for the others. The links' threads read in
// three cases: frames of other links while nodes sleep; all frames when this one node has gone on and others still
// sleep; all frames after a few milliseconds without a poll. Thread-safe; `until`, `sleep` and Sleep belong to the
// waiting node's thread.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/non_copyable.hpp"
#include "host/base/spin_wait.hpp"
#include "host/base/tasks.hpp"
#include "host/net/link.hpp"
#include "host/net/mailbox.hpp"

namespace actorhost {

class LinkPolls : private NonCopyable {
 public:
  /// Takes the frames that a poll of the link has read, without blocking; false ends the link.
  using Take = std::function<bool(Link&, std::vector<Frame>&)>;

  explicit LinkPolls(Take take) : take_(std::move(take)) {}
  ~LinkPolls() { close(); }

  /// Polls the link from now on, if its stream can be polled.
  void add(const std::shared_ptr<Link>& link);
  void remove(const std::shared_ptr<Link>& link);

  /// Polls all links until `ready`, for the short time of `spin`; returns `ready()`. `threads`: how many nodes of this
  /// process may run at the same time.
  template <typename Ready>
  bool until(const Ready& ready, SpinWait& spin, uint32_t threads) {
    const auto links = start();
    const bool held = spin.until(
        [&] {
          for (const auto& link : *links) poll(*link);
          return ready();
        },
        threads);
    end(held);
    return held;
  }

  /// Sleeps up to `seconds` until `inbox` is ready or a link has bytes; reads bytes that have arrived before. May end
  /// early. False at once if another node of the process sleeps so, or if the system cannot wait for several bells:
  /// then the caller sleeps in its mailbox. Owner of `inbox` only.
  bool sleep(Mailbox& inbox, double seconds);
  /// Whether a node could be in `sleep` now.
  bool has_bells() const noexcept { return bells_.load(std::memory_order_relaxed) != 0; }

  /// Exists while a node sleeps in its mailbox.
  class Sleep : private NonCopyable {
   public:
    explicit Sleep(LinkPolls& polls) : polls_(polls) { polls_.count_sleepers(1); }
    ~Sleep() { polls_.count_sleepers(-1); }

   private:
    LinkPolls& polls_;
  };

  /// Ends the class's thread. Idempotent.
  void close();

 private:
  using Links = std::vector<std::shared_ptr<Link>>;

  std::shared_ptr<const Links> start();
  void end(bool ready);
  bool poll(Link& link) const;
  void count_sleepers(int change);
  void set_links();
  void set_reader();
  bool start_watch();
  void watch();

  const Take take_;
  const SteadyClock clock_;
  std::mutex mutex_;
  WaitPoint changed_;
  Task watch_;
  Links all_;
  std::shared_ptr<const Links> polled_links_ = std::make_shared<const Links>();
  std::atomic<size_t> bells_{0};                // of these links
  StreamReader reader_ = StreamReader::thread;  // of these links
  Bell links_changed_;                          // rings for the node in `sleep`
  int pollers_ = 0;                             // nodes that poll
  bool sleeper_ = false;                        // a node is in `sleep`
  int sleepers_ = 0;                            // other nodes that sleep
  bool often_ = false;                          // the nodes poll often
  uint64_t polls_ = 0;                          // ended polls
  double last_ = 0;                             // when a poll last ended with a ready node
  bool closed_ = false;
};

}  // namespace actorhost
