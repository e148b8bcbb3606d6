#pragma once
// A process that follows a coordinator: takes its messages, confirms its lease, watches it and the linked peers, and
// takes part in the election after it has failed. The counterpart of Coordinator: a passive state machine on the
// service thread. Frames, ends of links and ticks go in; frames and decisions go out through ClusterMemberOutput.

#include <atomic>
#include <deque>
#include <string>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/log.hpp"
#include "host/cluster/coordinator_lease.hpp"
#include "host/cluster/election.hpp"
#include "host/cluster/failure_detector.hpp"
#include "host/cluster/peer_links.hpp"
#include "host/cluster/run_view.hpp"
#include "host/cluster/worker_reports.hpp"

namespace actorhost {

class ClusterMemberOutput : public MemberLinks {
 public:
  /// A committed table.
  virtual void adopt(MembershipPtr table) = 0;
  /// A request of the coordinator: for this process's report, or for its nodes.
  virtual void handle_request(const Frame& request) = 0;
  /// There is no coordinator now.
  virtual void coordinator_lost() = 0;
  /// Waiting nodes should check the coordinator and the lease again.
  virtual void changed() = 0;
  /// This process is the coordinator now.
  virtual void take_over(Takeover&& takeover) = 0;
  virtual void finish(const EndMessage& end) = 0;
  /// As StallDetector::stall_seconds.
  virtual double stall_seconds() const = 0;
};

class ClusterMember final : private ElectionOutput {
 public:
  /// `peers`: the links to other members. `self`: this process's request to join.
  ClusterMember(ClusterMemberOutput& output, PeerLinks& peers, RunView& view, const JoinMessage& self,
                const DetectorTimes& times, const Clock& clock, Log& log);

  /// The link to the coordinator, 0 without one. Thread-safe. The link's thread sets the first.
  LinkId coordinator_link() const noexcept { return coordinator_link_; }
  void set_coordinator_link(LinkId link) noexcept { coordinator_link_ = link; }
  /// A process is linked, or has left.
  void watch(ProcessId process) { detector_.watch(process, clock_.now()); }
  void forget(ProcessId process) { detector_.forget(process); }
  void adopt(const MembershipPtr& table) { election_.adopt(table, clock_.now()); }
  /// The run outlives its coordinator from now on.
  void on_outlives();

  /// Sends a frame to the coordinator, now or once one is known.
  void send(Frame&& frame);
  void on_frame(LinkId link, Frame&& frame);
  void on_attach(LinkId link, AttachMessage&& attach) { election_.on_attach(link, std::move(attach), clock_.now()); }
  void on_attached(LinkId link, uint32_t loss) { election_.on_attached(link, loss); }
  void on_link_down(LinkId link, const std::string& reason);
  /// There is a link to a peer, or it cannot be made.
  void linked(ProcessId process, LinkId link) { election_.linked(process, link); }
  void unreachable(ProcessId process) { election_.skip(process, clock_.now()); }
  void on_proof(ProcessId process, PortState port) { election_.on_proof(process, port, clock_.now()); }
  void tick(double now, double late);
  /// A member has sent a malformed message: closes its link.
  void distrust(ProcessId process, const std::string& what);

  /// This process's part in the lease, also once it is the coordinator.
  ProcessLease& lease() noexcept { return lease_; }
  const ProcessLease& lease() const noexcept { return lease_; }
  /// What the next coordinator has to receive.
  WorkerReports& reports() noexcept { return reports_; }

 private:
  // ElectionOutput
  AttachMessage own_state() const override;
  void follow(ProcessId process, LinkId link, const std::vector<LinkId>& waiting) override;
  void recover(ProcessId process, LinkId link, const std::vector<LinkId>& waiting, std::deque<Frame>&& late) override;
  void take_over(Takeover&& takeover) override { output_.take_over(std::move(takeover)); }
  void finish_as_lost(const std::string& reason) override;
  void finish(const EndMessage& end) override { output_.finish(end); }

  void from_coordinator(const Frame& frame);
  void on_renewal(const Frame& frame);
  void send_renewal_reply();
  void on_proposal(const Frame& frame);
  void lose_coordinator(const std::string& reason, bool closed);
  void set_coordinator(ProcessId process, LinkId link);
  void resume(const std::vector<LinkId>& waiting);

  ClusterMemberOutput& output_;
  PeerLinks& peers_;
  RunView& view_;
  const JoinMessage& self_;
  const Clock& clock_;
  Log& log_;
  std::atomic<LinkId> coordinator_link_{0};
  FailureDetector detector_;  // of the coordinator and of linked peers
  ProcessLease lease_;
  Election election_;
  WorkerReports reports_;
};

}  // namespace actorhost
