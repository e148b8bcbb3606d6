#include "host/cluster/service_thread.hpp"

#include <algorithm>
#include <utility>

namespace actorhost {

namespace {

constexpr double kFullSeconds = 0.002;  // seconds between retries of frames without room

}  // namespace

void ServiceTask::on_membership(const MembershipPtr& /*membership*/, double /*now*/) {}

double ServiceTask::tick(double /*now*/) { return kForever; }

ServiceThread::ServiceThread(Cluster& cluster, const Clock& clock, Log& log, Address self)
    : cluster_(cluster),
      clock_(clock),
      log_(log),
      self_(self),
      inbox_(cluster.take_mailbox(self)),
      outbox_([this](LinkId, Frame&& frame) {
        Transport& transport = cluster_.transport();
        return writes_ != nullptr ? transport.try_send_together(std::move(frame), *writes_)
                                  : transport.try_send(std::move(frame));
      }) {}

ServiceThread::~ServiceThread() {
  stop();
  cluster_.transport().detach(address());
}

void ServiceThread::stop() {
  quit_ = true;
  inbox_->wake();
  if (thread_.joinable()) thread_.join();
}

void ServiceThread::add(const KindRange& kinds, ServiceTask& task) {
  routes_.push_back({kinds, &task});
  if (std::find(tasks_.begin(), tasks_.end(), &task) == tasks_.end()) tasks_.push_back(&task);
}

void ServiceThread::start() {
  thread_ = Task([this] { serve(); });
}

void ServiceThread::post(std::function<void()> call, bool soon) {
  {
    std::lock_guard lock(posted_mutex_);
    posted_.push_back(std::move(call));
  }
  if (soon) inbox_->wake();
}

void ServiceThread::send(Frame&& frame) {
  frame.src = address();
  forward(std::move(frame));
}

void ServiceThread::forward(Frame&& frame) {
  bool waits = false;
  {
    std::lock_guard lock(outbox_mutex_);
    outbox_.put(0, std::move(frame));
    waits = !outbox_.empty();
  }
  if (waits && !thread_.is_current()) inbox_->wake();
}

void ServiceThread::send_all(std::vector<Frame>&& frames) {
  Transport::Writes writes;
  {
    std::lock_guard lock(outbox_mutex_);
    writes_ = &writes;
    for (Frame& frame : frames) outbox_.put(0, std::move(frame));
    writes_ = nullptr;
  }
  for (const auto& write : writes) write();
}

void ServiceThread::serve() {
  std::vector<Frame> frames;
  double next = 0;
  while (!quit_ && !inbox_->closed()) {
    Task::pay_for_computing();
    inbox_->pop_all(frames, std::max(0.0, next - clock_.now()));
    const double now = clock_.now();
    for (Frame& frame : frames) hand_out(std::move(frame), now);
    frames.clear();
    call_posted();
    check_membership(now);  // after the frames, since a lost node may have sent some before
    next = kForever;
    for (ServiceTask* task : tasks_) next = std::min(next, task->tick(now));
    next = std::min(next, flush());
    if (has_posted()) next = 0;
  }
}

void ServiceThread::hand_out(Frame&& frame, double now) {
  for (const Route& route : routes_) {
    if (within(frame.kind, route.kinds)) return route.task->on_frame(std::move(frame), now);
  }
  log_.debug(address_name(self_), "ignored a message of kind " + std::to_string(static_cast<unsigned>(frame.kind)) +
                                      " from " + address_name(frame.src));
}

void ServiceThread::call_posted() {
  std::vector<std::function<void()>> calls;
  {
    std::lock_guard lock(posted_mutex_);
    calls.swap(posted_);
  }
  for (const auto& call : calls) call();
}

bool ServiceThread::has_posted() {
  std::lock_guard lock(posted_mutex_);
  return !posted_.empty();
}

void ServiceThread::check_membership(double now) {
  MembershipPtr newest = cluster_.membership();
  if (membership_ && newest->epoch() == membership_->epoch()) return;
  membership_ = std::move(newest);
  for (ServiceTask* task : tasks_) task->on_membership(membership_, now);
}

/// Sends pending frames; returns the time of the next try, or kForever if none is pending.
double ServiceThread::flush() {
  std::lock_guard lock(outbox_mutex_);
  outbox_.flush();
  return outbox_.empty() ? kForever : clock_.now() + kFullSeconds;
}

}  // namespace actorhost
