#pragma once
// The stages of one action as the tracker sees them; only Lua knows the work of a task. Plain values.

#include <cstdint>
#include <string>
#include <vector>

#include "host/base/result.hpp"
#include "host/wire/address.hpp"

namespace actorhost {

/// Unique in a job; Lua assigns the same numbers in the same order on every node. 0 is none.
using StageId = uint32_t;

/// One output of a task.
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
  uint32_t first = 0;  // of a narrow dependency; other tasks of a union need nothing from this stage
  static void fields(auto& m, auto&& field) { field(m.stage, m.wide, m.first); }
};

/// The most tasks of a plan: the tracker stores a few bytes for each.
inline constexpr uint32_t kMaxPlanTasks = 1U << 20;

struct PlanStage {
  StageId id = 0;
  std::string name;      // "flatmap, map, reduce_by_key", for errors, progress and explain
  uint32_t tasks = 0;    // may be 0: an empty dataset
  uint32_t buckets = 1;  // of each task's output
  bool keep = false;     // the outputs outlive the action
  std::vector<PlanDependency> needs;
  bool disk = false;  // of kept stages: the outputs are on disk from the start
  static void fields(auto& m, auto&& field) { field(m.id, m.name, m.tasks, m.buckets, m.keep, m.disk, m.needs); }
};

struct Plan {
  std::vector<PlanStage> stages;  // each after the stages that it needs; the last is the final stage
  std::vector<StageId> forget;    // kept stages that this action and later actions do not use
  uint64_t hash = 0;              // of everything that decides the computed values, made in Lua

  /// Code::bad_argument unless all of these hold. Stage ids are unique and not 0, and there is a final stage. Each
  /// stage is after the stages that it needs. A wide need has as many buckets as the stage has tasks (a stage without
  /// tasks accepts any number). In a narrow need each task of the needed stage has a task of its own. All stages have
  /// at most kMaxPlanTasks tasks together.
  Status check() const;
  bool is_valid() const { return check().ok(); }
  static void fields(auto& m, auto&& field) { field(m.hash, m.stages, m.forget); }
};

}  // namespace actorhost
