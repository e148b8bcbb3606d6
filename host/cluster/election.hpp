#pragma once
// A member of a run of peers without its coordinator: attaches to candidates one after the other (succession.hpp)
// until it follows a new coordinator, takes over itself, or follows the lost coordinator again. A process takes over
// only once a majority of every table that may be committed has attached (quorum.hpp). A passive state machine on the
// service thread: frames, ends of links and the time go in, frames go out through MemberLinks, decisions through
// ElectionOutput. It owns no socket and no thread.
//
//   following --> proving --> attaching --> candidate --> (takes over)
//
// `begin` enters `proving` if the coordinator's link has closed, and `attaching` if the coordinator is silent. Each
// phase returns to `following` when there is a coordinator.

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/log.hpp"
#include "host/base/non_copyable.hpp"
#include "host/cluster/cluster_messages.hpp"
#include "host/cluster/coordinator_lease.hpp"
#include "host/cluster/failure_detector.hpp"
#include "host/cluster/peer_links.hpp"
#include "host/cluster/quorum.hpp"
#include "host/cluster/run_view.hpp"
#include "host/cluster/succession.hpp"
#include "host/cluster/takeover.hpp"
#include "host/net/stream_transport.hpp"

namespace actorhost {

/// The links of a process to other members, for the passive machines of a member.
class MemberLinks : public Interface {
 public:
  virtual void send_on(LinkId link, Frame&& frame) = 0;
  virtual void heartbeat(LinkId link) = 0;
  virtual void close_link(LinkId link, const std::string& reason) = 0;
  /// Replies that the other end has to look for the coordinator elsewhere.
  virtual void redirect(LinkId link) = 0;
  virtual std::string peer_of(LinkId link) const = 0;  // "10.0.0.7:40112", or empty
  /// Time of the last frame of a process; 0 without a link.
  virtual double last_received(ProcessId process) const = 0;
  /// The process will not return: ends its link, and permits no other.
  virtual void cut_off(ProcessId process) = 0;
  /// Probes the process's port at `url`, and reports its state to Election::on_proof.
  virtual void prove_dead(ProcessId process, const std::string& url) = 0;
};

class ElectionOutput : public Interface {
 public:
  /// This process's JoinMessage and its workers, for a candidate.
  virtual AttachMessage own_state() const = 0;
  /// There is a new coordinator. `waiting`: links of processes that have attached to this one.
  virtual void follow(ProcessId process, LinkId link, const std::vector<LinkId>& waiting) = 0;
  /// The lost coordinator sends again: the run continues with it. `late` are its frames.
  virtual void recover(ProcessId process, LinkId link, const std::vector<LinkId>& waiting,
                       std::deque<Frame>&& late) = 0;
  /// This process is the coordinator now.
  virtual void take_over(Takeover&& takeover) = 0;
  /// Ends the run here: the others continue without this process.
  virtual void finish_as_lost(const std::string& reason) = 0;
  virtual void finish(const EndMessage& end) = 0;
};

class Election final : private SuccessionOutput {
 public:
  /// `peers`: which process each link leads to. `lease`: of this process.
  Election(ElectionOutput& output, MemberLinks& links, PeerLinks& peers, const RunView& view, const ProcessLease& lease,
           const DetectorTimes& times, Log& log);

  /// The newest table is committed, or proposed.
  void adopt(MembershipPtr table, double now);
  void accept(MembershipPtr table) { quorum_.accept(std::move(table)); }

  /// The coordinator has failed, at least for this process. It may resume unless its link has `closed`.
  void begin(ProcessId coordinator, LinkId link, const std::string& reason, bool closed, double now);
  /// The link to a lost coordinator that may resume, else 0.
  LinkId lost_link() const noexcept { return loss_.link; }
  /// A frame over that link.
  void on_lost_frame(Frame&& frame, double now);
  /// A process attaches to this process, which may not be a candidate yet: then the process has to wait.
  void on_attach(LinkId link, AttachMessage&& attach, double now);
  /// The candidate at the other end is the coordinator now. `loss` is the number in this process's attach message.
  void on_attached(LinkId link, uint32_t loss);
  /// Returns whether it was the lost coordinator's link.
  bool on_link_down(LinkId link);
  /// There is a link to a peer.
  void linked(ProcessId process, LinkId link);
  /// A process will not be the coordinator, or cannot be reached.
  void skip(ProcessId process, double now);
  /// The result of MemberLinks::prove_dead.
  void on_proof(ProcessId process, PortState port, double now);
  /// Call it every fraction of a second. `late`: as `checked_late` of FailureDetector::check.
  void tick(double now, double late);

 private:
  enum class Phase {
    following,  // there is a coordinator
    proving,    // the coordinator's link has closed: waits for the proof of its death, or for the end of its lease
    attaching,  // to one process after the other
    candidate,  // waits for a majority
  };
  struct Loss {  // of the newest failed coordinator
    ProcessId process = kNoProcess;
    LinkId link = 0;  // while the coordinator may resume
    std::string reason = {};
    double since = 0;                    // later by the time in which this process did not run
    bool logged = false;                 // the log has named the missing workers
    std::deque<Frame> late_frames = {};  // over its link, while this process is bound to a candidate
    std::set<ProcessId> proofs = {};     // requested proofs
  };
  struct Held {
    AttachMessage attach;
    double since = 0;
  };

  // SuccessionOutput
  bool attach_to(ProcessId process) override;
  void become_candidate() override;

  void begin_succession();
  void give_up_lost();
  void recover();
  void send_attach(LinkId link);
  AttachMessage own_attach() const;
  std::vector<LinkId> release_held();
  Quorum quorum_of_all() const;
  void prove(ProcessId process, const std::string& url);
  void prove_absent();
  void consider_taking_over();
  bool majority_is_possible(const std::set<ProcessId>& here) const;
  void take_over(const Quorum& quorum);
  std::vector<ProcessInfo> recently_dropped(const Membership& newest) const;
  void check_minority();
  std::string missing_workers() const;

  ElectionOutput& output_;
  MemberLinks& links_;
  PeerLinks& peers_;
  const RunView& view_;
  const ProcessLease& lease_;
  const DetectorTimes& times_;
  Log& log_;
  Succession succession_;
  MembershipPtr table_ = std::make_shared<const Membership>();
  Quorum quorum_;                                        // the adopted and accepted tables
  std::vector<std::pair<double, ProcessInfo>> dropped_;  // processes that an adopted table has dropped, and when
  Phase phase_ = Phase::following;
  double now_ = 0;  // time of the newest call
  Loss loss_;
  uint32_t losses_ = 0;           // number of coordinators that this process has lost
  double prove_until_ = 0;        // of phase `proving`
  double candidate_since_ = 0;    // of phase `candidate`
  ProcessId bound_ = kNoProcess;  // the candidate that this process has attached to, until it replies
  std::map<LinkId, Held> held_;   // attach messages, until this process is the coordinator
  std::set<ProcessId> proving_;   // proofs in progress
};

}  // namespace actorhost
