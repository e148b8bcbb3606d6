// Runs of the parameter server, killed at random moments and resumed: each batch is merged exactly once. Rehearsals
// with crashes are in tests/rehearse. ACTORHOST_TEST_KILLS=20 sets the number of kills.

#include "host/base/random.hpp"
#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

TEST_CASE("a killed and resumed run merges each batch once, under other rules and with other workers and servers",
          "[deep]") {
  const std::string seed = any_seed();
  INFO("ACTORHOST_TEST_SEED=" << seed);
  Rng rng(std::stoull(seed));
  const JobFolder folder;
  const Words rules = {"bsp", "ssp:2", "asp", "pbsp:1", "pssp:1:2"};
  const auto words = [&](bool resumes) {
    Words all = {"--servers",
                 std::to_string(1 + rng.below(3)),
                 "-n",
                 std::to_string(1 + rng.below(4)),
                 "--isolate",
                 "--checkpoint",
                 "saved",
                 "--barrier",
                 rules[rng.below(rules.size())]};
    if (resumes) all = with(all, {"--resume", "saved"});
    return with(all, {"jobs/resume.lua"});
  };
  const uint64_t kills = number_of("ACTORHOST_TEST_KILLS", 2);
  bool complete = false;
  for (uint64_t i = 0; i < kills && !complete; ++i) {
    Process process = folder.start(words(i > 0));
    const bool began = process.wait_for_output("checkpoint saved/", 60);
    INFO(process.describe());
    REQUIRE(began);
    std::this_thread::sleep_for(std::chrono::microseconds(rng.below(100000)));  // a random moment
    process.signal(SIGKILL);
    process.wait(10);
    complete = process.out().find("each batch once") != std::string::npos;
  }
  if (complete) return;
  const Ended last(folder.run(words(true), 90));
  CHECK_THAT(last.out, Contains("each batch once"));
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
