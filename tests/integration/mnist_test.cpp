// The examples that train a convolutional net: mnist_cnn.lua and mnist_barriers.lua.

#include "tests/integration/images.hpp"
#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

using Catch::Matches;
using Catch::StartsWith;

namespace {

std::string example_file(const std::string& name) { return (source_dir() / "examples" / name).string(); }

const Words kCnn = {example_file("mnist_cnn.lua"), "--data", "images", "--small", "--batch", "30", "--lr", "0.02"};

const Words kBarriers = {example_file("mnist_barriers.lua"),
                         "--small",
                         "--seconds",
                         "0.4",
                         "--marks",
                         "4",
                         "--delay",
                         "0.01",
                         "--batch",
                         "8",
                         "--out",
                         "some 'figures'"};

std::vector<std::vector<std::string>> rows_of(const std::string& csv) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream cells(line);
    auto& row = rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, ',');) row.push_back(cell);
  }
  return rows;
}

}  // namespace

TEST_CASE("mnist_cnn learns a small set of images in each mode, for any number of nodes", "[deep]") {
  const JobFolder folder;
  write_images(folder.path() / "images", 601, 200);  // parts of different sizes
  const auto [mode, n] = GENERATE(table<std::string, int>({{"one", 1},
                                                           {"allreduce", 1},
                                                           {"allreduce", 2},
                                                           {"allreduce", 3},
                                                           {"allreduce", 5},
                                                           {"average", 1},
                                                           {"average", 2},
                                                           {"average", 3},
                                                           {"average", 5},
                                                           {"server", 1},
                                                           {"server", 2},
                                                           {"server", 3},
                                                           {"server", 5}}));
  const Ended run(
      folder.run(with({"-n", std::to_string(n), "--seed", "1"}, with(kCnn, {"--epochs", "6", "--mode", mode})), 60));
  CHECK(
      line_after(run.out, "data: ").starts_with("MNIST from images, 601 images to train, 200 to test; 25556 weights"));
  CHECK_THAT(run.out, Matches("(.|\n)*\nepoch 6: test accuracy [0-9.]+ %, [0-9.]+ s\n"));
  CHECK(count_of(run.out, "epoch 6: ") == 1);
  if (mode != "server") CHECK(count_of(run.out, "epoch ") == 6);
  CHECK(std::stod(line_after(run.out, "epoch 6: test accuracy ")) > 50);  // ten classes
}

TEST_CASE("mnist_cnn lists its modes, and refuses several nodes in the mode for one node") {
  const JobFolder folder;
  write_images(folder.path() / "images", 60, 20);
  CHECK_THAT(folder.run(with({"-n", "1"}, with(kCnn, {"--mode", "two"}))).err,
             Contains("--mode is one of one, allreduce, average, server; got 'two'"));
  CHECK_THAT(folder.run(with({"-n", "2"}, kCnn)).err, Contains("--mode one is for one node (-n 1); got 2"));
}

