#pragma once
// The locks that a process serves, and the partitions that its nodes have published: a task of its courier. Nodes of
// other processes send request frames. Nodes of this process call it directly, which needs no message for a free lock.
// All nodes share the same queues. Thread-safe: every call is short and takes one mutex.
//
// The values of a request are read when the request is granted and written when it is released, so the next holder gets
// the new values. If a holder fails before its release, the old values remain.

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
  /// Adds itself to the courier, which must not have started.
  explicit LockService(ServiceThread& courier);

  using Values = std::vector<PackedValue>;
  /// Requests everything that `wanted` names, all at once. Returns the values of its parts if granted. Returns nothing
  /// if the request must wait: later the node gets a frame (granted or refused, with the request's number), and after a
  /// grant `collect` returns the values. Code::bad_argument as in LockTable::acquire, and for an unpublished part.
  Result<std::optional<Values>> acquire(const LockTable::RequestId& request, LockRequest wanted);
  /// The values of a granted request. bad_argument if an owner has withdrawn one of its parts.
  Result<Values> collect(const LockTable::RequestId& request);
  /// Writes the values and releases the lock; also cancels a waiting request. An unknown request (its node was
  /// considered failed) writes nothing.
  void release(const LockTable::RequestId& request, SharedWrites writes);
  /// Cancels a waiting request and returns the nodes that it waited for; nothing if the request is granted (its frame
  /// is in flight).
  std::optional<std::vector<LockTable::Blocker>> withdraw(const LockTable::RequestId& request);

  /// Whether the request is known and not granted.
  bool waits(const LockTable::RequestId& request) const;

  void publish(const SharedPart& part, NodeId owner, PackedValue value);
  void withdraw_table(uint32_t table, NodeId owner);
  std::optional<PackedValue> read(const SharedPart& part) const;

  void on_frame(Frame&& frame, double now) override;
  void on_membership(const MembershipPtr& membership, double now) override;

 private:
  struct RequestState {
    bool local = false;  // the node collects
    uint64_t epoch = 0;
    std::vector<LockRequest::Part> parts;
    SharedAccess access = SharedAccess::exclusive;
  };

  // With mutex_ locked.
  Result<bool> enter(const LockTable::RequestId& request, LockRequest wanted, bool local);
  const RequestState* find(const LockTable::RequestId& request) const;
  void forget(const LockTable::RequestId& request);
  Status check_published(const std::vector<LockRequest::Part>& parts) const;
  Result<Values> values_of(const LockTable::RequestId& request) const;
  void write_and_release(const LockTable::RequestId& request, SharedWrites&& writes);
  void store(const LockRequest::Part& where, SharedAccess access, PackedValue&& value);
  void notify_granted();
  void notify_granted(const LockTable::RequestId& request);
  void refuse(const LockTable::RequestId& request, const Error& error);

  void on_request(const Frame& frame);
  void on_release(const Frame& frame);

  ServiceThread& courier_;
  mutable std::mutex mutex_;  // guards the members below
  LockTable table_;
  SharedStore store_;
  std::map<Address, std::map<uint32_t, RequestState>> requests_;  // by node and number, as in table_; no map is empty
  MembershipPtr membership_;
};

}  // namespace actorhost
