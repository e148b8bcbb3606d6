#include <catch2/catch.hpp>

#include "tests/integration/images.hpp"
#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;

namespace {

/// The hash of the trained model.
std::string weights(const JobFolder& folder, const std::string& place, const std::string& seed,
                    const std::string& servers) {
  // 784 x 128 floats are more than what is split over servers.
  const Ended run(run_at(
      place, folder,
      {"--seed", seed, "--servers", servers, "--barrier", "bsp", (source_dir() / "examples/mnist_ps.lua").string(),
       "--data", "images", "--hidden", "128", "--epochs", "1", "--batch", "20"}));
  return line_after(run.out, "weights: ");
}

}  // namespace

TEST_CASE("under BSP one seed gives the same bits in threads, processes and hosts") {
  const JobFolder folder;
  write_images(folder.path() / "images", 600, 100);
  const std::string servers = GENERATE(as<std::string>(), "1", "3");
  CAPTURE(servers);
  const std::string threads = weights(folder, "threads", "7", servers);
  CHECK(weights(folder, "threads", "7", servers) == threads);
  CHECK(weights(folder, "isolate", "7", servers) == threads);
  CHECK(weights(folder, "hosts", "7", servers) == threads);
}

TEST_CASE("one and three servers give the same bits, another seed gives others") {
  const JobFolder folder;
  write_images(folder.path() / "images", 600, 100);
  const std::string one = weights(folder, "threads", "7", "1");
  CHECK(weights(folder, "threads", "7", "3") == one);
  CHECK(weights(folder, "threads", "8", "1") != one);
}
