#pragma once
// Which requests hold which keys, and which wait: the state behind `lock(keys, fn)`, without threads, clocks or
// messages. Each key has a queue. A request stands in the queues of all its keys at once and is granted when it is
// first in each. So it never passes an earlier request that wants one of its keys: first come, first served, none
// starves. All requests enter their queues in one order, so of requests that wait for each other the oldest is granted
// next: there is no deadlock. O(keys) for each call, but for a request that is taken out of the middle of long queues.
// Used under its owner's lock.

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
  /// Compared by value; what the bytes mean is the caller's business.
  using Key = std::string;
  /// A node's request: ids are the node's own numbers.
  struct Request {
    Address node = kNoAddress;
    uint32_t id = 0;
    friend bool operator==(const Request&, const Request&) = default;
  };
  /// A request that stands before another one.
  struct Blocker {
    Address node = kNoAddress;
    std::string where;   // the script line of its call
    bool holds = false;  // it has what it asked for; else it waits too
    static void fields(auto& m, auto&& field) { field(m.node, words(m.where), m.holds); }
    friend bool operator==(const Blocker&, const Blocker&) = default;
  };

  /// Asks for all of `keys` (doubles count once). True when they are granted at once. Code::bad_argument when the node
  /// holds one of them, or waits for one: it would wait for itself. Request numbers of a node are not used twice at a
  /// time (bad_argument too).
  Result<bool> ask(const Request& request, std::vector<Key> keys, std::string where);
  /// The keys are free again, or not wanted any more, whether they had been granted or not. False for a request that is
  /// not there (its node was lost meanwhile).
  bool release(const Request& request);
  /// As release, for one that still waits. False when it is granted or not there.
  bool withdraw(const Request& request);
  /// Releases everything that the node holds or waits for.
  void lost(Address node);

  /// Requests that have been granted since the last call by what others gave back, in the order in which they were.
  std::vector<Request> take_granted() { return std::exchange(granted_, {}); }
  bool holds(const Request& request) const;
  /// The requests that are first in the queues in which this request waits: they hold the keys, or wait for other keys
  /// of their own. Each once.
  std::vector<Blocker> blockers(const Request& request) const;
  /// Every node with a request, each once.
  std::vector<Address> nodes() const;
  bool empty() const noexcept { return entries_.empty(); }

 private:
  struct Hash {
    size_t operator()(const Request& r) const noexcept { return std::hash<uint64_t>()(uint64_t{r.node} << 32 | r.id); }
  };
  struct Entry {
    std::vector<Key> keys;  // in order, each once
    std::string where;
    size_t behind = 0;  // queues in which it is not first
  };
  using Queue = std::deque<Request>;

  Status check_own(Address node, const std::vector<Key>& keys) const;
  void remove(const Request& request);

  std::unordered_map<Request, Entry, Hash> entries_;
  std::unordered_map<Key, Queue> queues_;             // none is empty
  std::map<Address, std::vector<uint32_t>> by_node_;  // ids of its requests; none is empty
  std::vector<Request> granted_;
};

}  // namespace actorhost
