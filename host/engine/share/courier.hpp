#pragma once
// A process's courier: one thread for engine work that has to go on while the process's nodes compute in Lua (locks,
// shared partitions, and whatever else registers a task). It has an address of its own, courier_address(process), made
// before the run starts, so that nobody's frame finds no mailbox; an idle one only sleeps. Everything public may be
// called from any thread unless said otherwise.
//
//   Courier courier(cluster, clock, log);
//   courier.add(kinds_of(Kind::lock_first), service);   // a CourierTask
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

/// Work of one kind that a courier does. All calls come on the courier's thread, one at a time, and must not block.
class CourierTask {
 public:
  CourierTask() = default;
  CourierTask(const CourierTask&) = delete;
  CourierTask& operator=(const CourierTask&) = delete;
  virtual ~CourierTask() = default;

  /// A frame of a kind that the task was added for. It may be from somebody who is gone by now, or from a worker that
  /// only a newer membership knows.
  virtual void on_frame(Frame&& frame, double now) = 0;
  /// At the start, and when the membership has changed. What had come from those who are lost has been handed over.
  virtual void on_membership(const MembershipPtr& membership, double now);
  /// Called after each of the others and at the time that it returned last: when to be called at the latest next
  /// (kForever: whenever something happens).
  virtual double tick(double now);
};

class Courier {
 public:
  /// Takes over the mailbox that the cluster has attached for it.
  Courier(Cluster& cluster, const Clock& clock, Log& log);
  ~Courier();
  Courier(const Courier&) = delete;
  Courier& operator=(const Courier&) = delete;

  /// Frames of these kinds are `task`'s. Before `start`.
  void add(const KindRange& kinds, CourierTask& task);
  void start();
  /// Ends the thread, so that its tasks may go. What had been posted and not done is dropped. Idempotent.
  void stop();

  ProcessId process() const noexcept { return process_; }
  Address address() const noexcept { return courier_address(process_); }
  Log& log() noexcept { return log_; }
  const Clock& clock() const noexcept { return clock_; }
  /// Where the bodies of frames to this address shall be read to.
  Landings& landings() noexcept { return inbox_->landings(); }
  /// The newest membership, whatever the tasks have been told.
  MembershipPtr newest_membership() const { return cluster_.membership(); }

  /// Has `call` called on the courier's thread; ticks follow it.
  void post(std::function<void()> call);
  /// Sends in the courier's name without waiting; what finds no room is sent when there is some. In order for each
  /// receiver. To somebody who is gone: dropped.
  void send(Frame&& frame);
  /// As `send`, in the name of frame.src, an address of this process: for nodes that must not wait.
  void forward(Frame&& frame);
  /// As Cluster::distrust.
  bool distrust(Address sender, Kind kind, const Error& why) { return cluster_.distrust(sender, kind, why.message); }
  /// The membership may have changed, or a task has something to tick for.
  void look() { inbox_->wake(); }
  /// `look` for those who may outlive the courier.
  std::function<void()> waker() const {
    return [inbox = std::weak_ptr(inbox_)] {
      if (const auto alive = inbox.lock()) alive->wake();
    };
  }

 private:
  struct Route {
    KindRange kinds;
    CourierTask* task;
  };

  void serve();
  void hand_out(Frame&& frame, double now);
  void call_posted();
  void look_at_membership(double now);
  double flush();

  Cluster& cluster_;
  const Clock& clock_;
  Log& log_;
  const ProcessId process_;
  std::shared_ptr<Mailbox> inbox_;  // attached by the cluster
  std::vector<Route> routes_;
  std::vector<CourierTask*> tasks_;  // each once
  std::mutex outbox_mutex_;
  Outbox outbox_;
  std::mutex posted_mutex_;
  std::vector<std::function<void()>> posted_;
  MembershipPtr membership_;  // the thread's own: what the tasks have been told
  std::atomic<bool> quit_{false};
  std::thread thread_;
};

}  // namespace actorhost