TEST_CASE("mnist_barriers measures each rule at fixed times and at fixed numbers of updates, and draws figures",
          "[deep]") {
  const JobFolder folder;
  const std::string push = GENERATE(as<std::string>(), "delta", "gradient");
  const Words flags = {"--updates", "24", "--seeds", "2", "--push", push};
  const Ended run(folder.run(with({"-n", "3", "--seed", "7"}, with(kBarriers, flags)), 100));
  CHECK(line_after(run.out, "data: ") == "few digits; 3 workers, seeds 7 to 8, " + push + " pushed");
  const std::vector<std::string> rules = {"bsp", "ssp:4", "asp", "pbsp:2", "pssp:2:4"};
  for (const std::string& rule : rules) {
    CHECK_THAT(line_after(run.out, rule + " "), Matches(" *([0-9.]+ \\[-?[0-9.]+, [0-9.]+\\] *){3}"));
  }
  CHECK_THAT(run.out, Contains("bsp makes progress slowest (steps of a worker in 0.4 s):\n    asp above bsp by "));
  CHECK(count_of(run.out, " above ") == 24);
  CHECK_THAT(run.out, Contains("claims: 24 pairs are tested, each with an interval of 99.79 %"));
  CHECK_THAT(run.out, Contains("accuracy over: the mean of the test accuracies at 4 marks"));

  const auto out = folder.path() / "some 'figures'";
  const auto accuracy = rows_of(read_text(out / "accuracy.csv"));
  REQUIRE(accuracy.size() == 1 + 2 * rules.size() * 8);
  CHECK(accuracy[0] == std::vector<std::string>{"barrier", "seed", "by", "mark", "seconds", "updates", "accuracy"});
  for (size_t i = 1; i < accuracy.size(); ++i) {
    const auto& row = accuracy[i];
    REQUIRE(row.size() == 7);
    CHECK(row[0] == rules[(i - 1) / 8 % rules.size()]);
    CHECK(row[1] == ((i - 1) / 8 < rules.size() ? "7" : "8"));
    CHECK(std::stod(row[row[2] == "seconds" ? 4 : 5]) >= std::stod(row[3]) - 0.001);
    if (row[2] == "updates") CHECK(row[5] == row[3]);  // no barrier moves the mark
    CHECK((std::stod(row[6]) >= 0 && std::stod(row[6]) <= 1));
  }
  std::map<std::string, int> steps;  // of each worker in each run, counted from 1 at rising times
  double last = 0;
  const auto done = rows_of(read_text(out / "steps.csv"));
  CHECK(done[0] == std::vector<std::string>{"barrier", "seed", "rank", "step", "seconds"});
  for (size_t i = 1; i < done.size(); ++i) {
    REQUIRE(done[i].size() == 5);
    const int step = std::stoi(done[i][3]);
    CHECK(step == ++steps[done[i][0] + " " + done[i][1] + " " + done[i][2]]);
    if (step > 1) CHECK(std::stod(done[i][4]) >= last);
    last = std::stod(done[i][4]);
  }
  CHECK(steps.size() == 2 * rules.size() * 3);
  for (const std::string name : {"accuracy_updates", "accuracy_seconds", "steps"}) {
    const std::string svg = read_text(out / (name + ".svg"));
    CHECK_THAT(svg, StartsWith("<svg") || StartsWith("<?xml"));
    for (const std::string& rule : rules) CHECK_THAT(svg, Contains(">" + rule + "<"));
    if (run.err.find("librsvg") == std::string::npos)
      CHECK_THAT(read_text(out / (name + ".png")), StartsWith("\x89PNG\r\n"));
  }
}

TEST_CASE("mnist_barriers takes one rule, one seed, one worker and no delay", "[deep]") {
  const JobFolder folder;
  const Words flags = {"--updates", "5", "--seeds", "1", "--barriers", "asp", "--delay", "0"};
  const std::string n = GENERATE("1", "2", "5");
  const Ended run(folder.run(with({"-n", n}, with(kBarriers, flags)), 60));
  CHECK_THAT(run.out, !Contains(" above ") && !Contains("["));
  CHECK(rows_of(read_text(folder.path() / "some 'figures'" / "accuracy.csv")).size() == 9);
}

TEST_CASE("mnist_barriers reports a wrong flag before it trains") {
  const JobFolder folder;
  const auto [flag, value, message] = GENERATE(table<std::string, std::string, std::string>({
      {"--barriers", "bsp,bps", "--barriers: barrier 'bps': there is no rule 'bps'; did you mean bsp?"},
      {"--barriers", "asp,ssp", "--barriers: barrier 'ssp': 0 parameters are given; it is written ssp:S"},
      {"--barriers", "asp,bsp,asp", "--barriers names asp twice"},
      {"--seeds", "0", "--seeds has to be at least 1; got 0"},
      {"--marks", "0", "--marks has to be at least 1; got 0"},
      {"--seconds", "0", "--seconds has to be above 0; got 0"},
      {"--push", "gradent", "--push is one of delta, gradient; got 'gradent'; did you mean gradient?"},
      {"--out", "taken/below", "taken/below cannot be made: Not a directory"},
  }));
  folder.write("taken", "");
  const Ended run(folder.run({"-n", "2", example_file("mnist_barriers.lua"), "--small", flag, value}), 1);
  CHECK_THAT(run.err, Contains(message));
  CHECK(run.out == "");  // it prints its data set before it trains
}
