#include "host/net/directory.hpp"

#include <mutex>
#include <shared_mutex>

#include "host/net/transport.hpp"

namespace actorhost {

Status Directory::add(Address address, Mailbox& inbox) {
  std::unique_lock held(lock_);
  if (closed_) return Error{Code::interrupted, "the transport of this host is closed"};
  if (!inboxes_.emplace(address, &inbox).second) {
    return Error{Code::bad_argument, address_name(address) + " is already attached"};
  }
  return {};
}

void Directory::remove(Address address) {
  std::unique_lock held(lock_);
  inboxes_.erase(address);
}

bool Directory::has(Address address) const {
  std::shared_lock held(lock_);
  return inboxes_.contains(address);
}

std::optional<Mailbox::Put> Directory::deliver(Frame&& frame) const {
  std::shared_lock held(lock_);
  const auto found = inboxes_.find(frame.dst);
  if (found == inboxes_.end()) return std::nullopt;
  Mailbox& inbox = *found->second;
  return is_control(frame.kind) ? inbox.push_urgent(std::move(frame)) : inbox.try_push(std::move(frame));
}

std::optional<Mailbox::Put> Directory::deliver_run(std::span<Frame> run, size_t& taken) const {
  std::shared_lock held(lock_);
  taken = 0;
  const auto found = inboxes_.find(run.front().dst);
  if (found == inboxes_.end()) return std::nullopt;
  return found->second->push_run(run, is_control(run.front().kind), taken);
}

void Directory::when_room(Address address, std::function<void()> told) const {
  {
    std::shared_lock held(lock_);
    const auto found = inboxes_.find(address);
    if (found != inboxes_.end()) return found->second->when_room(std::move(told));
  }
  told();
}

void Directory::close() {
  std::unique_lock held(lock_);
  closed_ = true;
  for (const auto& [address, inbox] : inboxes_) inbox->close();
  inboxes_.clear();
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
