#include "host/net/directory.hpp"

#include <mutex>
#include <shared_mutex>

#include "host/net/transport.hpp"

namespace actorhost {

Status Directory::add(Address address, Mailbox& inbox) {
  std::unique_lock held(lock_);
  if (closed_) return Error{Code::interrupted, "the transport of this host is closed"};
  if (inboxes_.find(address) != nullptr) {
    return Error{Code::bad_argument, address_name(address) + " is already attached"};
  }
  inboxes_.set(address, &inbox);
  if (!is_of_process(address)) nodes_.fetch_add(1, std::memory_order_relaxed);
  attached_filter_.fetch_or(filter_bit(address), std::memory_order_release);
  return {};
}

void Directory::remove(Address address) {
  std::unique_lock held(lock_);
  if (inboxes_.find(address) == nullptr) return;
  inboxes_.set(address, nullptr);
  if (!is_of_process(address)) nodes_.fetch_sub(1, std::memory_order_relaxed);
}

bool Directory::has(Address address) const {
  std::shared_lock held(lock_);
  return inboxes_.find(address) != nullptr;
}

std::optional<Mailbox::Put> Directory::deliver(Frame&& frame) const {
  if ((attached_filter_.load(std::memory_order_acquire) & filter_bit(frame.dst)) == 0) return std::nullopt;
  std::shared_lock held(lock_);
  Mailbox* inbox = inboxes_.find(frame.dst);
  if (inbox == nullptr) return std::nullopt;
  return is_control(frame.kind) ? inbox->push_urgent(std::move(frame)) : inbox->try_push(std::move(frame));
}

std::optional<Mailbox::Put> Directory::deliver_run(std::span<Frame> run, bool unbounded, size_t& taken) const {
  std::shared_lock held(lock_);
  taken = 0;
  Mailbox* inbox = inboxes_.find(run.front().dst);
  if (inbox == nullptr) return std::nullopt;
  const auto bound = is_control(run.front().kind) ? Mailbox::Bound::urgent : Mailbox::Bound::normal;
  return inbox->push_run(run, unbounded ? Mailbox::Bound::none : bound, taken);
}

Blob Directory::room_for(const Frame& head, size_t bytes) const {
  std::shared_lock held(lock_);
  Mailbox* inbox = inboxes_.find(head.dst);
  return inbox == nullptr ? Blob() : inbox->receive_buffers().take(head, bytes);
}

void Directory::when_room(Address address, std::function<void()> callback) const {
  {
    std::shared_lock held(lock_);
    if (Mailbox* inbox = inboxes_.find(address)) return inbox->when_room(std::move(callback));
  }
  callback();
}

void Directory::close() {
  std::unique_lock held(lock_);
  closed_ = true;
  inboxes_.for_each([](Mailbox& inbox) { inbox.close(); });
  inboxes_.clear();
  nodes_ = 0;
}

bool Directory::closed() const {
  std::shared_lock held(lock_);
  return closed_;
}

Status delivery_status(std::optional<Mailbox::Put> put, Address dst, bool closed) {
  if (put == Mailbox::Put::ok) return {};
  if (closed) return Error{Code::interrupted, "the transport of this host is closed"};
  if (put == Mailbox::Put::full) return Error{Code::full, address_name(dst) + " has no room"};
  return Error{Code::peer_lost, address_name(dst) + " is not there"};
}

}  // namespace actorhost
