#pragma once
// The links between processes other than the rendezvous host, made when first needed. Decides which one dials, which
// asks to be dialled, and which broken link has to be told. A state machine on the service thread: it owns no socket.
//
// Of two processes the one with the higher number dials, unless the other takes no connections; then the lower one
// does. Both see the same table, so both come to the same answer and never dial each other at once. A link that broke
// is not made again: frames may be lost, and the rendezvous host will drop one of the two.

#include <map>
#include <set>
#include <string>

#include "host/cluster/membership.hpp"
#include "host/net/link.hpp"

namespace actorhost {

class PeerLinkOutput {
 public:
  PeerLinkOutput() = default;
  PeerLinkOutput(const PeerLinkOutput&) = delete;
  PeerLinkOutput& operator=(const PeerLinkOutput&) = delete;
  virtual ~PeerLinkOutput() = default;

  /// Answered by `dialled` or `dial_failed`, later.
  virtual void dial(ProcessId process, const std::string& url) = 0;
  /// Through the rendezvous host: `process` should dial us.
  virtual void ask_to_dial(ProcessId process) = 0;
  /// To the rendezvous host: there is no link to `process`, which is alive as far as we know, and there should be one.
  virtual void report_broken(ProcessId process, const std::string& reason) = 0;
  virtual void close_link(LinkId link, const std::string& reason) = 0;
};

/// Which of two processes dials the other; kNoProcess when neither takes connections.
ProcessId dialler_of(const ProcessInfo& one, const ProcessInfo& other);

class PeerLinks {
 public:
  explicit PeerLinks(PeerLinkOutput& output) : output_(output) {}

  /// The newest table; `self` is this process. What is no longer in it is gone for good.
  void adopt(ProcessId self, MembershipPtr table);
  /// A node wants to send to `process`.
  void wanted(ProcessId process);
  /// This process wants a link to `process` of its own accord. False: there can be none, or it is not ours to dial.
  bool reach(ProcessId process);
  /// Whose link this is; kNoProcess when nobody's.
  ProcessId owner(LinkId link) const;
  /// The link to `process` is not a peer's any more.
  void release(ProcessId process) { links_.erase(process); }
  /// There is a new rendezvous host: tells it what the one before may not have heard.
  void tell_again();
  /// `process` wants us to dial it.
  void asked_by(ProcessId process);
  void dialled(ProcessId process, LinkId link);
  void dial_failed(ProcessId process, const std::string& reason);
  /// `process` has dialled us. It may be one that only a newer table than ours names.
  void accepted(ProcessId process, LinkId link);
  void down(LinkId link, const std::string& reason);
  /// Nothing has come over the link to `process` for too long.
  void silent(ProcessId process);

  const std::map<ProcessId, LinkId>& links() const noexcept { return links_; }
  /// Those to which there was a link, or should have been: there will be none again.
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
  std::set<ProcessId> asked_;            // to dial us
  std::set<ProcessId> gone_;             // were in a table and are no longer
  std::set<ProcessId> broken_;           // reported as such
  std::map<LinkId, std::string> ended_;  // before they were told of, or when they were given up
};

}  // namespace actorhost
