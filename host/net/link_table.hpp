#pragma once
// Maps addresses to processes and processes to links, and stores frames that wait for a link. The routing half of
// StreamTransport, without own threads or sockets. Thread-safe; never blocks.

#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "host/net/address_map.hpp"
#include "host/net/link.hpp"
#include "host/net/rw_lock.hpp"

namespace actorhost {

class LinkTable {
 public:
  explicit LinkTable(size_t max_parked_bytes) : max_parked_bytes_(max_parked_bytes) {}

  enum class Sent { ok, full, no_route };
  struct Outcome {
    Sent sent = Sent::no_route;
    std::shared_ptr<Link> write;    // the caller must call its writer, now that no lock is held
    ProcessId wanted = kNoProcess;  // a link to this process is wanted, since its first frame was parked
  };
  /// Queues the frame on the link to frame.dst's process; without a link, parks the frame.
  Outcome send(Frame&& frame);
  void when_room(Address dst, std::function<void()> callback);

  void set_route(Address address, ProcessId process);
  /// Makes `link` the link to `process` and queues the parked frames. False if the process already has a link.
  bool assign(const std::shared_ptr<Link>& link, ProcessId process);
  /// Removes all routes to `process`; returns its link, if any.
  std::shared_ptr<Link> forget(ProcessId process);
  /// Refuses frames for `process` from now on and drops its parked frames. Its link remains open for its last frames.
  void refuse(ProcessId process);
  /// Removes a link that is over.
  void remove(const Link& link);
  std::shared_ptr<Link> link_of(ProcessId process) const;
  void close();

 private:
  struct Peer {
    ProcessId process = kNoProcess;
    std::shared_ptr<Link> link;
    std::deque<Frame> parked;
    size_t parked_bytes = 0;
    bool wanted = false;
    bool forgotten = false;
    std::vector<std::function<void()>> room_callbacks;
  };

  Peer& make_peer(ProcessId process);
  Peer* peer_of(Address dst) const;
  bool put(Peer& peer, Frame&& frame, Outcome& outcome);
  Outcome park(Frame&& frame);

  const size_t max_parked_bytes_;
  mutable RwLock lock_;
  bool closed_ = false;
  std::unordered_map<ProcessId, Peer> peers_;  // never erased, so pointers to the values remain valid
  AddressMap<Peer> routes_;                    // includes the service addresses of all peers
};

}  // namespace actorhost
