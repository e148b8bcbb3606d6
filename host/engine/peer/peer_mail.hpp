#pragma once
// What the courier's thread leaves for a worker in a run, and what the worker tells others through it.

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
  // Of pushes under way while a further step begins.
  static constexpr size_t kMostPushes = 64;
  static constexpr size_t kMostBytes = 16 << 20;

  struct Push {
    Mark mark;
    size_t bytes;
    bool some;  // there is something in it
    bool acknowledged = false;
  };
  struct Drawn {
    uint32_t draw;
    std::vector<Sampled> sample;
  };

  explicit PeerMail(std::function<void()> w) : wake(std::move(w)) {}

  /// Changes the mail and wakes the node, unless that can wait.
  template <typename Change>
  void put(const Change& change, bool now = true) {
    {
      std::lock_guard lock(mutex);
      change(*this);
    }
    if (!now) return;
    news = true;
    wake();
  }

  bool is_merged() {
    std::lock_guard lock(mutex);
    return merged;
  }

  size_t under_way() {
    std::lock_guard lock(mutex);
    return pushes.size();
  }

  /// Whether a further push may go on its way. Once there was no room, half of it has to be free, so that many leave
  /// together.
  bool has_room() {
    std::lock_guard lock(mutex);
    size_t bytes = 0;
    for (const Push& push : pushes) bytes += push.bytes;
    full = pushes.size() > (full ? kMostPushes / 2 : kMostPushes) || bytes > kMostBytes;
    return !full;
  }

  /// A run that has failed tells nothing more.
  void forget() {
    std::lock_guard lock(mutex);
    pushes.clear();
  }

  // What follows is called on the courier's thread, which tells others of an acknowledged push while the node works.

  void tell(PeerService::PeerNode& peer) {
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
        m.sum += m.pushes.front().some ? 1 : 0;
        m.pushes.pop_front();
      }
      enough = m.refused || m.pushes.size() <= kMostPushes / 2;
    };
    put(change, false);
    if (enough) put([](PeerMail&) {});
    if (first) tell(peer);
  }

  const std::function<void()> wake;
  std::atomic<bool> news{false};
  std::atomic<uint32_t> counted{1};  // workers of the run that count for a majority
  std::mutex mutex;                  // of what follows
  std::deque<std::vector<PullEntry>> pulls;
  std::optional<Result<std::vector<ParamEntry>>> answer;  // of the get that is under way
  std::deque<Push> pushes;                                // from the first one on that is not acknowledged
  bool full = false;                                      // there was no room for a push
  std::optional<Error> refused;                           // a push
  PeerPace pace;                                          // as it is told, its mark without those pushes
  uint64_t sum = 0;                                       // of acknowledged pushes
  std::vector<Drawn> drawn;
  std::vector<std::pair<NodeId, std::optional<std::string>>> heard;
  std::optional<Aggregate> all;
  std::optional<std::vector<KeyClient::Open>> open;  // questions without an answer, when they are looked for
  bool merged = false;                               // what had been given to pull by then has been answered
};

}  // namespace actorhost
