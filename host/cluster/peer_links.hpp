#pragma once
// The links between processes other than the coordinator, made when first needed. Decides which process dials, which
// requests to be dialled, and which broken links to report. A passive state machine on the service thread, without
// sockets.
//
// Of two processes the process with the higher number dials, unless the other accepts no connections; then the lower
// dials. Both read the same table, so they agree and never dial each other at once. A broken link is not made again:
// frames may be lost, and the coordinator will drop one of the two processes.

#include <map>
#include <set>
#include <string>

#include "host/base/non_copyable.hpp"
#include "host/cluster/membership.hpp"
#include "host/net/link.hpp"

namespace actorhost {

class PeerLinkOutput : public Interface {
 public:
  /// Starts to dial; `dialled` or `dial_failed` reports the result later.
  virtual void dial(ProcessId process, const std::string& url) = 0;
  /// Requests through the coordinator that `process` dials this process.
  virtual void request_dial(ProcessId process) = 0;
  /// Reports to the coordinator that a needed link to `process`, which seems alive, is missing.
  virtual void report_broken(ProcessId process, const std::string& reason) = 0;
  virtual void close_link(LinkId link, const std::string& reason) = 0;
};

/// The one of two processes that dials; kNoProcess if neither accepts connections.
ProcessId dialler_of(const ProcessInfo& one, const ProcessInfo& other);

class PeerLinks {
 public:
  explicit PeerLinks(PeerLinkOutput& output) : output_(output) {}

  /// The newest table; `self` is this process. Processes that it no longer contains never return.
  void adopt(ProcessId self, MembershipPtr table);
  /// A node sends to `process` and needs a link.
  void wanted(ProcessId process);
  /// This process itself needs a link to `process`. False: none is possible, or the other side dials.
  bool reach(ProcessId process);
  /// The process of a link, or kNoProcess.
  ProcessId owner(LinkId link) const;
  /// The link to `process` is no longer a peer link.
  void release(ProcessId process) { links_.erase(process); }
  /// There is a new coordinator: repeats the reports and requests that the previous coordinator may not have received.
  void resend_reports();
  /// `process` requests that this process dials it.
  void on_want_link(ProcessId process);
  void dialled(ProcessId process, LinkId link);
  void dial_failed(ProcessId process, const std::string& reason);
  /// `process` has dialled this process. It may be known only to a newer table.
  void accepted(ProcessId process, LinkId link);
  void down(LinkId link, const std::string& reason);
  /// No frame has arrived over the link to `process` for too long.
  void silent(ProcessId process);

  const std::map<ProcessId, LinkId>& links() const noexcept { return links_; }
  /// Processes whose link broke or could not be made: no link to them is made again.
  const std::set<ProcessId>& broken_ones() const noexcept { return broken_; }

 private:
  bool no_use(ProcessId process) const;
  ProcessId dialler_for(const ProcessInfo& peer) const;
  void broken(ProcessId process, const std::string& reason);
  void take(ProcessId process, LinkId link);
  void dial(const ProcessInfo& peer);

  PeerLinkOutput& output_;
  ProcessId self_ = kNoProcess;
  MembershipPtr table_ = std::make_shared<const Membership>();
  std::map<ProcessId, LinkId> links_;
  std::set<ProcessId> dialling_;
  std::set<ProcessId> requested_;  // requested to dial this process
  std::set<ProcessId> departed_;   // have left the table
  std::set<ProcessId> broken_;     // reported as broken
  // links that ended before their process was known, or after they were given up
  std::map<LinkId, std::string> ended_;
};

}  // namespace actorhost
