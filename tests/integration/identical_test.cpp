#include "host/kernel/kernels.hpp"
#include "tests/integration/images.hpp"
#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

/// The hash of the trained model.
std::string weights(const JobFolder& folder, const std::string& place, const std::string& seed,
                    const std::string& servers) {
  // 784 x 128 floats are enough to be split over servers.
  const Ended run(run_at(
      place, folder,
      {"--seed", seed, "--servers", servers, "--barrier", "bsp", (source_dir() / "examples/mnist_ps.lua").string(),
       "--data", "images", "--hidden", "128", "--epochs", "1", "--batch", "20"}));
  return line_after(run.out, "weights: ");
}

/// The instruction sets of this CPU.
Words instruction_sets() {
  Words names;
  for (const auto isa : {kernel::Isa::sse2, kernel::Isa::v3, kernel::Isa::v4}) {
    if (const kernel::Kernels* table = kernel::kernels_for(isa)) names.emplace_back(table->isa);
  }
  return names;
}

/// The hash of the weights of a convolutional net after some steps with this instruction set.
std::string net_weights(JobFolder& folder, const std::string& place, const std::string& isa, const std::string& servers,
                        const std::string& seed) {
  folder.set("ACTORHOST_ISA", isa);
  const Ended run(run_at(place, folder, {"--seed", seed, "--servers", servers, "job.lua"}));
  CHECK(line_after(run.out, "seed: ") == seed);
  CHECK(line_after(run.out, "kernels: ") == isa);
  CHECK(line_after(run.out, "steps: ") == "8 of 3 workers, 25556 weights, all finite: true");
  return line_after(run.out, "weights: ");
}

}  // namespace

TEST_CASE("under BSP one seed gives the same bits in threads, processes, hosts and rehearsals", "[deep]") {
  const JobFolder folder;
  write_images(folder.path() / "images", 600, 100);
  const std::string servers = GENERATE(as<std::string>(), "1", "3");
  CAPTURE(servers);
  const std::string threads = weights(folder, "threads", "7", servers);
  CHECK(weights(folder, "threads", "7", servers) == threads);
  CHECK(weights(folder, "isolate", "7", servers) == threads);
  CHECK(weights(folder, "hosts", "7", servers) == threads);
  CHECK(weights(folder, "rehearsal", "7", servers) == threads);
}

TEST_CASE("one and three servers give the same bits, another seed gives different bits") {
  const JobFolder folder;
  write_images(folder.path() / "images", 600, 100);
  const std::string one = weights(folder, "threads", "7", "1");
  CHECK(weights(folder, "threads", "7", "3") == one);
  CHECK(weights(folder, "threads", "8", "1") != one);
}

TEST_CASE(
    "a convolutional net has the same bits in threads, processes, hosts and rehearsals, with any servers, on v3 and "
    "v4",
    "[deep]") {
  JobFolder folder;
  folder.write("job.lua", job_text("identical.lua"));
  folder.write("models/cnn.lua", read_text(model_file("cnn.lua")));
  const std::string seed = any_seed();
  CAPTURE(seed);
  std::map<std::string, std::string> bits;
  for (const std::string& isa : instruction_sets()) {
    bits[isa] = net_weights(folder, "threads", isa, "1", seed);
    for (const std::string& place : with(places(), {"rehearsal"})) {
      for (const char* servers : {"1", "2"}) {
        CAPTURE(isa, place, servers);
        CHECK(net_weights(folder, place, isa, servers, seed) == bits[isa]);
      }
    }
  }
  if (bits.contains("v4")) CHECK(bits["v4"] == bits["v3"]);
  CHECK(net_weights(folder, "threads", "sse2", "1", seed + "1") != bits["sse2"]);
}
