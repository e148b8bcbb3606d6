#pragma once
// A node's end of the locks: requests locks, waits, releases them. Owned and used by the node's thread. A node holds
// one lock at a time: nodes that take two locks in sequence could deadlock, nodes that request several keys together
// cannot. Partitions of several owners are requested process by process in the order of the processes' numbers. The
// order is the same on all nodes, so there is no deadlock either.
//
// Cost without contention: one round trip for each remote process that owns a requested key, no message for this node's
// own process (LockService is called directly), and one message to each remote process for the release. Nothing waits
// for that message: the next request to the process follows it in order.

#include <optional>
#include <string>
#include <vector>

#include "host/base/non_copyable.hpp"
#include "host/cluster/node.hpp"
#include "host/engine/share/lock_service.hpp"

namespace actorhost {

class LockClient : private NonCopyable {
 public:
  /// `courier` and `here` belong to the node's process.
  LockClient(Node& node, ServiceThread& courier, LockService& here) : node_(node), courier_(courier), here_(here) {}
  /// Releases the held lock.
  ~LockClient() { (void)release({}); }

  struct Wanted {
    std::vector<std::string> keys = {};         // named keys, compared as bytes; the first byte must not be 0
    std::vector<LockRequest::Part> parts = {};  // published partitions
    std::string name;                    // the name of the whole request in messages: "'w'", "ids 3, 7 of table 1"
    std::string where;                   // the script line
    std::optional<double> timeout = {};  // seconds
    SharedAccess access = SharedAccess::exclusive;
  };
  /// Blocks until this node holds all of it; returns the newest values of the parts. Code::timeout names the nodes
  /// ahead in the queue; peer_lost a failed owner; bad_argument a lock that the node already holds or an unpublished
  /// part. After an error nothing is held.
  Result<LockService::Values> lock(Wanted wanted);
  /// Releases the held lock, with new values for some of its parts, by their indices. The values are written before
  /// another node gets the parts. Code::unsupported if the values are too large for a message; then nothing is written.
  Status release(SharedWrites writes);
  bool holds() const noexcept { return !held_.empty(); }
  /// The number of parts in the last request.
  size_t parts() const noexcept { return parts_; }

 private:
  /// The part of a request that one process serves.
  struct Share {
    ProcessId process = 0;
    LockRequest request;
    std::vector<uint32_t> places;  // indices of its parts among all requested parts
    uint32_t id = 0;
  };

  Result<std::vector<Share>> shares_of(Wanted& wanted) const;
  Result<LockService::Values> take(Share& share, double deadline);
  Result<LockService::Values> wait_for(const Share& share, double deadline);
  Result<LockService::Values> read_reply(const Share& share, const Frame& frame) const;
  void release_share(const Share& share);
  void send(Frame&& frame);
  static std::vector<SharedWrites> sorted(const std::vector<Share>& held, SharedWrites&& writes);
  Error distrust(const Frame& frame, const Error& why) const;
  Error describe(const Share& share, const Error& error) const;
  std::string owner_names(const Share& share) const;
  std::string rank_name(Address node) const;
  LockTable::RequestId request_id_of(const Share& share) const { return {node_.address(), share.id}; }
  bool here(const Share& share) const { return share.process == courier_.process(); }

  Node& node_;
  ServiceThread& courier_;
  LockService& here_;
  uint32_t last_id_ = 0;  // number of requests so far
  std::string name_;      // of the newest request, like the members below
  size_t parts_ = 0;
  std::optional<double> timeout_;
  std::string held_where_;
  std::vector<Share> held_;
};

}  // namespace actorhost
