#pragma once
// The coordinator's replies to observers. Requests a report from each process, merges the reports that arrive in time
// into one state, and records lost workers. Passive: the cluster's service thread hands in time and messages. Without
// observers it sends nothing.

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "host/cluster/look/process_state.hpp"
#include "host/cluster/membership.hpp"

namespace actorhost {

class Observers {
 public:
  /// Receives the state as JSON.
  using Callback = std::function<void(std::string json)>;

  struct Sources {
    ProcessState& state;  // of this process
    std::function<MembershipPtr()> membership;
    /// Requests a report from a process; false: no route to it.
    std::function<bool(ProcessId, uint32_t number, const std::vector<std::string>& sections)> request_report;
    std::function<double(ProcessId)> last_frame;  // time of its last frame, on the clock; 0: it has no link
    std::function<std::set<ProcessId>()> suspected;
    std::function<void(nlohmann::json& run)> describe_run;  // adds job, seed, and the like
    std::function<ProcessId()> self = [] { return ProcessId{0}; };
  };

  /// Seconds to wait for the reports of other processes.
  static constexpr double kReportSeconds = 0.04;

  explicit Observers(Sources sources);
  ~Observers();

  /// Of this process.
  const ProcessState& state() const noexcept { return sources_.state; }
  /// Calls `callback` once; at once if there is no other process.
  void request_state(const std::vector<std::string>& sections, Callback callback, double now);
  /// The report of a process to request `number`.
  void on_report(ProcessId process, uint32_t number, std::string_view json, double now);
  /// Workers have been lost for this reason.
  void on_lost(const std::string& host, const std::vector<NodeId>& workers, const std::string& reason);
  /// The membership has changed.
  void on_members(const Membership& before, const Membership& after);
  /// Adds the log of membership changes: {t, epoch, text}, the oldest first.
  void add_members(nlohmann::json& out) const;
  /// Answers requests at their deadline; to be called at `next_time`.
  void tick(double now);
  double next_time() const;

 private:
  struct Observation {
    Callback callback;
    std::set<ProcessId> missing;
    std::map<ProcessId, std::unique_ptr<nlohmann::json>> reports;
    double deadline;
    double requested_at;
  };
  struct Share {
    double together;  // seconds of waits for other nodes: for servers, in collectives and actions
    double in_all;    // seconds of all waits
    double seconds;
  };

  std::string merged(const Observation& observation, double now);
  void note_rows(ProcessId process, nlohmann::json rows);
  nlohmann::json last_row(NodeId worker) const;
  void add_silent(nlohmann::json& nodes, const ProcessInfo& info, double now) const;
  nlohmann::json age_of(ProcessId process, double now) const;
  nlohmann::json host_row(const ProcessInfo& info, const Observation& observation, double now) const;
  void name_node(nlohmann::json& node, const ProcessInfo& info) const;
  void mark_straggler(nlohmann::json& nodes, double now);
  static nlohmann::json collective_of(const nlohmann::json& nodes);

  Sources sources_;
  uint32_t number_ = 0;
  std::map<uint32_t, Observation> observations_;
  std::unique_ptr<nlohmann::json> lost_;                       // rows of lost nodes
  std::map<ProcessId, std::unique_ptr<nlohmann::json>> seen_;  // rows of each process's last report
  /// The waits of each worker at one time.
  struct Shares {
    double at = 0;
    std::map<NodeId, Share> of = {};
  };
  Shares before_, latest_;  // at least kShareSeconds apart
  struct Change {
    double time;
    uint64_t epoch;
    std::string text;
  };
  void note(uint64_t epoch, std::string text);
  std::deque<Change> changes_;               // the newest
  Histogram latency_seconds_{kMicrosecond};  // of the processes' reports
};

}  // namespace actorhost
