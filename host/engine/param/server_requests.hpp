#pragma once
// The values that pass between the parameter server's state machine (ParamServer) and the policy in Lua: requests for a
// decision, which the policy answers, and notices, which need no answer. Plain values.

#include <optional>
#include <variant>
#include <vector>

#include "host/engine/param/param_messages.hpp"
#include "host/engine/param/shard.hpp"

namespace actorhost {

/// The argument of the callback `stop` of param.run.
struct StopContext {
  uint64_t step = 0;     // number of steps that the slowest live worker has completed
  uint64_t updates = 0;  // number of merged updates
  double seconds = 0;    // since the run began
  uint32_t workers = 0;  // live
};

/// Merge these pushes, and answer with the new values.
struct PullRequest {
  std::vector<PullEntry>* entries = nullptr;  // valid until the answer; the values may be moved out
};
/// Decide whether the run stops.
struct StopRequest {
  StopContext context;
};
/// Give tasks to these workers.
struct ScheduleRequest {
  std::vector<NodeId> workers;  // in id order
};
/// A worker has failed or departed.
struct LostNotice {
  NodeId worker = 0;
  std::vector<ParamEntry> entries;    // its unfinished task
  std::optional<uint64_t> task = {};  // the number of a numbered task
};
/// Answer with the account of the numbered tasks, for a checkpoint.
struct StateRequest {};
/// Add the values of the server's shard to the checkpoint. ParamServer handles this request; the policy never gets it.
struct CutRequest {
  RunState state;  // of the checkpoint
};
/// The run is over.
struct FinishedNotice {
  ParamSummary summary;
};
/// An Error: the run ends with it.
using ServerRequest = std::variant<PullRequest, StopRequest, ScheduleRequest, LostNotice, StateRequest, CutRequest,
                                   FinishedNotice, Error>;

/// The outcome of the push of a numbered task.
struct TaskOutcome {
  NodeId worker = 0;
  uint64_t task = 0;
  bool merged = false;  // false: dropped by the merge rule
  friend bool operator==(const TaskOutcome&, const TaskOutcome&) = default;
};

}  // namespace actorhost
