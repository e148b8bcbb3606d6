#pragma once
// Which process an address lives in, which link leads to a process, and the frames that wait for a link. The routing
// half of StreamTransport, without threads or sockets of its own. Any thread may call; nothing in here waits.

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

  enum class Sent { ok, full, nowhere };
  struct Outcome {
    Sent sent = Sent::nowhere;
    std::shared_ptr<Link> write;    // its writer has to be called, now that no lock is held
    ProcessId wanted = kNoProcess;  // the first frame was parked for this process: a link to it is wanted
  };
  /// Gives the frame to the link that leads to frame.dst's process, or parks it where there is none yet.
  Outcome send(Frame&& frame);
  void when_room(Address dst, std::function<void()> told);

  void set_route(Address address, ProcessId process);
  /// Makes `link` the one to `process` and queues what was parked. Returns false when there is one already.
  bool assign(const std::shared_ptr<Link>& link, ProcessId process);
  /// Removes all ways to `process`; returns its link, if it had one.
  std::shared_ptr<Link> forget(ProcessId process);
  /// Refuses frames for `process` from now on and drops parked ones; a link that it has stays open for what it still
  /// has to say.
  void refuse(ProcessId process);
  /// The link is over.
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
    std::vector<std::function<void()>> want_room;
  };

  Peer& make_peer(ProcessId process);
  Peer* peer_of(Address dst) const;
  bool put(Peer& peer, Frame&& frame, Outcome& outcome);
  Outcome park(Frame&& frame);

  const size_t max_parked_bytes_;
  mutable RwLock lock_;
  bool closed_ = false;
  std::unordered_map<ProcessId, Peer> peers_;  // never erased, so that pointers into it stay
  AddressMap<Peer> routes_;                    // service addresses of all peers included
};

}  // namespace actorhost
