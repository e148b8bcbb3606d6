#pragma once
// All nodes in one process: a frame is moved into its receiver's mailbox, bodies by reference, no socket and no thread.

#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "host/net/transport.hpp"

namespace actorhost {

class LocalTransport final : public Transport {
 public:
  LocalTransport() = default;
  ~LocalTransport() override;

  Status attach(Address self, Mailbox& inbox) override;
  void detach(Address self) override;
  Status try_send(Frame&& frame) override;
  Status send(Frame&& frame, double seconds) override;
  void close() override;

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<Address, Mailbox*> inboxes_;
  bool closed_ = false;
};

}  // namespace actorhost
