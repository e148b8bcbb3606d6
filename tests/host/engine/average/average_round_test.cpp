// Rounds of averaging on virtual time: their invariants, their participants, and the effect of failures.

#include "tests/host/engine/average/average_world.hpp"
#include "tests/test.hpp"

namespace {

using WorldPlan = AverageWorld::Plan;

/// Sums over the elements of all live models.
double total(const AverageWorld& world, std::vector<double> AverageWorld::Worker::*values) {
  double sum = 0;
  for (const auto& [node, worker] : world.workers()) {
    for (const double value : worker.*values) sum += value;
  }
  return sum;
}

void check_models(const AverageWorld& world) {
  for (const auto& [node, worker] : world.workers()) {
    if (world.dead(worker)) continue;
    INFO("worker " << node);
    const std::vector<double> model = world.model_of(worker);
    size_t i = 0;
    while (i < model.size() && std::abs(model[i] - worker.shadow[i]) < 1e-3 * (1 + std::abs(model[i]))) ++i;
    if (i < model.size()) FAIL("element " << i << ": " << model[i] << " where " << worker.shadow[i] << " was due");
  }
}

/// Runs until all workers have finished, and checks their models.
void run_and_check(AverageWorld& world) {
  world.run();
  REQUIRE(world.all_finished());
  check_models(world);
}

/// Checks that all workers hold the same bits after an abort.
void check_aborts(const AverageWorld& world, int aborts) {
  REQUIRE(world.after_abort.size() == static_cast<size_t>(aborts));
  for (const auto& [number, models] : world.after_abort) {
    for (const auto& [node, bits] : models) {
      INFO("abort " << number << ", workers " << models.front().first << " and " << node);
      REQUIRE(bits == models.front().second);
    }
  }
}

const std::vector<std::vector<uint32_t>> kPlaces{{1},       {2},       {1, 1},          {3},   {2, 1},
                                                 {1, 1, 1}, {0, 2, 3}, {1, 1, 1, 1, 1}, {4, 4}};

WorldPlan random_plan(uint64_t seed) {
  Rng rng(seed);
  WorldPlan plan;
  plan.seed = seed;
  plan.workers = kPlaces[rng.below(kPlaces.size())];
  plan.peers = static_cast<AveragePattern>(rng.below(3));
  constexpr size_t kSizes[] = {0, 1, 5, 1000, 70000};
  plan.floats = kSizes[rng.below(5)];
  plan.doubles = kSizes[rng.below(4)];
  plan.straggler = rng.below(3) == 0 ? 8 : 1;
  plan.deadline = rng.below(3) == 0 ? 0.02 : 1;
  plan.warmup = rng.below(3) == 0 ? static_cast<uint32_t>(rng.below(20)) : 0;
  plan.interval = rng.below(2) == 0 ? 0.05 : 0.005;
  if (plan.floats + plan.doubles > 10000) plan.between = 0.1;
  return plan;
}

}  // namespace

TEST_CASE("rounds move models to the mean of their copies, keep the sum of all, and aborts leave the same bits") {
  const uint64_t first = GENERATE(range(0, 20));
  for (uint64_t seed = 10 * first; seed < 10 * first + 10; ++seed) {
    const WorldPlan plan = random_plan(seed);
    INFO("seed " << seed);
    AverageWorld world(plan);
    world.run();
    REQUIRE(world.all_finished());
    CHECK(world.broken == 0);
    check_models(world);
    check_aborts(world, plan.aborts);
    const double due = total(world, &AverageWorld::Worker::initial) + total(world, &AverageWorld::Worker::added);
    double sum = 0;
    for (const auto& [node, worker] : world.workers()) {
      for (const double value : world.model_of(worker)) sum += value;
    }
    INFO("sum " << sum << ", due " << due);
    CHECK(std::abs(sum - due) <= 1e-5 * (1 + std::abs(due)));
  }
}

TEST_CASE("a process that fails at any moment breaks a round for all survivors or for none") {
  const uint64_t first = GENERATE(range(0, 40));
  for (uint64_t seed = 1000 + 10 * first; seed < 1000 + 10 * first + 10; ++seed) {
    WorldPlan plan = random_plan(seed);
    Rng rng(seed, 1);
    if (plan.workers.size() == 1) plan.workers = {1, 2, 1};
    AverageWorld world(plan);
    const auto processes = static_cast<uint32_t>(plan.workers.size());
    for (uint32_t deaths = 1 + static_cast<uint32_t>(rng.below(2)); deaths > 0; --deaths) {
      world.kill_at(rng.uniform() * 0.6, 1 + static_cast<uint32_t>(rng.below(processes - 1)));
    }
    INFO("seed " << seed);
    run_and_check(world);
    if (!world.after_abort.empty()) check_aborts(world, static_cast<int>(world.after_abort.size()));
  }
}

TEST_CASE("no worker waits for workers that leave for good at any moment") {
  const uint64_t first = GENERATE(range(0, 20));
  for (uint64_t seed = 2000 + 10 * first; seed < 2000 + 10 * first + 10; ++seed) {
    WorldPlan plan = random_plan(seed);
    plan.leave = 0.03;
    INFO("seed " << seed);
    AverageWorld world(plan);
    world.run();
    REQUIRE(world.all_finished());
    world.run_until(world.now() + 5);  // a round in progress
    check_models(world);
  }
}

