#pragma once
// Queues control frames while a link or a mailbox has no room. Each route has its own queue: a process that does not
// read delays no other, and frames of one route stay in order. Not thread-safe.

#include <deque>
#include <functional>
#include <map>
#include <utility>

#include "host/base/result.hpp"
#include "host/net/link.hpp"
#include "host/wire/frame.hpp"

namespace actorhost {

class Outbox {
 public:
  /// Sends without blocking: over `link`, or to frame.dst if link is 0. Moves from the frame only on success.
  using Send = std::function<Status(LinkId link, Frame&& frame)>;

  explicit Outbox(Send send) : send_(std::move(send)) {}

  /// Sends the frame at once, or queues it behind the pending frames of the same route. Drops a frame to
  /// a departed receiver.
  void put(LinkId link, Frame&& frame) {
    const Way way{link, link != 0 ? kNoAddress : frame.dst};
    const auto queue = waiting_.find(way);
    if (queue != waiting_.end()) {
      queue->second.push_back(std::move(frame));
    } else if (!sent(way, frame)) {
      waiting_[way].push_back(std::move(frame));
    }
  }
  /// Retries all pending frames.
  void flush() {
    for (auto at = waiting_.begin(); at != waiting_.end();) {
      auto& [way, queue] = *at;
      while (!queue.empty() && sent(way, queue.front())) queue.pop_front();
      at = queue.empty() ? waiting_.erase(at) : std::next(at);
    }
  }
  bool empty() const noexcept { return waiting_.empty(); }

 private:
  using Way = std::pair<LinkId, Address>;

  /// False while there is no room. A frame to a departed receiver counts as sent.
  bool sent(const Way& way, Frame& frame) {
    const Status status = send_(way.first, std::move(frame));
    return status.ok() || status.error().code != Code::full;
  }

  Send send_;
  std::map<Way, std::deque<Frame>> waiting_;  // no queue is empty
};

}  // namespace actorhost
