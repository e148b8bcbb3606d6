// --threads-per-node: what large products of each node run on.

#include <algorithm>
#include <thread>

#include <catch2/catch.hpp>

#include "tests/integration/images.hpp"
#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;

namespace {

// How many threads a large product has added to the process, and what it gives.
constexpr const char* kProduct = R"(
local actor = require "actor"
local tensor = actor.tensor
local function running()
  return tonumber(io.open("/proc/self/status"):read("*a"):match('Threads:%s*(%d+)'))
end
local a = tensor.normal({ 600, 600 }, { seed = 1 })
local before = running()
local product = a:matmul(a)
print("threads: " .. tensor.threads())
print("added: " .. running() - before)
print("product: " .. product:hash())
)";

unsigned cores() { return std::max(1U, std::thread::hardware_concurrency()); }

}  // namespace

TEST_CASE("a node has as many threads as --threads-per-node says and a product does not depend on it") {
  const JobFolder folder;
  folder.write("job.lua", kProduct);
  const std::string alone = line_after(folder.run({"-n", "1", "--threads-per-node", "1", "job.lua"}).out, "product: ");
  const int threads = GENERATE(1, 2, 3, 7);
  const Finished run = folder.run({"-n", "1", "--threads_per_node", std::to_string(threads), "job.lua"});
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(line_after(run.out, "threads: ") == std::to_string(threads));
  CHECK(line_after(run.out, "added: ") == std::to_string(threads - 1));
  CHECK(line_after(run.out, "product: ") == alone);
}

TEST_CASE("without --threads-per-node the nodes of a machine share its cores") {
  const JobFolder folder;
  folder.write("job.lua", "local actor = require 'actor'\nprint('threads: ' .. actor.tensor.threads())");
  const std::string place = GENERATE(as<std::string>(), "one", "threads", "isolate", "hosts");
  const Finished run = place == "one" ? folder.run({"-n", "1", "job.lua"}) : run_at(place, folder, {"job.lua"});
  INFO(run.description);
  CHECK(run.status == 0);
  const unsigned nodes = place == "one" ? 1 : 3;
  CHECK(line_after(run.out, "threads: ") == std::to_string(std::max(1U, cores() / nodes)));
}

TEST_CASE("under BSP the number of threads changes no bit of a model") {
  const JobFolder folder;
  write_images(folder.path() / "images", 600, 100);
  const auto weights = [&](const std::string& threads) {
    // A batch this large is worth a product on several threads.
    const Finished run = folder.run({"-n", "2", "--seed", "7", "--barrier", "bsp", "--threads-per-node", threads,
                                     (source_dir() / "examples/mnist_ps.lua").string(), "--data", "images", "--epochs",
                                     "2", "--batch", "100"});
    INFO(run.description);
    REQUIRE(run.status == 0);
    return line_after(run.out, "weights: ");
  };
  CHECK(weights("3") == weights("1"));
}
