// Runs of the parameter server, killed at random moments and resumed: each batch is merged exactly once, under any
// barrier rule and merge policy, with any number of servers and workers. ACTORHOST_TEST_KILLS=20 sets the number of
// kills.

#include "host/base/random.hpp"
#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

size_t kills_of_a_run() {
  const char* times = std::getenv("ACTORHOST_TEST_KILLS");
  return times == nullptr ? 2 : std::strtoull(times, nullptr, 10);
}

struct CountingRun {
  Words job;
  Words rules;
  bool isolate = false;
};

Words words_of(const CountingRun& run, bool resumes, Rng& rng) {
  Words words = {"--servers", std::to_string(1 + rng.below(3)), "-n", std::to_string(1 + rng.below(4)), "--checkpoint",
                 "saved"};
  if (resumes) words = with(words, {"--resume", "saved"});
  if (run.isolate) words.push_back("--isolate");
  return with(with(words, {"--barrier", run.rules[rng.below(run.rules.size())], "jobs/resume.lua"}), run.job);
}

/// Kills the run at a random moment after it has written a checkpoint; returns false if the run has ended before.
bool kill_at_random(const JobFolder& folder, const CountingRun& run, bool resumes, Rng& rng) {
  Process process = folder.start(words_of(run, resumes, rng));
  const bool began = process.wait_for_output("checkpoint saved/", 60);
  INFO(process.describe());
  REQUIRE(began);
  std::this_thread::sleep_for(std::chrono::microseconds(rng.below(100000)));  // a random moment
  process.signal(SIGKILL);
  process.wait(10);
  return process.out().find("each batch once") == std::string::npos;
}

void count_over_kills(const CountingRun& run) {
  const std::string seed = any_seed();
  INFO("ACTORHOST_TEST_SEED=" << seed);
  Rng rng(std::stoull(seed));
  const JobFolder folder;
  for (size_t i = 0; i < kills_of_a_run(); ++i) {
    if (!kill_at_random(folder, run, i > 0, rng)) return;
  }
  const Ended last(folder.run(words_of(run, true, rng), 90));
  CHECK_THAT(last.out, Contains("each batch once"));
}

}  // namespace

TEST_CASE("a killed and resumed run merges each batch once under any rule") {
  const std::string rule = GENERATE(as<std::string>(), "bsp", "ssp:2", "asp", "pbsp:1");
  INFO(rule);
  count_over_kills({{}, {rule}});
}

TEST_CASE("rules, workers and servers may change with each resumption") {
  count_over_kills({{}, {"bsp", "ssp:2", "asp", "pbsp:1", "pssp:1:2"}, true});
}

TEST_CASE("with a pull in Lua a checkpoint holds each batch on all servers or on none") {
  count_over_kills({{"--pull", "lua"}, {"asp", "ssp:1"}});
}

TEST_CASE("batches follow the merge policy: a buffered batch is assigned again, a dropped batch is done") {
  const std::string merge = GENERATE(as<std::string>(), "buffer", "drop");
  INFO(merge);
  count_over_kills({{"--merge", merge}, {"asp", "ssp:3"}});
}

TEST_CASE("a task without a number, changed batches and a checkpoint without tasks are errors") {
  const JobFolder folder;
  const std::string job = job_text("resume.lua");
  const auto run_changed = [&](const std::string& from, const std::string& to, const Words& flags) {
    std::string text = job;
    const size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    folder.write("job.lua", text.replace(at, from.size(), to));
    return folder.run(with(with({"-n", "2", "--checkpoint", "saved"}, flags), {"job.lua"}));
  };
  const std::string tasks = "tasks = opt.merge == \"drop\" and tasks or batches,";
  const Ended unnumbered(run_changed("{ task = number, ", "{ ", {}), 1);
  CHECK_THAT(unnumbered.err, Contains("task of worker 0 has no number: with tasks= each task is { task = NUMBER, "));
  const Ended half(run_changed("task = number", "task = 0.5", {}), 1);
  CHECK_THAT(half.err, Contains("'task' is its number, an integer from 0 to 2^53"));
  const Ended no_methods(run_changed(tasks, "tasks = {},", {}), 1);
  CHECK_THAT(no_methods.err, Contains("job.lua:") && Contains("param.run: tasks has no method 'done'"));
  CHECK(run_changed(tasks, "", {"--seconds", "0.1"}).status == 0);
  const Words resume = {"-n", "2", "--resume", "saved", "jobs/resume.lua"};
  const Ended without(folder.run(resume), 1);
  CHECK_THAT(without.err, Contains("no account of its tasks: it was written without tasks="));
  CHECK(folder.run({"-n", "2", "--checkpoint", "with", "--seconds", "0.1", "jobs/resume.lua", "--batches", "5000"})
            .status == 0);
  const Ended others(folder.run({"-n", "2", "--resume", "with", "jobs/resume.lua", "--batches", "6000"}), 1);
  CHECK_THAT(others.err, Contains("resume.lua:") && Contains("the state is of batches with n = 5000, these have 6000"));
}
