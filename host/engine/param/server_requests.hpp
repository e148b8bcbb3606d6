#pragma once
// Decisions that the policy of a run must make, and notices to it. Plain values.

#include <optional>
#include <variant>
#include <vector>

#include "host/engine/param/param_messages.hpp"
#include "host/engine/param/shard.hpp"

namespace actorhost {

struct StopContext {
  uint64_t step = 0;  // completed by the slowest live worker
  uint64_t updates = 0;
  double seconds = 0;
  uint32_t workers = 0;
};

struct PullRequest {
  std::vector<PullEntry>* entries = nullptr;  // valid until the answer; the values may be moved out
};
struct StopRequest {
  StopContext context;
};
struct ScheduleRequest {
  std::vector<NodeId> workers;  // in id order
};
struct LostNotice {
  NodeId worker = 0;
  std::vector<ParamEntry> entries;    // the unfinished task of the worker
  std::optional<uint64_t> task = {};  // the task's number
};
struct StateRequest {};  // requests the policy's state; the reply triggers the checkpoint's cut
struct CutRequest {
  RunState state;  // the started checkpoint; the server adds its own shard's part at once
};
struct FinishedNotice {
  ParamSummary summary;
};
using ServerRequest = std::variant<PullRequest, StopRequest, ScheduleRequest, LostNotice, StateRequest, CutRequest,
                                   FinishedNotice, Error>;

/// The outcome of a numbered task.
struct TaskOutcome {
  NodeId worker = 0;
  uint64_t task = 0;
  bool merged = false;  // false: dropped by the merge policy
  friend bool operator==(const TaskOutcome&, const TaskOutcome&) = default;
};

}  // namespace actorhost
