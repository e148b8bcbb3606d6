#include "host/mapreduce/plan.hpp"

#include <unordered_map>

#include "host/wire/packer.hpp"

namespace actorhost {

//   plan  = hash:u64 stages:list(stage) forget:list(u32)
//   stage = id:u32 name:text tasks:u32 buckets:u32 keep:u8 needs:list(need)      keep: 0 no, 1 yes, 2 on disk
//   need  = stage:u32 wide:u8 first:u32

namespace {

constexpr size_t kStageBytes = 21;  // at least
constexpr size_t kNeedBytes = 9;

using StagesById = std::unordered_map<StageId, const PlanStage*>;

Error bad(const PlanStage& stage, const std::string& what) {
  return {Code::bad_argument, "stage " + std::to_string(stage.id) + " (" + stage.name + ") " + what};
}

Status check_need(const PlanStage& stage, const PlanDependency& need, const StagesById& earlier) {
  const auto found = earlier.find(need.stage);
  const std::string other = "stage " + std::to_string(need.stage);
  if (found == earlier.end()) return bad(stage, "needs " + other + ", which does not stand before it");
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

PlanStage get_stage(Unpacker& in) {
  PlanStage stage;
  stage.id = in.get<StageId>();
  stage.name = in.text();
  stage.tasks = in.get<uint32_t>();
  stage.buckets = in.get<uint32_t>();
  const auto keep = in.get<uint8_t>();
  stage.keep = keep != 0;
  stage.disk = keep == 2;
  stage.needs.resize(in.count(kNeedBytes));
  for (PlanDependency& need : stage.needs) {
    need.stage = in.get<StageId>();
    need.wide = in.get<uint8_t>() != 0;
    need.first = in.get<uint32_t>();
  }
  return stage;
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

std::string Plan::encode() const {
  Packer out;
  out.put(hash).put(static_cast<uint32_t>(stages.size()));
  for (const PlanStage& stage : stages) {
    const uint8_t keep = !stage.keep ? 0 : stage.disk ? 2 : 1;
    out.put(stage.id).put(stage.name).put(stage.tasks).put(stage.buckets).put(keep);
    out.put(static_cast<uint32_t>(stage.needs.size()));
    for (const PlanDependency& need : stage.needs) {
      out.put(need.stage).put(static_cast<uint8_t>(need.wide)).put(need.first);
    }
  }
  out.put(static_cast<uint32_t>(forget.size()));
  for (const StageId stage : forget) out.put(stage);
  return std::move(out).bytes();
}

Result<Plan> Plan::decode(std::string_view bytes) {
  Unpacker in(bytes);
  Plan plan;
  plan.hash = in.get<uint64_t>();
  const uint32_t stages = in.count(kStageBytes);
  for (uint32_t i = 0; i < stages && in.ok(); ++i) plan.stages.push_back(get_stage(in));
  plan.forget.resize(in.count(sizeof(StageId)));
  for (StageId& stage : plan.forget) stage = in.get<StageId>();
  if (!in.done()) return Error{Code::bad_data, "malformed plan"};
  if (const Status sound = plan.check(); !sound.ok()) {
    return Error{Code::bad_data, "a plan that cannot be: " + sound.error().message};
  }
  return plan;
}

}  // namespace actorhost
