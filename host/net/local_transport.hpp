#pragma once
// The transport between nodes of one process. It moves a frame into its receiver's mailbox without copying the body. It
// has no socket and no thread. Thread-safe, like every transport (transport.hpp).

#include <utility>

#include "host/net/directory.hpp"
#include "host/net/transport.hpp"

namespace actorhost {

class LocalTransport final : public Transport {
 public:
  LocalTransport() = default;
  ~LocalTransport() override { close(); }

  Status attach(Address self, Mailbox& inbox) override { return inboxes_.add(self, inbox); }
  void detach(Address self) override { inboxes_.remove(self); }
  Status try_send(Frame&& frame) override {
    const Address dst = frame.dst;
    const auto put = inboxes_.deliver(std::move(frame));
    if (put == Mailbox::Put::ok) return {};
    return delivery_status(put, dst, inboxes_.closed());
  }
  void when_room(Address dst, std::function<void()> callback) override { inboxes_.when_room(dst, std::move(callback)); }
  bool pop_all(Mailbox& inbox, SpinWait& spin, std::vector<Frame>& out, double seconds) override {
    if (seconds > 0) spin.until([&inbox] { return inbox.ready(); }, inboxes_.nodes());
    return inbox.pop_all(out, seconds);
  }
  void close() override { inboxes_.close(); }

 private:
  Directory inboxes_;
};

}  // namespace actorhost
