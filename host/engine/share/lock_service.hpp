#pragma once
// The locks that a process looks after, and the partitions that its nodes have published: a task of its courier. Nodes
// of other processes ask by frames; those of this process call it directly, which takes no message where a lock is
// free. All nodes stand in the same queues. All calls are short and take one lock; any thread.
//
// The values of a request are read when it is granted and written when it is released, so the next holder gets them. A
// holder that dies before its release leaves the old values.

#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "host/cluster/service_thread.hpp"
#include "host/engine/share/lock_messages.hpp"
#include "host/engine/share/lock_table.hpp"
#include "host/engine/share/shared_store.hpp"

namespace actorhost {

class LockService final : public ServiceTask {
 public:
  /// Adds itself to the courier, which has not been started.
  explicit LockService(ServiceThread& courier);

  using Values = std::vector<PackedValue>;
  /// Asks for everything that `ask` names, at once. The values of its parts when that is granted; nothing when it has
  /// to wait: a frame (granted or refused, with the request's number) then comes to the node, and after a grant
  /// `collect` gives the values. Code::bad_argument as LockTable::ask and for a part that is not published.
  Result<std::optional<Values>> ask(const LockTable::Request& request, LockAsk ask);
  /// The values of a request that has been granted. bad_argument when an owner has withdrawn one of its parts
  /// meanwhile.
  Result<Values> collect(const LockTable::Request& request);
  /// Writes the values and gives the lock back; also takes back a request that still waits. One that is not there (its
  /// node was taken for lost) writes nothing.
  void release(const LockTable::Request& request, SharedWrites writes);
  /// Takes a request back that still waits, and says for which nodes it waited; nothing when it has been granted (its
  /// frame is on its way).
  std::optional<std::vector<LockTable::Blocker>> withdraw(const LockTable::Request& request);

  /// Whether the request is here and has not been granted.
  bool waits(const LockTable::Request& request) const;

  void publish(const SharedPart& part, NodeId owner, PackedValue value);
  void withdraw_table(uint32_t table, NodeId owner);
  std::optional<PackedValue> read(const SharedPart& part) const;

  void on_frame(Frame&& frame, double now) override;
  void on_membership(const MembershipPtr& membership, double now) override;

 private:
  struct Asked {
    bool local = false;  // the node collects
    uint64_t epoch = 0;
    std::vector<LockAsk::Part> parts;
    SharedAccess access = SharedAccess::exclusive;
  };

  // With the lock held.
  Result<bool> enter(const LockTable::Request& request, LockAsk ask, bool local);
  const Asked* find(const LockTable::Request& request) const;
  void forget(const LockTable::Request& request);
  Status check_published(const std::vector<LockAsk::Part>& parts) const;
  Result<Values> values_of(const LockTable::Request& request) const;
  void give_back(const LockTable::Request& request, SharedWrites&& writes);
  void store(const LockAsk::Part& where, SharedAccess access, PackedValue&& value);
  void tell_granted();
  void tell_granted(const LockTable::Request& request);
  void refuse(const LockTable::Request& request, const Error& error);

  void on_ask(const Frame& frame);
  void on_release(const Frame& frame);

  ServiceThread& courier_;
  mutable std::mutex mutex_;  // guards what follows
  LockTable table_;
  SharedStore store_;
  std::map<Address, std::map<uint32_t, Asked>> asked_;  // by node and number, as in table_; none is empty
  MembershipPtr membership_;
};

}  // namespace actorhost
