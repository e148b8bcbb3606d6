#pragma once
// The shared state of a worker in a run and of its courier thread: results for the worker, and the worker's clock for
// other peers. `mutex` guards all fields below it.

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/engine/peer/peer_service.hpp"

namespace actorhost {

struct PeerMail {
  // Limits of unacknowledged pushes; beyond them the worker waits before its next step.
  static constexpr size_t kMostPushes = 64;
  static constexpr size_t kMostBytes = 16 << 20;

  struct Push {
    Mark mark;
    size_t bytes;
    bool non_empty;
    bool acknowledged = false;
  };
  struct Drawn {
    uint32_t draw;
    std::vector<Sampled> sample;
  };

  explicit PeerMail(std::function<void()> w) : wake(std::move(w)) {}

  /// Changes the mail and, if `now`, wakes the node.
  template <typename Change>
  void put(const Change& change, bool now = true) {
    {
      std::lock_guard lock(mutex);
      change(*this);
    }
    if (!now) return;
    unread = true;
    wake();
  }

  bool is_merged() {
    std::lock_guard lock(mutex);
    return merged;
  }

  size_t in_flight() {
    std::lock_guard lock(mutex);
    return pushes.size();
  }

  /// Whether a further push may be sent. Once the limit was reached, half of it must be free again, so that later
  /// pushes are sent together.
  bool has_room() {
    std::lock_guard lock(mutex);
    size_t bytes = 0;
    for (const Push& push : pushes) bytes += push.bytes;
    full = pushes.size() > (full ? kMostPushes / 2 : kMostPushes) || bytes > kMostBytes;
    return !full;
  }

  std::optional<std::vector<PullEntry>> take_pull() {
    std::lock_guard lock(mutex);
    if (pulls.empty()) return std::nullopt;
    auto batch = std::move(pulls.front());
    pulls.pop_front();
    return batch;
  }

  /// After a failed run: publishes nothing more.
  void forget() {
    std::lock_guard lock(mutex);
    pushes.clear();
  }

  // Called on the courier thread, which publishes acknowledged pushes while the node works.

  void publish(PeerService::PeerNode& peer) {
    std::unique_lock lock(mutex);
    const std::string state = pack(pace);
    const std::pair<Mark, uint64_t> clock{pace.mark, sum};
    lock.unlock();
    peer.overlay.set_state(state);
    peer.watch.set_state(state);
    peer.overlay.set_clock(clock.first, clock.second);
  }

  void acknowledge(PeerService::PeerNode& peer, Mark mark, const Status& done) {
    bool first = false;
    bool enough = false;
    const auto change = [&](PeerMail& m) {
      if (!done.ok() && !m.refused) m.refused = done.error();
      for (Push& push : m.pushes) push.acknowledged = push.acknowledged || (done.ok() && push.mark == mark);
      while (!m.pushes.empty() && m.pushes.front().acknowledged) {
        first = true;
        m.pace.mark = m.pushes.front().mark;
        m.sum += m.pushes.front().non_empty ? 1 : 0;
        m.pushes.pop_front();
      }
      enough = m.refused || m.pushes.size() <= kMostPushes / 2;
    };
    put(change, false);
    if (enough) put([](PeerMail&) {});
    if (first) publish(peer);
  }

  const std::function<void()> wake;
  std::atomic<bool> unread{false};
  std::mutex mutex;  // guards all following fields
  std::deque<std::vector<PullEntry>> pulls;
  std::optional<Result<std::vector<ParamEntry>>> fetched;  // of the get in flight
  std::deque<Push> pushes;                                 // from the first unacknowledged push on
  bool full = false;                                       // there was no room for a push
  std::optional<Error> refused;                            // error of a refused push
  PeerPace pace;                                           // as published: its mark excludes unacknowledged pushes
  uint64_t sum = 0;                                        // of acknowledged pushes
  std::vector<Drawn> drawn;
  std::vector<std::pair<NodeId, std::optional<std::string>>> states;
  std::optional<Aggregate> all;
  std::optional<std::vector<KeyClient::Pending>> pending;  // requests without a reply, when requested for a message
  bool merged = false;                                     // the pull has merged everything passed to it
};

}  // namespace actorhost
