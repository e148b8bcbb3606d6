#pragma once
// On the rendezvous host: answers those who look into the run. Asks each process for its report, merges what comes in
// time into one state, and says who is lost. Passive: the cluster's service thread hands in time and messages. With
// nobody asking nothing is sent.

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "host/cluster/membership.hpp"
#include "host/cluster/process_state.hpp"

namespace actorhost {

class Observers {
 public:
  /// Takes the state as JSON.
  using Told = std::function<void(std::string json)>;

  struct Sources {
    ProcessState& state;  // of this process
    std::function<MembershipPtr()> membership;
    /// Asks a process for its report; false: there is no way to it.
    std::function<bool(ProcessId, uint32_t number, const std::vector<std::string>& sections)> ask;
    std::function<double(ProcessId)> heard;  // when it was last heard, on the clock; 0: it has no link
    std::function<std::set<ProcessId>()> suspected;
    std::function<void(nlohmann::json& run)> describe_run;  // job, seed, and the like
    std::function<ProcessId()> self = [] { return ProcessId{0}; };
  };

  /// Seconds for which the reports of other processes are waited for.
  static constexpr double kPatience = 0.04;

  explicit Observers(Sources sources);
  ~Observers();

  /// `told` is called once: at once where there is no other process to ask.
  void look(const std::vector<std::string>& sections, Told told, double now);
  /// A process's answer to the question `number`.
  void on_report(ProcessId process, uint32_t number, std::string_view json, double now);
  /// Workers have been lost, for this reason.
  void on_lost(const std::string& host, const std::vector<NodeId>& workers, const std::string& reason);
  /// There is a new table of members.
  void on_members(const Membership& before, const Membership& after);
  /// Adds the log of members: {t, epoch, text}, the oldest first.
  void tell_members(nlohmann::json& out) const;
  /// Answers whose time has come; to be called at `next_time`.
  void tick(double now);
  double next_time() const;

 private:
  struct Look {
    Told told;
    std::set<ProcessId> missing;
    std::map<ProcessId, std::unique_ptr<nlohmann::json>> reports;
    double deadline;
    double asked;
  };
  struct Share {
    double together;  // seconds that it has waited where workers meet: for the server, in collectives and actions
    double in_all;    // for whatever
    double seconds;
  };

  std::string merged(const Look& look, double now);
  void note_rows(ProcessId process, nlohmann::json rows);
  nlohmann::json last_row(NodeId worker) const;
  void add_silent(nlohmann::json& nodes, const ProcessInfo& info, double now) const;
  nlohmann::json age_of(ProcessId process, double now) const;
  nlohmann::json host_row(const ProcessInfo& info, const Look& look, double now) const;
  void name_node(nlohmann::json& node, const ProcessInfo& info) const;
  void mark_straggler(nlohmann::json& nodes, double now);
  static nlohmann::json collective_of(const nlohmann::json& nodes);

  Sources sources_;
  uint32_t number_ = 0;
  std::map<uint32_t, Look> looks_;
  std::unique_ptr<nlohmann::json> lost_;                       // rows of `nodes`
  std::map<ProcessId, std::unique_ptr<nlohmann::json>> seen_;  // what the nodes of each had done when it last reported
  /// What each worker had waited at a look.
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
  Histogram latency_seconds_{kMicrosecond};  // of the processes' answers
};

}  // namespace actorhost
