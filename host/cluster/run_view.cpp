#include "host/cluster/run_view.hpp"

#include <algorithm>
#include <utility>

#include "host/cluster/peer_links.hpp"

namespace actorhost {

bool RunView::set_process(ProcessId process) noexcept {
  ProcessId expected = kNoProcess;
  return process_.compare_exchange_strong(expected, process);
}

std::string RunView::url() const {
  std::lock_guard lock(mutex_);
  return url_;
}

void RunView::set_url(const std::string& url) {
  std::lock_guard lock(mutex_);
  url_ = url;
}

std::string RunView::coordinator_name() const {
  return std::string(coordinator() == 0 ? "server 0 and " : "") + "the coordinator at " + url();
}

MembershipPtr RunView::membership() const {
  std::lock_guard lock(mutex_);
  return membership_;
}

MembershipPtr RunView::first_membership() const {
  std::lock_guard lock(mutex_);
  return first_membership_;
}

void RunView::adopt(MembershipPtr table) {
  std::lock_guard lock(mutex_);
  membership_ = std::move(table);
  if (first_membership_->epoch() == 0) first_membership_ = membership_;
  epoch_.store(membership_->epoch(), std::memory_order_release);
  count_news();
  changed_.notify_all();
}

std::set<ProcessId> RunView::suspected() const {
  std::lock_guard lock(mutex_);
  return suspected_;
}

void RunView::set_suspected(const std::set<ProcessId>& processes) {
  std::lock_guard lock(mutex_);
  suspected_ = processes;
  count_news();
}

void RunView::cut_off(ProcessId process) {
  std::lock_guard lock(mutex_);
  cut_off_.insert(process);
}

bool RunView::is_cut_off(ProcessId process) const {
  std::lock_guard lock(mutex_);
  return cut_off_.contains(process);
}

RunView::LinkRefusal RunView::refuse_link(ProcessId process) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return mail_open_ || over(); });
  const ProcessInfo* own = membership_->process(process_);
  const ProcessInfo* peer = membership_->process(process);  // null: the peer has a newer table, and may
  if (cut_off_.contains(process)) {
    return {"host " + std::to_string(process) + " has left the run, or its link broke",
            membership_->epoch() > 0 && peer == nullptr};
  }
  const bool may = own == nullptr || peer == nullptr || dialler_of(*own, *peer) == process;
  return {may ? "" : "host " + std::to_string(process) + " must not dial this host, which dials it"};
}

void RunView::open_mail(Transport& transport, const Membership& table) {
  std::lock_guard lock(mutex_);
  if (mail_open_) return;
  const auto attach = [&](Address address) {
    auto mailbox = std::make_shared<Mailbox>();
    if (transport.attach(address, *mailbox)) mailboxes_[address] = std::move(mailbox);
  };
  for (const Member& member : table.workers()) {
    if (member.process == process_) attach(worker_address(member.id));
  }
  attach(data_address(process_));
  attach(courier_address(process_));
  mail_open_ = true;
  changed_.notify_all();
}

std::shared_ptr<Mailbox> RunView::take_mailbox(Address address) {
  std::lock_guard lock(mutex_);
  const auto taken = mailboxes_.extract(address);
  return taken ? taken.mapped() : nullptr;
}

std::optional<EndMessage> RunView::end() const {
  std::lock_guard lock(mutex_);
  return end_;
}

bool RunView::set_end(const EndMessage& end) {
  std::lock_guard lock(mutex_);
  if (end_) return false;
  end_ = end;
  ended_.store(true, std::memory_order_release);
  changed_.notify_all();
  return true;
}

bool RunView::set_quit() {
  std::lock_guard lock(mutex_);
  changed_.notify_all();
  return std::exchange(quit_, true);
}

bool RunView::quitting() const {
  std::lock_guard lock(mutex_);
  return quit_;
}

std::optional<Error> RunView::interruption() const {
  std::lock_guard lock(mutex_);
  if (end_) return Error{end_->code, end_->message};
  if (quit_) return Error{Code::interrupted, "interrupted"};
  return std::nullopt;
}

Status RunView::wait_for_start() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return membership_->epoch() > 0 || over(); });
  if (membership_->epoch() > 0) return {};  // the run has begun; `end` holds the result if it is over too
  if (end_ && !end_->ok) return Error{end_->code, end_->message};
  return Error{Code::interrupted, "the run was over before it started"};
}

bool RunView::wait(double seconds, const std::function<bool()>& ready) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, seconds, [&] { return ready() || over(); });
}

bool RunView::pause(double seconds) {
  return wait(seconds, [] { return false; });
}

void RunView::notify() {
  std::lock_guard lock(mutex_);
  changed_.notify_all();
}

}  // namespace actorhost
