#pragma once
// The transport of nodes in one process: moves a frame into its receiver's mailbox, without copying bodies, and without
// sockets or threads.

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
  void when_room(Address dst, std::function<void()> callback) override;
  void close() override;

 private:
  Directory inboxes_;
};

}  // namespace actorhost
