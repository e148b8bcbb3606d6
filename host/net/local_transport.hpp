#pragma once
// All nodes in one process: a frame is moved into its receiver's mailbox, bodies by reference, no socket and
// no thread.

#include "host/net/directory.hpp"
#include "host/net/transport.hpp"

namespace actorhost {

class LocalTransport final : public Transport {
 public:
  LocalTransport() = default;
  ~LocalTransport() override;

  Status attach(Address self, Mailbox& inbox) override;
  void detach(Address self) override;
  Status try_send(Frame&& frame) override;
  void when_room(Address dst, std::function<void()> told) override;
  void close() override;

 private:
  Directory inboxes_;
};

}  // namespace actorhost
