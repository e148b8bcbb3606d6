#pragma once
// The workers of a run, as its coordinator knows them: their processes, the actions that they have entered, and whether
// their scripts have ended. Takes the messages of nodes about actions, positions and parameter servers, and returns the
// replies. Coordinator owns it, sends the replies and starts the servers. Passive; not thread-safe.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/cluster/cluster_messages.hpp"
#include "host/cluster/coordinator/action_log.hpp"
#include "host/cluster/membership.hpp"

namespace actorhost {

class WorkerRoster {
 public:
  struct Worker {
    ProcessId process = kNoProcess;
    uint32_t actions = 0;  // entered so far
    bool ended = false;
    bool left = false;  // it has left the peers, or joined late and is no peer yet
    LongWait waiting = {};
  };

  /// `succeeds`: the run has had another coordinator.
  explicit WorkerRoster(bool succeeds) : succeeds_(succeeds) {}

  /// Adds a worker without entered actions.
  void add(const Member& member) { workers_[member.id] = {member.process, 0, false, !member.votes, {}}; }
  /// Adds or updates the workers of a process that follows a new coordinator. Returns whether a worker was unknown.
  /// Code::bad_data, and no change, if a worker belongs to another process.
  Result<bool> attach(const AttachMessage& attach);
  /// Removes and returns the workers of a process.
  std::map<NodeId, Worker> remove(ProcessId process);

  /// By id.
  const std::map<NodeId, Worker>& all() const noexcept { return workers_; }
  /// nullptr for an unknown worker.
  const Worker* find(NodeId id) const;
  bool all_ended() const;
  std::vector<Member> members() const;

  /// Takes a message of a node. Returns the reply, if there is one yet; the owner sets `src`. `table` is for names.
  /// Code::bad_data: the message is malformed, or of another kind; Code::mismatch: the run ends with this error,
  /// because a script has ended before an action that another node is in.
  Result<std::optional<Frame>> take(const Frame& frame, const Membership& table);
  /// The replies with the first value of an action. A previous coordinator may have replied to some process, which
  /// resends the value before it replies to the first renewal; so the owner calls this once all processes have replied.
  std::vector<Frame> agree();
  /// Calls `start` (CoordinatorOutput::start_servers) for each request whose servers may start. Returns the replies.
  std::vector<Frame> start_servers(const std::function<Result<bool>(uint32_t action)>& start);

  bool can_catch_up() const noexcept { return actions_.can_catch_up(); }
  /// Whether the newest action is of this kind and has not finished.
  bool in_run_of(const char* kind) const noexcept;
  /// The number of entered actions. `settle`: a chunk for all nodes has failed, and some workers may have entered more
  /// actions than others. Finishes all actions and gives all workers the same number.
  uint32_t count_actions(bool settle);

 private:
  Result<std::optional<Frame>> enter(const Frame& frame, Worker* worker, const Membership& table);
  Status end(const Frame& frame, Worker* worker, const Membership& table);
  Result<std::optional<Frame>> locate(const Frame& frame, Worker* worker);
  Status check_not_ended(uint32_t index, const ActionEnter& action, const std::string& node, const Membership& table);
  void finish(const Frame& frame);
  void trim();
  bool ready_for_servers(uint32_t action) const;

  const bool succeeds_;
  std::map<NodeId, Worker> workers_;
  ActionLog actions_;
  std::vector<Frame> agreements_;              // requests for an agreed value
  std::vector<Frame> want_servers_;            // requests for servers that cannot start yet
  std::map<Address, uint32_t> ended_servers_;  // the number of actions that each had entered when its script ended
};

}  // namespace actorhost
