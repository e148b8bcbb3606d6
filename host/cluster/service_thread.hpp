#pragma once
// A thread for work that must continue while a process's nodes compute in Lua. It has its own address, which the
// cluster attaches before the run starts, so each frame finds a mailbox. An idle thread only sleeps. Each process has
// two: the courier, courier_address(process), for tasks of the engines (locks, shared partitions, collectives in
// progress, averaging), and the map-reduce data service, data_address(process), which may wait for the disk. Public
// functions are thread-safe unless noted otherwise.
//
//   ServiceThread courier(cluster, clock, log, courier_address(cluster.process()));
//   courier.add(kinds_of(Kind::lock_first), service);   // a ServiceTask
//   courier.start();
//   ...
//   courier.stop();                                      // before the task is destroyed

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/log.hpp"
#include "host/base/non_copyable.hpp"
#include "host/base/tasks.hpp"
#include "host/cluster/cluster.hpp"
#include "host/cluster/outbox.hpp"

namespace actorhost {

/// Work of one kind. All calls run on the service's thread, one at a time. Tasks of a courier must not block.
class ServiceTask : public Interface {
 public:
  /// A frame of one of the task's kinds. Its sender may have left, or be a worker that only a newer membership
  /// contains.
  virtual void on_frame(Frame&& frame, double now) = 0;
  /// Called at the start and when the membership has changed. All frames of lost senders were delivered before.
  virtual void on_membership(const MembershipPtr& membership, double now);
  /// Called after every other call, and no later than the time that the previous tick returned (kForever: only after an
  /// event).
  virtual double tick(double now);
};

class ServiceThread : private NonCopyable {
 public:
  /// Takes the mailbox that the cluster has attached for `self`.
  ServiceThread(Cluster& cluster, const Clock& clock, Log& log, Address self);
  ~ServiceThread();

  /// Routes frames of these kinds to `task`. Before `start`.
  void add(const KindRange& kinds, ServiceTask& task);
  void start();
  /// Ends the thread, so that its tasks may be destroyed. Drops pending posts. Idempotent.
  void stop();

  ProcessId process() const noexcept { return cluster_.process(); }
  Address address() const noexcept { return self_; }
  Log& log() noexcept { return log_; }
  const Clock& clock() const noexcept { return clock_; }
  /// The receive buffers for the bodies of frames to this address.
  ReceiveBuffers& receive_buffers() noexcept { return inbox_->receive_buffers(); }
  /// The newest membership, which may be newer than the tasks' membership.
  MembershipPtr newest_membership() const { return cluster_.membership(); }
  /// The first membership that this process received: the founders of the run, on each of their processes.
  MembershipPtr first_membership() const { return cluster_.first_membership(); }

  /// Runs `call` on the service's thread; ticks follow it. `soon`: false if it may wait for the thread's next wake-up.
  void post(std::function<void()> call, bool soon = true);
  /// As Cluster::outlive_coordinator.
  void outlive_coordinator() { cluster_.outlive_coordinator(); }
  /// As Cluster::report_participation.
  void report_participation(NodeId node, bool is_peer) { cluster_.report_participation(node, is_peer); }
  /// As Cluster::leased_until.
  double leased_until() const noexcept { return cluster_.leased_until(); }
  /// Sends from the service's address without blocking; queues frames without room. Keeps the order for each receiver.
  /// Drops frames to a receiver that has left.
  void send(Frame&& frame);
  /// The same for many frames, each with its own src; frames of one route leave together. For tasks.
  void send_all(std::vector<Frame>&& frames);
  /// As `send`, from frame.src, an address of this process: for nodes that must not wait.
  void forward(Frame&& frame);
  /// As Cluster::distrust.
  bool distrust(Address sender, Kind kind, const Error& why) { return cluster_.distrust(sender, kind, why.message); }
  /// Wakes the thread: the membership may have changed, or a task has work for its tick.
  void wake() { inbox_->wake(); }
  /// `wake` for callers that may outlive the service.
  std::function<void()> waker() const {
    return [inbox = std::weak_ptr(inbox_)] {
      if (const auto alive = inbox.lock()) alive->wake();
    };
  }

 private:
  struct Route {
    KindRange kinds;
    ServiceTask* task;
  };

  void serve();
  void hand_out(Frame&& frame, double now);
  void call_posted();
  bool has_posted();
  void check_membership(double now);
  double flush();

  Cluster& cluster_;
  const Clock& clock_;
  Log& log_;
  const Address self_;
  std::shared_ptr<Mailbox> inbox_;  // attached by the cluster
  std::vector<Route> routes_;
  std::vector<ServiceTask*> tasks_;  // each once
  std::mutex outbox_mutex_;
  Outbox outbox_;
  Transport::Writes* writes_ = nullptr;  // delayed by send_all
  std::mutex posted_mutex_;
  std::vector<std::function<void()>> posted_;
  MembershipPtr membership_;  // the tasks' membership; owned by the thread
  std::atomic<bool> quit_{false};
  Task thread_;
};

}  // namespace actorhost