TEST_CASE("a hundred aborts and resumes in a row end with the same bits each time") {
  WorldPlan plan;
  plan.seed = GENERATE(1, 2, 3);
  plan.peers = GENERATE(AveragePattern::all, AveragePattern::ring, AveragePattern::pairs);
  plan.workers = {2, 1, 1};
  plan.aborts = 100;
  plan.between = 0.02;
  AverageWorld world(plan);
  run_and_check(world);
  check_aborts(world, 100);
}

TEST_CASE("rounds continue during a straggler's step, and include it once in each of its steps") {
  WorldPlan plan;
  plan.workers = {1, 1, 1, 1};
  plan.aborts = 1;
  plan.interval = 0.05;
  plan.straggler = 80;
  AverageWorld world(plan);
  world.train_until(20);
  run_and_check(world);
  CHECK(world.applied > 300);  // of the 400 that the time allows; the straggler makes about 25 steps
  CHECK(world.workers().at(0).replica->stats().missed < world.applied / 10);
  const AverageReplica::Stats last = world.workers().at(3).replica->stats();
  CHECK(last.steps < 60);
  CHECK(last.rounds >= last.steps / 3);
}

TEST_CASE("a late joiner takes over the others' mean and does not change it") {
  WorldPlan plan;
  plan.seed = GENERATE(1, 2, 3, 4);
  plan.peers = GENERATE(AveragePattern::all, AveragePattern::ring, AveragePattern::pairs);
  plan.workers = {1, 1, 1};
  plan.late = true;
  AverageWorld world(plan);
  run_and_check(world);
  check_aborts(world, plan.aborts);
}

TEST_CASE("the warm-up averages after every step, and does not wait for an aborting worker") {
  WorldPlan plan;
  plan.seed = GENERATE(range(1, 9));
  plan.workers = {2, 2};
  plan.warmup = 50;
  plan.between = 0.1;  // less than fifty steps
  plan.aborts = 5;
  AverageWorld world(plan);
  run_and_check(world);
  check_aborts(world, plan.aborts);
}

namespace {

/// A lead that receives a test's frames as frames of workers, each in its own process.
struct LeadDriver {
  explicit LeadDriver(uint32_t workers) {
    std::vector<Member> members;
    std::vector<ProcessInfo> processes;
    for (uint32_t i = 0; i < workers; ++i) {
      members.push_back({i, i});
      processes.push_back({i, "host" + std::to_string(i), ""});
    }
    lead.on_membership(std::make_shared<const Membership>(1, members, processes), 0);
  }
  void report(NodeId node, Report::Kind kind, double now, bool warm = false) {
    REQUIRE(lead.on_frame(node, average_kind::report, pack(Report{kind, node, false, warm, {}}), now).ok());
    wake = lead.tick(now);
  }
  void pass(double now) { wake = lead.tick(now); }

  std::vector<std::string> log_lines;
  AverageLead lead{1, [](ProcessId, Kind, const std::string&) {},
                   [this](const std::string& line) { log_lines.push_back(line); }};
  double wake = 0;
};

}  // namespace

TEST_CASE("waits in start, warm-up and abort log the missing workers after 10 s") {
  using ReportKind = Report::Kind;
  LeadDriver world(3);
  world.report(1, ReportKind::join, 1, true);
  CHECK(world.wake == 11);
  world.pass(11);
  CHECK(world.log_lines == std::vector<std::string>{"average.start: waiting for over 10 s for rank 0, rank 2"});
  world.report(0, ReportKind::join, 20, true);
  world.report(2, ReportKind::join, 21, true);
  world.report(0, ReportKind::sync, 22, true);
  world.report(2, ReportKind::sync, 23, true);
  CHECK(world.wake == 32);
  world.pass(32);
  CHECK(world.log_lines.back() == "average.step, in the warm-up: waiting for over 10 s for rank 1");
  CHECK(world.log_lines.size() == 2);
}

TEST_CASE("a wait in abort is logged once, whatever rounds by interval run meanwhile") {
  using ReportKind = Report::Kind;
  LeadDriver world(2);
  world.report(0, ReportKind::join, 0);
  world.report(1, ReportKind::join, 0);
  world.report(0, ReportKind::abort, 1);
  for (double now = 1; now < 40; now += 0.1) world.pass(now);
  CHECK(world.log_lines == std::vector<std::string>{"average.abort: waiting for over 10 s for rank 1"});
}

TEST_CASE("a session is over when all workers have left") {
  using ReportKind = Report::Kind;
  LeadDriver world(2);
  world.report(0, ReportKind::join, 0);
  CHECK_FALSE(world.lead.over());
  world.report(1, ReportKind::join, 0);
  world.report(0, ReportKind::rest, 0);
  world.report(1, ReportKind::rest, 0);
  world.report(0, ReportKind::leave, 1);
  CHECK_FALSE(world.lead.over());
  world.report(1, ReportKind::leave, 1);
  CHECK(world.lead.over());
}
