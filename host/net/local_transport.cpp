#include "host/net/local_transport.hpp"

#include <utility>

namespace actorhost {

LocalTransport::~LocalTransport() { close(); }

Status LocalTransport::attach(Address self, Mailbox& inbox) { return inboxes_.add(self, inbox); }

void LocalTransport::detach(Address self) { inboxes_.remove(self); }

Status LocalTransport::try_send(Frame&& frame) {
  const Address dst = frame.dst;
  const auto put = inboxes_.deliver(std::move(frame));
  if (put == Mailbox::Put::ok) return {};
  return delivery_status(put, dst, inboxes_.closed());
}

void LocalTransport::when_room(Address dst, std::function<void()> callback) {
  inboxes_.when_room(dst, std::move(callback));
}

void LocalTransport::close() { inboxes_.close(); }

}  // namespace actorhost
