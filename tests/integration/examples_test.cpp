#include <fstream>
#include <string>

#include <catch2/catch.hpp>

#include "tests/integration/images.hpp"
#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;
using Catch::Matches;

namespace {

std::string example(const std::string& name) { return (source_dir() / "examples" / name).string(); }

Words nodes(int n) { return {"-n", std::to_string(n)}; }

/// The indented lines below a heading of README.md, without their indentation.
std::string readme_code(const std::string& heading) {
  std::ifstream file(source_dir() / "README.md");
  std::string code;
  bool below = false;
  for (std::string line; std::getline(file, line);) {
    if (below && line.rfind("    ", 0) == 0) {
      code += line.substr(4) + "\n";
    } else if (below && !code.empty()) {
      if (!line.empty()) break;
      code += "\n";
    }
    below = below || line == heading;
  }
  return code;
}

}  // namespace

TEST_CASE("the example on the first page of README.md trains") {
  const JobFolder folder;
  write_images(folder.path() / "shared/data/mnist", 2000, 200);
  folder.write("job.lua", readme_code("## One screen"));
  ProcessOptions options = folder.options();
  options.cwd = folder.path() / "run";
  std::filesystem::create_directory(options.cwd);
  const Finished run = run_program(actorhost_binary(), {"-n", "2", "--seed", "1", "../job.lua"}, 30, options);
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(std::stod(line_after(run.out, "test accuracy: ")) > 80);
}

TEST_CASE("hello speaks once and adds up its ranks") {
  const JobFolder folder;
  const int n = GENERATE(1, 2, 3);
  const Finished run = folder.run(with(nodes(n), {example("hello.lua")}));
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(run.out == "hello from rank 0 of " + std::to_string(n) + "\nsum over the ranks of rank + 1:\t" +
                       std::to_string(n * (n + 1) / 2) + "\n");
}

TEST_CASE("with --print all every rank of hello speaks") {
  const JobFolder folder;
  const Finished run = folder.run({"-n", "3", "--print", "all", example("hello.lua")});
  INFO(run.description);
  CHECK(run.status == 0);
  for (const std::string rank : {"0", "1", "2"}) {
    CHECK_THAT(run.out, Contains("[rank " + rank + "] hello from rank " + rank + " of 3\n"));
    CHECK_THAT(run.out, Contains("[rank " + rank + "] sum over the ranks of rank + 1:\t6\n"));
  }
}

TEST_CASE("wordcount counts the words of README.md, or of what it is given") {
  const JobFolder folder;
  const int n = GENERATE(1, 3);
  const Finished own = folder.run(with(nodes(n), {example("wordcount.lua")}));
  INFO(own.description);
  CHECK(own.status == 0);
  CHECK_THAT(own.out, Matches("[0-9]+ different words\n( +[0-9]+  [^ ]+\n){10}"));
  folder.write("text", "one two TWO\nthree Three three\n");
  const Finished given = folder.run(with(nodes(n), {example("wordcount.lua"), "text", "2"}));
  INFO(given.description);
  CHECK(given.out == "3 different words\n       3  three\n       2  two\n");
}

TEST_CASE("param_server loses none of its updates") {
  const JobFolder folder;
  const int n = GENERATE(1, 2, 3);
  const Finished run = folder.run(with(nodes(n), {example("param_server.lua")}));
  INFO(run.description);
  CHECK(run.status == 0);
  // Under BSP it ends after a whole round.
  const std::string updates = std::to_string((1000 + n - 1) / n * n);
  CHECK(run.out == updates + " updates by " + std::to_string(n) + " workers, sum of all values " + updates + "\n");
}

TEST_CASE("custom_barrier keeps to its rule") {
  const JobFolder folder;
  const int n = GENERATE(1, 2, 3);
  const Finished run = folder.run(with(nodes(n), {example("custom_barrier.lua")}));
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(line_after(run.out, "every worker made 200 steps or more: ") == "true");
  CHECK_THAT(run.out, Contains("steps ahead of the slowest"));
}

TEST_CASE("late_join counts the work of everybody") {
  const JobFolder folder;
  const int n = GENERATE(1, 2, 3);
  const Finished run = folder.run(with(nodes(n), {example("late_join.lua"), "--seconds", "0.3"}));
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK_THAT(run.out, Contains(" updates ("));
  CHECK(count_of(run.out, "worker ") == static_cast<size_t>(n));
  CHECK(count_of(run.out, ": 0") == 0);
}

TEST_CASE("mnist_ps learns a small set of images and says how well as its last line") {
  const JobFolder folder;
  write_images(folder.path() / "images", 600, 300);
  const int n = GENERATE(1, 2, 3);
  const Finished run = folder.run(with(
      nodes(n), {example("mnist_ps.lua"), "--data", "images", "--hidden", "32", "--epochs", "4", "--batch", "20"}));
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(line_after(run.out, "data: ") == "MNIST from images, 600 images to train, 300 to test");
  CHECK(line_after(run.out, "epoch 1: ").starts_with("loss "));
  CHECK(line_after(run.out, "120 updates in ").ends_with(" a second"));
  REQUIRE_THAT(run.out, Matches("(.|\n)*\ntest accuracy: [0-9]+\\.[0-9][0-9] %\n"));
  CHECK(std::stod(line_after(run.out, "test accuracy: ")) > 90);
}

TEST_CASE("mnist_ps trains a softmax under each barrier") {
  const JobFolder folder;
  write_images(folder.path() / "images", 600, 300);
  const std::string rule = GENERATE(as<std::string>(), "bsp", "ssp:4", "asp", "pbsp:2", "pssp:2:4");
  const Finished run = folder.run({"-n", "3", "--barrier", rule, example("mnist_ps.lua"), "--data", "images", "--model",
                                   "softmax", "--epochs", "4", "--batch", "20"});
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(std::stod(line_after(run.out, "test accuracy: ")) > 90);
}
