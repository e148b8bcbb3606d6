#include "host/net/directory.hpp"

#include "host/net/transport.hpp"

namespace actorhost {

class Directory::Shared {
 public:
  explicit Shared(const Directory& owner) : lock_(owner.lock_) { pthread_rwlock_rdlock(&lock_); }
  ~Shared() { pthread_rwlock_unlock(&lock_); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

 private:
  pthread_rwlock_t& lock_;
};

class Directory::Exclusive {
 public:
  explicit Exclusive(const Directory& owner) : lock_(owner.lock_) { pthread_rwlock_wrlock(&lock_); }
  ~Exclusive() { pthread_rwlock_unlock(&lock_); }
  Exclusive(const Exclusive&) = delete;
  Exclusive& operator=(const Exclusive&) = delete;

 private:
  pthread_rwlock_t& lock_;
};

Directory::Directory() {
  pthread_rwlockattr_t attributes;
  pthread_rwlockattr_init(&attributes);
  pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
  pthread_rwlock_init(&lock_, &attributes);
  pthread_rwlockattr_destroy(&attributes);
}

Directory::~Directory() { pthread_rwlock_destroy(&lock_); }

Status Directory::add(Address address, Mailbox& inbox) {
  Exclusive held(*this);
  if (closed_) return Error{Code::interrupted, "the transport of this host is closed"};
  if (!inboxes_.emplace(address, &inbox).second) {
    return Error{Code::bad_argument, address_name(address) + " is already attached"};
  }
  return {};
}

void Directory::remove(Address address) {
  Exclusive held(*this);
  inboxes_.erase(address);
}

bool Directory::has(Address address) const {
  Shared held(*this);
  return inboxes_.contains(address);
}

std::optional<Mailbox::Put> Directory::deliver(Frame&& frame) const {
  Shared held(*this);
  const auto found = inboxes_.find(frame.dst);
  if (found == inboxes_.end()) return std::nullopt;
  Mailbox& inbox = *found->second;
  return is_control(frame.kind) ? inbox.push_urgent(std::move(frame)) : inbox.try_push(std::move(frame));
}

void Directory::when_room(Address address, std::function<void()> told) const {
  {
    Shared held(*this);
    const auto found = inboxes_.find(address);
    if (found != inboxes_.end()) return found->second->when_room(std::move(told));
  }
  told();
}

void Directory::close() {
  Exclusive held(*this);
  closed_ = true;
  for (const auto& [address, inbox] : inboxes_) inbox->close();
  inboxes_.clear();
}

bool Directory::closed() const {
  Shared held(*this);
  return closed_;
}

Status delivery_status(std::optional<Mailbox::Put> put, Address dst, bool closed) {
  if (put == Mailbox::Put::ok) return {};
  if (closed) return Error{Code::interrupted, "the transport of this host is closed"};
  if (put == Mailbox::Put::full) return Error{Code::full, address_name(dst) + " has no room"};
  return Error{Code::peer_lost, address_name(dst) + " is not there"};
}

}  // namespace actorhost
