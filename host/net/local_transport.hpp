#pragma once
// The transport between nodes of one process. It moves a frame into its receiver's mailbox without copying the body. It
// has no socket and no thread. Thread-safe, like every transport (transport.hpp).

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
