#include "host/cluster/outbox.hpp"

namespace actorhost {

void Outbox::put(LinkId link, Frame&& frame) {
  const Way way{link, link != 0 ? kNoAddress : frame.dst};
  const auto queue = waiting_.find(way);
  if (queue != waiting_.end()) {
    queue->second.push_back(std::move(frame));
  } else if (!sent(way, frame)) {
    waiting_[way].push_back(std::move(frame));
  }
}

void Outbox::flush() {
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    auto& [way, queue] = *at;
    while (!queue.empty() && sent(way, queue.front())) queue.pop_front();
    at = queue.empty() ? waiting_.erase(at) : std::next(at);
  }
}

/// False while there is no room. A frame whose receiver has left counts as sent.
bool Outbox::sent(const Way& way, Frame& frame) {
  const Status status = send_(way.first, std::move(frame));
  return status.ok() || status.error().code != Code::full;
}

}  // namespace actorhost
