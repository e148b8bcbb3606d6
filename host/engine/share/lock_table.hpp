#pragma once
// Decides which requests hold which keys and which requests wait: the state behind `lock(keys, fn)`, without threads,
// clocks or messages. Each key has a queue. A request is in the queues of all its keys at once and is granted when it
// is first in each of them. So it never overtakes an earlier request for one of its keys: first come, first served,
// without starvation. All requests enter their queues in one order, so of several waiting requests the oldest is
// granted next: there is no deadlock. O(keys) for each call, except for removing a request from the middle of long
// queues. Not thread-safe; used under its owner's mutex.

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/base/result.hpp"
#include "host/wire/message.hpp"

namespace actorhost {

class LockTable {
 public:
  /// Compared by value; the caller defines the meaning of the bytes.
  using Key = std::string;
  /// Identifies a node's request; the node chooses the ids.
  struct RequestId {
    Address node = kNoAddress;
    uint32_t id = 0;
    friend bool operator==(const RequestId&, const RequestId&) = default;
  };
  /// A request ahead of another request.
  struct Blocker {
    Address node = kNoAddress;
    std::string where;   // the script line of its call
    bool holds = false;  // holds its keys; else it waits too
    static void fields(auto& m, auto&& field) { field(m.node, words(m.where), m.holds); }
    friend bool operator==(const Blocker&, const Blocker&) = default;
  };

  /// Requests all of `keys`; duplicates count once. True if they are granted at once. Code::bad_argument if the node
  /// already holds or awaits a key of the request, because it would wait for itself; also if the request's
  /// number is in use.
  Result<bool> acquire(const RequestId& request, std::vector<Key> keys, std::string where);
  /// Releases the keys of a granted request, or cancels a waiting request. False for an unknown request (its node has
  /// failed).
  bool release(const RequestId& request);
  /// Cancels a waiting request. False if the request is granted or unknown.
  bool withdraw(const RequestId& request);
  /// Releases all keys and cancels all requests of the node.
  void lost(Address node);

  /// Requests that releases of other nodes have granted since the last call, in the order of the grants.
  std::vector<RequestId> take_granted() { return std::exchange(granted_, {}); }
  bool holds(const RequestId& request) const;
  /// The requests that are first in the queues of this waiting request, each once: they hold the keys, or wait for
  /// other keys of their own.
  std::vector<Blocker> blockers(const RequestId& request) const;
  /// Every node with a request, each once.
  std::vector<Address> nodes() const;
  bool empty() const noexcept { return entries_.empty(); }

 private:
  struct Hash {
    size_t operator()(const RequestId& r) const noexcept {
      return std::hash<uint64_t>()(uint64_t{r.node} << 32 | r.id);
    }
  };
  struct Entry {
    std::vector<Key> keys;  // sorted, each once
    std::string where;
    size_t behind = 0;  // queues where it is not first
  };
  using Queue = std::deque<RequestId>;

  Status check_own(Address node, const std::vector<Key>& keys) const;
  void remove(const RequestId& request);

  std::unordered_map<RequestId, Entry, Hash> entries_;
  std::unordered_map<Key, Queue> queues_;             // no queue is empty
  std::map<Address, std::vector<uint32_t>> by_node_;  // ids of its requests; no list is empty
  std::vector<RequestId> granted_;
};

}  // namespace actorhost
