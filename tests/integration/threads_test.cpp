// --threads-per-node: the threads of large products on each node.

#include <sched.h>

#include "host/base/allowance.hpp"
#include "tests/integration/images.hpp"
#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

unsigned cores() { return own_allowance().cores; }

/// Runs actorhost on one core, by taskset.
Finished run_on_one_core(const JobFolder& folder, const Words& words) {
  cpu_set_t mask;
  int core = 0;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) {
    while (!CPU_ISSET(core, &mask)) ++core;
  }
  return run_program("taskset", with({"-c", std::to_string(core), actorhost_binary()}, words), 30, folder.options());
}

}  // namespace

TEST_CASE("a node has the number of threads of --threads-per-node, and no product depends on it") {
  const JobFolder folder;
  const std::string alone =
      line_after(folder.run({"-n", "1", "--threads-per-node", "1", "jobs/threads.lua"}).out, "product: ");
  const int threads = GENERATE(1, 2, 3, 7);
  const Ended run(folder.run({"-n", "1", "--threads_per_node", std::to_string(threads), "jobs/threads.lua"}));
  CHECK(line_after(run.out, "threads: ") == std::to_string(threads));
  CHECK(line_after(run.out, "added: ") == std::to_string(threads - 1));
  CHECK(line_after(run.out, "product: ") == alone);
}

TEST_CASE("without --threads-per-node the nodes of a machine share its cores") {
  const JobFolder folder;
  folder.write("job.lua", "local actor = require 'actor'\nprint('threads: ' .. actor.tensor.threads())");
  const std::string place = GENERATE(as<std::string>(), "one", "threads", "isolate", "hosts");
  const Ended run(place == "one" ? folder.run({"-n", "1", "job.lua"}) : run_at(place, folder, {"job.lua"}));
  const unsigned nodes = place == "one" ? 1 : 3;
  CHECK(line_after(run.out, "threads: ") == std::to_string(std::max(1U, cores() / nodes)));
}

TEST_CASE("the cores of the affinity mask limit the nodes and kernel threads") {
  const JobFolder folder;
  folder.write("job.lua", "local actor = require 'actor' print(actor.size, actor.tensor.threads())");
  const Words flags = GENERATE(Words{}, Words{"--isolate"}, Words{"-n", "auto"});
  const Ended run(run_on_one_core(folder, with(flags, {"job.lua"})));
  CHECK(run.out == "1\t1\n");
  if (std::thread::hardware_concurrency() > 1) {
    CHECK_THAT(run.err, Catch::Contains("; 1 of ") && Catch::Contains(" cores (the affinity mask)"));
    CHECK_THAT(Ended(run_on_one_core(folder, {"doctor"})).out, Catch::Contains("the affinity mask"));
  }
}

TEST_CASE("a task of Slurm uses the cores that Slurm assigns") {
  JobFolder folder;
  folder.write("job.lua", "local actor = require 'actor' print(actor.size, actor.tensor.threads())");
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}, {"SLURM_CPUS_PER_TASK", "1"}}) {
    folder.set(name, value);
  }
  CHECK(Ended(folder.run({"-n", "auto", "job.lua"})).out == "1\t1\n");
  const Ended one(folder.run({"job.lua"}));
  CHECK(one.out == "1\t1\n");
  if (cores() > 1) CHECK_THAT(one.err, Catch::Contains(" cores (SLURM_CPUS_PER_TASK=1)"));
  folder.set("SLURM_CPUS_PER_TASK", "0");
  CHECK_THAT(Ended(folder.run({"job.lua"}), 2).err, Catch::Contains("SLURM_CPUS_PER_TASK=0 is out of range"));
}

TEST_CASE("under BSP the number of threads changes no bit of a model") {
  const JobFolder folder;
  write_images(folder.path() / "images", 600, 100);
  const auto weights = [&](const std::string& threads) {
    // A batch of this size uses several threads for a product.
    const Ended run(folder.run({"-n", "2", "--seed", "7", "--barrier", "bsp", "--threads-per-node", threads,
                                (source_dir() / "examples/mnist_ps.lua").string(), "--data", "images", "--epochs", "2",
                                "--batch", "100"}));
    return line_after(run.out, "weights: ");
  };
  CHECK(weights("3") == weights("1"));
}
