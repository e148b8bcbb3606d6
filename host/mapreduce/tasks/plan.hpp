#pragma once
// The stages of one action, as the tracker sees them; only Lua knows what a task does. Plain values.

#include <cstdint>
#include <string>
#include <vector>

#include "host/base/result.hpp"
#include "host/wire/address.hpp"

namespace actorhost {

/// Unique in a job, given out in Lua in the same order on every node. 0 is none.
using StageId = uint32_t;

/// What a task puts out.
struct OutputId {
  StageId stage = 0;
  uint32_t task = 0;
  uint32_t bucket = 0;
  auto operator<=>(const OutputId&) const = default;
  static void fields(auto& m, auto&& field) { field(m.stage, m.task, m.bucket); }
};

struct PlanDependency {
  StageId stage = 0;
  bool wide = false;   // task r needs bucket r of every task; else task first + i needs bucket 0 of task i
  uint32_t first = 0;  // of a narrow one; a union's tasks need nothing of the parts that they do not stand for
  static void fields(auto& m, auto&& field) { field(m.stage, m.wide, m.first); }
};

/// The most tasks of a plan: the tracker keeps a few bytes for each.
inline constexpr uint32_t kMaxPlanTasks = 1U << 20;

struct PlanStage {
  StageId id = 0;
  std::string name;      // "flatmap, map, reduce_by_key", for errors, progress and explain
  uint32_t tasks = 0;    // may be 0: an empty dataset
  uint32_t buckets = 1;  // of each task's output
  bool keep = false;     // its outputs stay when the action is over
  std::vector<PlanDependency> needs;
  bool disk = false;  // of kept ones: they lie on disk from the start
  static void fields(auto& m, auto&& field) { field(m.id, m.name, m.tasks, m.buckets, m.keep, m.disk, m.needs); }
};

struct Plan {
  std::vector<PlanStage> stages;  // each after those that it needs; the last one is the final stage
  std::vector<StageId> forget;    // kept ones that this action and later ones do not ask for
  uint64_t hash = 0;              // of everything that decides what it computes, as Lua saw it

  /// Code::bad_argument unless ids are unique and not 0, stages come after what they need, there is a final stage,
  /// wide needs find as many buckets as the stage has tasks (one without tasks finds what it needs anywhere), and each
  /// task of a narrow need has its own task in the stage. Also unless there are at most kMaxPlanTasks tasks in all.
  Status check() const;
  bool sound() const { return check().ok(); }
  static void fields(auto& m, auto&& field) { field(m.hash, m.stages, m.forget); }
};

}  // namespace actorhost
