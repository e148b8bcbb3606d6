// --threads-per-node: what large products of each node run on.

#include <algorithm>
#include <thread>

#include <catch2/catch.hpp>

#include "tests/integration/images.hpp"
#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;

namespace {

unsigned cores() { return std::max(1U, std::thread::hardware_concurrency()); }

}  // namespace

TEST_CASE("a node has as many threads as --threads-per-node says and a product does not depend on it") {
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

TEST_CASE("under BSP the number of threads changes no bit of a model") {
  const JobFolder folder;
  write_images(folder.path() / "images", 600, 100);
  const auto weights = [&](const std::string& threads) {
    // A batch this large is worth a product on several threads.
    const Ended run(folder.run({"-n", "2", "--seed", "7", "--barrier", "bsp", "--threads-per-node", threads,
                                (source_dir() / "examples/mnist_ps.lua").string(), "--data", "images", "--epochs", "2",
                                "--batch", "100"}));
    return line_after(run.out, "weights: ");
  };
  CHECK(weights("3") == weights("1"));
}
