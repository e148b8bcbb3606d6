#pragma once
// What the threads of a process share about the run: its number, the coordinator, the newest table, suspected
// processes, the end, and mailboxes for its workers. The service thread writes most of it; nodes and links read it and
// wait for it. Thread-safe. One mutex guards all members except the atomic ones; their getters take no lock.

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "host/base/result.hpp"
#include "host/base/tasks.hpp"
#include "host/cluster/cluster_messages.hpp"
#include "host/cluster/membership.hpp"
#include "host/net/mailbox.hpp"
#include "host/net/transport.hpp"

namespace actorhost {

class RunView {
 public:
  /// `url`: of the coordinator, as far as known.
  explicit RunView(std::string url) : url_(std::move(url)) {}

  // ---- this process and the coordinator ----

  ProcessId process() const noexcept { return process_; }
  /// False: the process has a number.
  bool set_process(ProcessId process) noexcept;
  /// kNoProcess after a coordinator has failed and before the next is known.
  ProcessId coordinator() const noexcept { return coordinator_.load(std::memory_order_acquire); }
  void set_coordinator(ProcessId process) noexcept { coordinator_ = process; }
  std::string url() const;
  void set_url(const std::string& url);
  /// "the coordinator at tcp://...", for messages.
  std::string coordinator_name() const;
  bool outlives_coordinator() const noexcept { return outlives_.load(std::memory_order_acquire); }
  /// Returns whether the run has outlived its coordinator before.
  bool set_outlives() noexcept { return outlives_.exchange(true); }

  // ---- the table ----

  /// The newest table; epoch 0 before the start.
  MembershipPtr membership() const;
  /// The first table that this process received.
  MembershipPtr first_membership() const;
  uint64_t epoch() const noexcept { return epoch_.load(std::memory_order_acquire); }
  void adopt(MembershipPtr table);
  std::set<ProcessId> suspected() const;
  void set_suspected(const std::set<ProcessId>& processes);
  /// Counts changes of the table and of the set of suspected processes.
  uint64_t news() const noexcept { return news_.load(std::memory_order_acquire); }
  void count_news() noexcept { news_.fetch_add(1, std::memory_order_release); }

  // ---- links and mailboxes ----

  /// No link may lead to the process: it has left, or the link broke.
  void cut_off(ProcessId process);
  bool is_cut_off(ProcessId process) const;
  struct LinkRefusal {
    std::string why;        // empty: the process may have a link
    bool has_left = false;  // it has left the run
  };
  /// Why the dialling `process` may not have a link to this process. Waits until the mailboxes are open.
  LinkRefusal refuse_link(ProcessId process);
  /// Attaches mailboxes for this process's workers of the first table, its data service and its courier. Idempotent.
  void open_mail(Transport& transport, const Membership& table);
  bool mail_open() const noexcept { return mail_open_; }
  /// Each address can be taken once; nullptr after that, and for servers.
  std::shared_ptr<Mailbox> take_mailbox(Address address);

  // ---- the end ----

  /// How the run ended, once it has.
  std::optional<EndMessage> end() const;
  bool ended() const noexcept { return ended_.load(std::memory_order_acquire); }
  /// False: it has ended already.
  bool set_end(const EndMessage& end);
  /// The process closes its cluster. Returns whether it has done so before.
  bool set_quit();
  bool quitting() const;
  /// The error for work that the end interrupts; nullopt before the end.
  std::optional<Error> interruption() const;

  // ---- waits; each ends when the run ends here ----

  /// Blocks until the run has started with this process in it, or returns the error.
  Status wait_for_start();
  /// Waits until `ready` holds. False after `seconds`. `ready` runs with the lock held.
  bool wait(double seconds, const std::function<bool()>& ready);
  /// Waits for `seconds`. Returns whether the run has ended here.
  bool pause(double seconds);
  /// The condition of a `wait` may hold.
  void notify();

 private:
  bool over() const { return end_.has_value() || quit_; }

  std::atomic<ProcessId> process_{kNoProcess};
  std::atomic<ProcessId> coordinator_{0};
  std::atomic<bool> outlives_{false};
  std::atomic<uint64_t> epoch_{0};      // of membership_
  std::atomic<uint64_t> news_{0};       // of membership_ and suspected_
  std::atomic<bool> mail_open_{false};  // mailboxes_ has been filled
  std::atomic<bool> ended_{false};      // end_ is set

  mutable std::mutex mutex_;
  WaitPoint changed_;
  std::string url_;
  MembershipPtr membership_ = std::make_shared<const Membership>();
  MembershipPtr first_membership_ = membership_;
  std::set<ProcessId> suspected_;
  std::set<ProcessId> cut_off_;
  std::map<Address, std::shared_ptr<Mailbox>> mailboxes_;  // until take_mailbox; shared with the nodes' ports
  std::optional<EndMessage> end_;
  bool quit_ = false;
};

}  // namespace actorhost
