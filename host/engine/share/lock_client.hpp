#pragma once
// A node's end of the locks: asks for them, waits, gives them back. Owned and used by the node's thread. A node holds
// one lock at a time: nodes that take two one after the other could wait for each other in a circle, nodes that ask for
// several keys together cannot. Partitions at several owners are asked for process by process, in the order of the
// processes' numbers, the same on all nodes, which makes no circle either.
//
// Uncontended it takes one round trip for each process that owns something, none for those of this node's own process
// (LockService is called directly), and one message each to give back. Nothing waits for that message: the next request
// there stands behind it.

#include <optional>
#include <string>
#include <vector>

#include "host/cluster/node.hpp"
#include "host/engine/share/lock_service.hpp"

namespace actorhost {

class LockClient {
 public:
  /// `courier` and `here` are those of the node's process.
  LockClient(Node& node, ServiceThread& courier, LockService& here) : node_(node), courier_(courier), here_(here) {}
  /// Gives back what is held.
  ~LockClient() { (void)release({}); }
  LockClient(const LockClient&) = delete;
  LockClient& operator=(const LockClient&) = delete;

  struct Wanted {
    std::vector<std::string> keys = {};     // named ones, as they are compared; not with a first byte of 0
    std::vector<LockAsk::Part> parts = {};  // published ones
    std::string name;                       // what messages call all that: "'w'", "ids 3, 7 of table 1"
    std::string where;                      // the script line
    std::optional<double> timeout = {};     // seconds
    SharedAccess access = SharedAccess::exclusive;
  };
  /// Waits until this node has all of it, and gives the newest values of the parts. Code::timeout names the nodes that
  /// were before it; peer_lost an owner that is gone; bad_argument a lock that is held already, or a part that is not
  /// published. After a failure nothing is held.
  Result<LockService::Values> lock(Wanted wanted);
  /// Gives back what is held, with new values for some of its parts, by their places. These are written before another
  /// node is granted them. Code::unsupported when they are too many bytes for a message; then nothing is written.
  Status release(SharedWrites writes);
  bool holds() const noexcept { return !held_.empty(); }
  /// How many parts the newest lock was asked for with.
  size_t parts() const noexcept { return parts_; }

 private:
  /// What is asked for in one process.
  struct Share {
    ProcessId process = 0;
    LockAsk ask;
    std::vector<uint32_t> places;  // of its parts among all that are wanted
    uint32_t id = 0;
  };

  Result<std::vector<Share>> shares_of(Wanted& wanted) const;
  Result<LockService::Values> take(Share& share, double deadline);
  Result<LockService::Values> wait_for(const Share& share, double deadline);
  Result<LockService::Values> read_answer(const Share& share, const Frame& frame) const;
  void give_back(const Share& share);
  void say(Frame&& frame);
  static std::vector<SharedWrites> sorted(const std::vector<Share>& held, SharedWrites&& writes);
  Error distrust(const Frame& frame, const Error& why) const;
  Error describe(const Share& share, const Error& error) const;
  std::string owner_names(const Share& share) const;
  std::string rank_name(Address node) const;
  LockTable::Request request_of(const Share& share) const { return {node_.address(), share.id}; }
  bool here(const Share& share) const { return share.process == courier_.process(); }

  Node& node_;
  ServiceThread& courier_;
  LockService& here_;
  uint32_t asked_ = 0;  // requests so far
  std::string name_;    // of the newest, as all below
  size_t parts_ = 0;
  std::optional<double> timeout_;
  std::string held_where_;
  std::vector<Share> held_;
};

}  // namespace actorhost
