#pragma once
// Asynchronous collectives: the calls of a process's nodes run on its courier's thread, any number at a time, while the
// nodes compute. They use the same machine as blocking calls (CollectiveCall); frames travel between couriers.
//
// A node numbers its asynchronous calls of a group in the order of their starts, separately from its blocking calls.
// All ranks must start the same calls in the same order. A call fails on all ranks when the group loses a member.

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "host/cluster/service_thread.hpp"
#include "host/engine/collective/arbiter.hpp"
#include "host/engine/collective/call.hpp"
#include "host/engine/collective/stall_inspector.hpp"

namespace actorhost {

/// A call in progress, shared by the node that started it and the courier.
class AsyncCall {
 public:
  bool done() const noexcept { return done_.load(std::memory_order_acquire); }
  /// The outcome. Call it once, on the node's thread, after `done`.
  Result<CallResult> take() { return std::move(*outcome_); }
  /// Describes the call and its members.
  WaitingCall description() const noexcept {
    return {name_, signature_, where_, ids_, ranks_, sequence_of(std::get<0>(key_), true)};
  }
  /// After `done`: whether the call has failed with a loss, and the members that this process knew to be lost then.
  bool failed_with_loss() const noexcept { return failed_with_loss_; }
  const std::vector<NodeId>& lost() const noexcept { return lost_; }
  /// After `done`: the epoch that informs all ranks of a loss; 0 without a loss.
  uint64_t loss_epoch() const noexcept { return loss_epoch_; }
  /// Places of the members that had not started the call at the last `AsyncCalls::query_missing`.
  std::vector<uint32_t> absent() const {
    std::lock_guard lock(mutex_);
    return absent_;
  }

 private:
  friend class AsyncCalls;
  using Key = std::tuple<uint32_t, uint32_t, uint32_t>;  // group, number, id of the member

  void set_absent(std::vector<uint32_t> absent) {
    std::lock_guard lock(mutex_);
    absent_ = std::move(absent);
  }

  std::string name_, signature_, where_;
  std::vector<NodeId> ids_;
  std::vector<uint32_t> ranks_;
  Key key_{};
  std::function<void()> wake_;  // wakes the node
  mutable std::mutex mutex_;    // guards absent_
  std::vector<uint32_t> absent_;
  std::atomic<bool> done_{false};  // the members below are constant once it is true
  bool failed_with_loss_ = false;
  std::vector<NodeId> lost_;
  uint64_t loss_epoch_ = 0;
  std::optional<Result<CallResult>> outcome_;
};

class AsyncCalls final : public ServiceTask {
 public:
  struct Start {
    CallSpec spec;
    CallGroup group;
    uint32_t number = 0;  // of the call among the rank's asynchronous calls of this group, from 1
    CallClock clock{};
    std::function<void()> wake{};  // called on the courier's thread when the call is done
  };

  AsyncCalls(ServiceThread& courier, Arbiter& arbiter);

  /// Thread-safe. The call reads its input until it is done.
  std::shared_ptr<AsyncCall> start(Start start);
  /// Thread-safe: lets the call find out which members are absent.
  void query_missing(const std::shared_ptr<AsyncCall>& call);
  /// Thread-safe: this rank has found that the call cannot complete. The leader ends the call on all ranks.
  void give_up(const std::shared_ptr<AsyncCall>& call, const Error& error);

  void on_frame(Frame&& frame, double now) override;
  void on_membership(const MembershipPtr& membership, double now) override;
  double tick(double now) override;

 private:
  using Key = AsyncCall::Key;
  struct Running {
    std::shared_ptr<AsyncCall> handle;
    std::vector<Address> couriers;  // of the members
    std::unique_ptr<CollectiveCall> call;
  };

  Running* find(const AsyncCall& call);
  void wire(Running& running, Start& start, const Membership& membership);
  void deliver(Running& running, Frame&& frame);
  void appeal_for_late(const Route& route, const Frame& frame, std::vector<NodeId> members);
  void finish(Running& running);
  void begin(Start start, const std::shared_ptr<AsyncCall>& handle);

  ServiceThread& courier_;
  Arbiter& arbiter_;
  std::map<Key, Running> running_;
  std::map<Key, std::vector<Frame>> early_;                 // for calls that this process's nodes have not started yet
  std::map<std::pair<uint32_t, NodeId>, uint32_t> newest_;  // by group and member: newest started call
  ChoiceLog choices_;
};

}  // namespace actorhost
