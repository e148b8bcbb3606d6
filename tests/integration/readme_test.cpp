// README.md: its code runs.

#include <cmath>
#include <fstream>

#include "tests/integration/images.hpp"
#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

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
  const Ended run(run_program(actorhost_binary(), {"-n", "2", "--seed", "1", "../job.lua"}, 30, options));
  CHECK(std::stod(line_after(run.out, "test accuracy: ")) > 80);
}

TEST_CASE("the job without a server in README.md converges") {
  const JobFolder folder;
  folder.write("job.lua", readme_code("## Without a server") + "if actor.rank == 0 then print('w:', w:mean()) end\n");
  const Ended run(folder.run({"-n", "3", "--seed", "1", "job.lua"}));
  CHECK(std::abs(std::stod(line_after(run.out, "w:\t")) - 1) < 1e-3);
}

TEST_CASE("the pipeline in README.md counts words") {
  const JobFolder folder;
  std::filesystem::create_directory(folder.path() / "corpus");
  folder.write("corpus/a.txt", "To be or not to be\n");
  folder.write("job.lua", readme_code("## Map-reduce") +
                              "if require('actor').rank == 0 then\n"
                              "  local seen = {}\n"
                              "  for _, pair in ipairs(counts) do seen[#seen + 1] = pair[1] .. ' ' .. pair[2] end\n"
                              "  table.sort(seen)\n"
                              "  print(table.concat(seen, ', '))\n"
                              "end\n");
  const Ended run(folder.run({"-n", "2", "job.lua"}));
  CHECK(run.out == "be 2, not 1, or 1, to 2\n");
}

TEST_CASE("the rule file of README.md runs in the simulator and in a job") {
  const JobFolder folder;
  const std::string rule = (source_dir() / "examples/rules/median.lua").string();
  const Ended simulated(folder.run({"sim", rule, "--nodes", "20", "--time", "20", "--no-progress"}));
  CHECK_THAT(simulated.out, Contains("median"));
  const Ended run(
      folder.run({"-n", "2", "--barrier", rule, (source_dir() / "examples/linear_regression.lua").string()}));
  CHECK(!run.out.empty());
}
