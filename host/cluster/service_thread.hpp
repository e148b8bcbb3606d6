#pragma once
// A thread for what has to go on while a process's nodes compute in Lua. It has an address of its own, which the
// cluster makes before the run starts, so that each frame finds a mailbox; an idle thread only sleeps. Each process has
// two: the courier, courier_address(process), for tasks of the engines (locks, shared partitions, collectives under
// way, averaging), and that of its map-reduce data, data_address(process), which may wait for the disk. Everything
// public may be called from any thread unless said otherwise.
//
//   ServiceThread courier(cluster, clock, log, courier_address(cluster.process()));
//   courier.add(kinds_of(Kind::lock_first), service);   // a ServiceTask
//   courier.start();
//   ...
//   courier.stop();                                      // before the task goes

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/log.hpp"
#include "host/cluster/cluster.hpp"
#include "host/cluster/outbox.hpp"

namespace actorhost {

/// Work of one kind. All calls come on the service's thread, one at a time. Those of a courier must not block.
class ServiceTask {
 public:
  ServiceTask() = default;
  ServiceTask(const ServiceTask&) = delete;
  ServiceTask& operator=(const ServiceTask&) = delete;
  virtual ~ServiceTask() = default;

  /// A frame of a kind that the task was added for. Its sender may be gone by now, or be a worker that only a newer
  /// membership knows.
  virtual void on_frame(Frame&& frame, double now) = 0;
  /// Called at the start, and when the membership has changed. All frames of lost senders have been handed over before.
  virtual void on_membership(const MembershipPtr& membership, double now);
  /// Called after each of the others, and at the time that it has returned: that is when it wants to be called at the
  /// latest (kForever: only when something happens).
  virtual double tick(double now);
};

class ServiceThread {
 public:
  /// Takes over the mailbox that the cluster has attached for `self`.
  ServiceThread(Cluster& cluster, const Clock& clock, Log& log, Address self);
  ~ServiceThread();
  ServiceThread(const ServiceThread&) = delete;
  ServiceThread& operator=(const ServiceThread&) = delete;

  /// Frames of these kinds are `task`'s. Before `start`.
  void add(const KindRange& kinds, ServiceTask& task);
  void start();
  /// Ends the thread, so that its tasks may go. What had been posted and not done is dropped. Idempotent.
  void stop();

  ProcessId process() const noexcept { return cluster_.process(); }
  Address address() const noexcept { return self_; }
  Log& log() noexcept { return log_; }
  const Clock& clock() const noexcept { return clock_; }
  /// Where the bodies of frames to this address shall be read to.
  Landings& landings() noexcept { return inbox_->landings(); }
  /// The newest membership, whatever the tasks have been told.
  MembershipPtr newest_membership() const { return cluster_.membership(); }
  /// The first one that this process has got: of the founders of the run, on each of their processes.
  MembershipPtr first_membership() const { return cluster_.first_membership(); }

  /// Has `call` called on the service's thread; ticks follow it.
  /// `soon` is false when it can wait until the thread has something else to do.
  void post(std::function<void()> call, bool soon = true);
  /// As Cluster::outlive_head.
  void outlive_head() { cluster_.outlive_head(); }
  /// As Cluster::tell_takes_part.
  void tell_takes_part(NodeId node, bool takes_part) { cluster_.tell_takes_part(node, takes_part); }
  /// As Cluster::leased_until.
  double leased_until() const noexcept { return cluster_.leased_until(); }
  /// Sends in the service's name without waiting; what finds no room is sent when there is some. In order for each
  /// receiver. Dropped when that is gone.
  void send(Frame&& frame);
  /// The same of many, each of which has its src: those that go the same way leave together. For tasks.
  void send_all(std::vector<Frame>&& frames);
  /// As `send`, in the name of frame.src, an address of this process: for nodes that must not wait.
  void forward(Frame&& frame);
  /// As Cluster::distrust.
  bool distrust(Address sender, Kind kind, const Error& why) { return cluster_.distrust(sender, kind, why.message); }
  /// The membership may have changed, or a task has something to tick for.
  void look() { inbox_->wake(); }
  /// `look` for callers that may outlive the service.
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
  void look_at_membership(double now);
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
  Transport::Writes* writes_ = nullptr;  // put off by send_all
  std::mutex posted_mutex_;
  std::vector<std::function<void()>> posted_;
  MembershipPtr membership_;  // the thread's own: what the tasks have been told
  std::atomic<bool> quit_{false};
  std::thread thread_;
};

}  // namespace actorhost
