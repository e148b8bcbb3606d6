#pragma once
// Collectives that go on while their nodes compute: the calls of a process's nodes, driven on its courier's thread, any
// number at a time. The machine is that of blocking calls (CollectiveCall); frames travel between couriers.
//
// A node's calls of a group are numbered in the order in which it starts them, apart from its blocking ones, and each
// rank has to start the same ones in the same order. A call in which the group loses a member fails on all of them.

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "host/engine/collective/collective_call.hpp"
#include "host/engine/courier.hpp"

namespace actorhost {

/// A call under way, shared by the node that started it and the courier.
class AsyncCall {
 public:
  bool done() const noexcept { return done_.load(std::memory_order_acquire); }
  /// How it has ended; once done, by the node, once.
  Result<CallResult> take() { return std::move(*outcome_); }
  const std::string& name() const noexcept { return name_; }

 private:
  friend class AsyncCalls;
  std::string name_;
  std::function<void()> wake_;  // the node
  std::atomic<bool> done_{false};
  std::optional<Result<CallResult>> outcome_;
};

class AsyncCalls final : public CourierTask {
 public:
  struct Start {
    CallSpec spec;
    CollectiveCall::Group group;
    uint32_t number = 0;  // of the rank's asynchronous calls of this group, from 1
    std::vector<NodeId> members{};
    double deadline = kForever;
    std::function<void()> wake{};  // called on the courier's thread when the call is done
  };

  explicit AsyncCalls(Courier& courier);

  /// Any thread. The input is read until the call is done.
  std::shared_ptr<AsyncCall> start(Start start);

  void on_frame(Frame&& frame, double now) override;
  void on_membership(const MembershipPtr& membership, double now) override;
  double tick(double now) override;

 private:
  using Key = std::tuple<uint32_t, uint32_t, uint32_t>;  // group, number, member
  struct Running {
    std::shared_ptr<AsyncCall> handle;
    std::vector<Address> couriers;  // of the members
    std::vector<NodeId> members;
    std::unique_ptr<CollectiveCall> call;
    double deadline = kForever;
    bool asked = false;
  };

  void begin(Start start, const std::shared_ptr<AsyncCall>& handle);
  void report_losses(Running& running, const Membership& membership);

  Courier& courier_;
  std::map<Key, Running> running_;
  std::map<Key, std::vector<Frame>> early_;                   // for calls that this process's nodes have still to start
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> newest_;  // by group and member: started so far
};

}  // namespace actorhost
