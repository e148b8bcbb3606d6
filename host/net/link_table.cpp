#include "host/net/link_table.hpp"

#include <limits>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "host/net/transport.hpp"

namespace actorhost {

LinkTable::Peer& LinkTable::make_peer(ProcessId process) {
  const auto [at, made] = peers_.try_emplace(process);
  if (made) {
    at->second.process = process;
    routes_.set(service_address(process), &at->second);
  }
  return at->second;
}

LinkTable::Peer* LinkTable::peer_of(Address dst) const {
  Peer* peer = routes_.find(dst);
  return peer != nullptr && !peer->forgotten ? peer : nullptr;
}

/// Queues a frame. False if the link is over; the caller then keeps the frame.
bool LinkTable::put(Peer& peer, Frame&& frame, Outcome& outcome) {
  const size_t times = is_control(frame.kind) ? Mailbox::kUrgentFactor : 1;
  const auto result = peer.link->writer().put(std::move(frame), times);
  if (result.put == Mailbox::Put::closed) return false;
  outcome.sent = result.put == Mailbox::Put::ok ? Sent::ok : Sent::full;
  if (result.write) outcome.write = peer.link;
  return true;
}

LinkTable::Outcome LinkTable::send(Frame&& frame) {
  {
    std::shared_lock held(lock_);
    Peer* peer = peer_of(frame.dst);
    Outcome outcome;
    if (peer != nullptr && peer->link && put(*peer, std::move(frame), outcome)) return outcome;
  }
  return park(std::move(frame));
}

LinkTable::Outcome LinkTable::park(Frame&& frame) {
  std::unique_lock held(lock_);
  Outcome outcome;
  if (closed_) return outcome;
  if (is_service(frame.dst)) make_peer(address_index(frame.dst));
  Peer* peer = peer_of(frame.dst);
  if (peer == nullptr) return outcome;
  if (peer->link && put(*peer, std::move(frame), outcome)) return outcome;
  const size_t cost = frame.cost();
  const size_t times = is_control(frame.kind) ? Mailbox::kUrgentFactor : 1;
  if (peer->parked_bytes != 0 && peer->parked_bytes + cost > times * max_parked_bytes_) {
    outcome.sent = Sent::full;
    return outcome;
  }
  peer->parked_bytes += cost;
  peer->parked.push_back(std::move(frame));
  if (!std::exchange(peer->wanted, true)) outcome.wanted = peer->process;
  outcome.sent = Sent::ok;
  return outcome;
}

void LinkTable::when_room(Address dst, std::function<void()> callback) {
  std::shared_ptr<Link> link;
  {
    std::unique_lock held(lock_);
    Peer* peer = peer_of(dst);
    if (peer != nullptr && peer->link) {
      link = peer->link;
    } else if (peer != nullptr && !peer->parked.empty()) {
      peer->room_callbacks.push_back(std::move(callback));
      return;
    }
  }
  if (link) return link->writer().when_room(std::move(callback));
  callback();
}

void LinkTable::set_route(Address address, ProcessId process) {
  std::unique_lock held(lock_);
  if (process != kNoProcess) {
    routes_.set(address, &make_peer(process));
  } else if (routes_.find(address) != nullptr) {
    routes_.set(address, nullptr);
  }
}

bool LinkTable::assign(const std::shared_ptr<Link>& link, ProcessId process) {
  std::vector<std::function<void()>> callbacks;
  bool write = false;
  {
    std::unique_lock held(lock_);
    if (closed_) return true;
    Peer& peer = make_peer(process);
    if (peer.link) return peer.link == link;
    link->set_process(process);
    peer.link = link;
    peer.wanted = peer.forgotten = false;
    for (Frame& frame : peer.parked) {
      write |= link->writer().put(std::move(frame), std::numeric_limits<uint32_t>::max()).write;
    }
    peer.parked.clear();
    peer.parked_bytes = 0;
    callbacks.swap(peer.room_callbacks);
  }
  if (write) link->writer().write();
  for (const auto& callback : callbacks) callback();
  return true;
}

std::shared_ptr<Link> LinkTable::forget(ProcessId process) {
  refuse(process);
  std::unique_lock held(lock_);
  return std::exchange(make_peer(process).link, nullptr);
}

void LinkTable::refuse(ProcessId process) {
  std::vector<std::function<void()>> callbacks;
  std::deque<Frame> dropped;  // freed outside the lock, since that notifies the lenders of bodies
  {
    std::unique_lock held(lock_);
    Peer& peer = make_peer(process);
    peer.forgotten = true;
    peer.wanted = false;
    peer.parked_bytes = 0;
    dropped.swap(peer.parked);
    callbacks.swap(peer.room_callbacks);
  }
  for (const auto& callback : callbacks) callback();
}

void LinkTable::remove(const Link& link) {
  std::unique_lock held(lock_);
  const auto found = peers_.find(link.process());
  if (found != peers_.end() && found->second.link.get() == &link) found->second.link.reset();
}

std::shared_ptr<Link> LinkTable::link_of(ProcessId process) const {
  std::shared_lock held(lock_);
  const auto found = peers_.find(process);
  return found != peers_.end() ? found->second.link : nullptr;
}

void LinkTable::close() {
  std::vector<std::function<void()>> callbacks;
  std::unordered_map<ProcessId, Peer> dropped;
  {
    std::unique_lock held(lock_);
    closed_ = true;
    routes_.clear();
    dropped.swap(peers_);
  }
  for (auto& [process, peer] : dropped) {
    for (const auto& callback : peer.room_callbacks) callback();
  }
}

}  // namespace actorhost
