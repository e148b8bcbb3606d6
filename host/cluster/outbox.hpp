#pragma once
// Control frames for which a link or a mailbox had no room, kept until it has. Each way has a queue of its own, so a
// process that does not read holds up no other, and frames to one place stay in order. Owned by one thread.

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
  /// Sends without waiting: over `link`, or by frame.dst when it is 0. Moves from the frame only on success.
  using Send = std::function<Status(LinkId link, Frame&& frame)>;

  explicit Outbox(Send send) : send_(std::move(send)) {}

  /// Sends the frame at once, or later, behind the frames that wait for the same way. A frame whose receiver is gone is
  /// dropped.
  void put(LinkId link, Frame&& frame);
  /// Tries again.
  void flush();
  bool empty() const noexcept { return waiting_.empty(); }

 private:
  using Way = std::pair<LinkId, Address>;

  bool sent(const Way& way, Frame& frame);

  Send send_;
  std::map<Way, std::deque<Frame>> waiting_;  // no queue is empty
};

}  // namespace actorhost
