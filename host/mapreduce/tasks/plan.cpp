#include "host/mapreduce/tasks/plan.hpp"

#include <unordered_map>

namespace actorhost {

namespace {

using StagesById = std::unordered_map<StageId, const PlanStage*>;

Error bad(const PlanStage& stage, const std::string& what) {
  return {Code::bad_argument, "stage " + std::to_string(stage.id) + " (" + stage.name + ") " + what};
}

Status check_need(const PlanStage& stage, const PlanDependency& need, const StagesById& earlier) {
  const auto found = earlier.find(need.stage);
  const std::string other = "stage " + std::to_string(need.stage);
  if (found == earlier.end()) return bad(stage, "needs " + other + ", which is not before it");
  const PlanStage& parent = *found->second;
  if (need.wide) {
    if (need.first != 0) return bad(stage, "has an offset in its wide need of " + other);
    if (stage.tasks != 0 && parent.buckets != stage.tasks) {
      return bad(stage, "has " + std::to_string(stage.tasks) + " tasks for the " + std::to_string(parent.buckets) +
                            " buckets of " + other);
    }
  } else if (uint64_t{need.first} + parent.tasks > stage.tasks || (parent.tasks != 0 && parent.buckets == 0)) {
    return bad(stage, "has " + std::to_string(stage.tasks) + " tasks, which is no place for the " +
                          std::to_string(parent.tasks) + " tasks of " + other + " from " + std::to_string(need.first) +
                          " on, or those have no bucket");
  }
  return {};
}

}  // namespace

Status Plan::check() const {
  if (stages.empty()) return Error{Code::bad_argument, "a plan without stages"};
  StagesById earlier;
  uint64_t tasks = 0;
  for (const PlanStage& stage : stages) {
    if (stage.id == 0) return bad(stage, "has no number");
    for (const PlanDependency& need : stage.needs) AH_TRY(check_need(stage, need, earlier));
    if (!earlier.emplace(stage.id, &stage).second) return bad(stage, "is in the plan twice");
    tasks += stage.tasks;
  }
  if (tasks > kMaxPlanTasks) {
    return Error{Code::bad_argument, "a plan of " + std::to_string(tasks) + " tasks, " + std::to_string(kMaxPlanTasks) +
                                         " are the most; make fewer partitions"};
  }
  return {};
}

}  // namespace actorhost
