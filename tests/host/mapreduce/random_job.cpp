#include "tests/host/mapreduce/random_job.hpp"

#include "tests/test.hpp"

namespace actorhost::test {

namespace {

/// Makes new stages over the existing stages. Stages have the number of tasks or buckets that their readers need.
class JobMaker {
 public:
  explicit JobMaker(Rng& rng) : rng_(rng) {}

  std::vector<Plan> make() {
    std::vector<Plan> job;
    const uint64_t actions = 1 + rng_.below(4);
    for (uint64_t i = 0; i < actions; ++i) job.push_back(make_action());
    for (size_t i = 0; i < job.size(); ++i) {
      for (const PlanStage& stage : job[i].stages) {
        if (stage.keep) last_use_[stage.id] = i;
      }
    }
    Plan end;
    end.hash = 999;
    end.stages.push_back(stage(0, {}));
    for (const auto& [id, action] : last_use_) {
      if (rng_.below(2) == 0) (action + 1 < job.size() ? job[action + 1] : end).forget.push_back(id);
    }
    job.push_back(end);
    return job;
  }

 private:
  PlanStage stage(uint32_t tasks, std::vector<PlanDependency> needs) {
    PlanStage made;
    made.id = ++last_id_;
    made.name = "s" + std::to_string(made.id);
    made.tasks = tasks;
    made.needs = std::move(needs);
    made.keep = rng_.below(4) == 0;
    return made;
  }

  Plan make_action() {
    Plan plan;
    plan.hash = rng_.next();
    for (const auto& [id, kept] : reusable_) {  // lineage: all ancestors of its inputs
      if (rng_.below(2) == 0) include(plan, id);
    }
    const uint64_t fresh = 1 + rng_.below(5);
    for (uint64_t i = 0; i < fresh; ++i) add_stage(plan);
    for (const PlanStage& made : plan.stages) {
      all_.insert_or_assign(made.id, made);
      if (made.keep) reusable_[made.id] = true;
    }
    REQUIRE(plan.check().ok());
    return plan;
  }

  void include(Plan& plan, StageId id) {
    const auto same = [id](const PlanStage& other) { return other.id == id; };
    if (std::any_of(plan.stages.begin(), plan.stages.end(), same)) return;
    for (const PlanDependency& need : all_.at(id).needs) include(plan, need.stage);
    plan.stages.push_back(all_.at(id));
  }

  void add_stage(Plan& plan) {
    std::vector<PlanDependency> needs;
    uint32_t tasks = static_cast<uint32_t>(rng_.below(8) == 0 ? 0 : 1 + rng_.below(5));
    const uint64_t count = plan.stages.empty() ? 0 : rng_.below(3);
    for (uint64_t i = 0; i < count; ++i) {
      PlanStage& parent = plan.stages[rng_.below(plan.stages.size())];
      const bool old = all_.contains(parent.id);
      if (rng_.below(2) == 0) {
        needs.push_back({parent.id, false, 0});
        tasks = std::max(tasks, parent.tasks);
      } else if (!old || parent.buckets == 3) {
        needs.push_back({parent.id, true, 0});
      }
    }
    const auto wide = [](const PlanDependency& need) { return need.wide; };
    const auto fits = [&](const PlanDependency& need) { return need.wide || parent_tasks(plan, need.stage) <= 3; };
    // All shuffles have three buckets, so a wide reader has three tasks; narrow parents that do not fit are removed.
    if (std::any_of(needs.begin(), needs.end(), wide)) {
      std::erase_if(needs, [&](const PlanDependency& need) { return !fits(need); });
      tasks = 3;
    }
    for (PlanDependency& need : needs) {
      if (!need.wide) need.first = static_cast<uint32_t>(rng_.below(tasks - parent_tasks(plan, need.stage) + 1));
    }
    PlanStage made = stage(tasks, std::move(needs));
    made.buckets = 3;
    plan.stages.push_back(std::move(made));
  }

  static uint32_t parent_tasks(const Plan& plan, StageId id) {
    for (const PlanStage& stage : plan.stages) {
      if (stage.id == id) return stage.tasks;
    }
    return 0;
  }

  Rng& rng_;
  StageId last_id_ = 0;
  std::map<StageId, PlanStage> all_;
  std::map<StageId, bool> reusable_;
  std::map<StageId, size_t> last_use_;
};

}  // namespace

std::vector<Plan> random_job(Rng& rng) { return JobMaker(rng).make(); }

}  // namespace actorhost::test
