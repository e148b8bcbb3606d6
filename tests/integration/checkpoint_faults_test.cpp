// Checkpoints of the parameter server that cannot be written, and damaged ones.

#include <filesystem>

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;

namespace {

// Two updates a step, with a checkpoint after each step; `--spoil` puts a file where the checkpoints go.
constexpr const char* kJob = R"(
local actor = require "actor"
local opt = actor.options { steps = 3, spoil = false }
print "begins"
local summary = actor.param.run {
  init = function() return { x = actor.tensor.zeros(1) } end,
  schedule_local = function() return { "x" } end,
  push = function() return { { "x", actor.tensor.ones(1) } } end,
  pull = actor.optim.add(),
  checkpoint = { steps = 1, dir = "own" },
  stop = function(ctx)
    if opt.spoil and ctx.step == 2 then -- the writer may be at work there
      os.execute "for i in $(seq 100); do mv own gone$i; touch own; [ -f own ] && break; done 2>/dev/null"
    end
    return ctx.step >= opt.steps
  end,
}
print("ends", summary.updates)
)";

}  // namespace

TEST_CASE("a folder that checkpoints cannot be written to ends the run with 4 before anything runs") {
  const JobFolder folder;
  folder.write("job.lua", kJob);
  folder.write("file", "no folder");
  const bool flag = GENERATE(true, false);
  if (!flag) folder.write("own", "no folder either");
  const Words words = flag ? Words{"--checkpoint", "file"} : Words{};
  const Finished run = folder.run(with(with({"-n", "2"}, words), {"job.lua"}));
  INFO(run.description);
  CHECK(run.status == 4);
  CHECK_THAT(run.err, Contains(flag ? "actorhost: --checkpoint: " : "actorhost: a checkpoint cannot be written: ") &&
                          Contains(flag ? "file" : "own"));
  if (flag) CHECK(run.out.empty());
  CHECK_THAT(run.out, !Contains("ends"));
}

TEST_CASE("a checkpoint that cannot be written later ends the run with 4, on all hosts") {
  const JobFolder folder;
  folder.write("job.lua", kJob);
  const std::string place = GENERATE(as<std::string>(), "threads", "hosts");
  const Finished run = run_at(place, folder, {"job.lua", "--steps", "1000000", "--spoil"});
  INFO(run.description);
  CHECK(run.status == 4);
  CHECK_THAT(run.err, Contains("actorhost: a checkpoint cannot be written: ") && Contains("own"));
}

TEST_CASE("a newest checkpoint that is emptied or truncated is named, and the one before it is used") {
  const JobFolder folder;
  folder.write("job.lua", kJob);
  // Some are left out where they come faster than the disk takes them, but each run leaves one.
  REQUIRE(folder.run({"-n", "2", "job.lua", "--steps", "5"}).status == 0);
  REQUIRE(folder.run({"-n", "2", "--resume", "own", "job.lua", "--steps", "50"}).status == 0);
  std::filesystem::path newest;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path() / "own")) {
    newest = std::max(newest, entry.path());
  }
  const std::string damage = GENERATE(as<std::string>(), "emptied", "truncated values", "truncated manifest");
  if (damage == "emptied") {
    for (const auto& file : std::filesystem::directory_iterator(newest)) std::filesystem::remove(file.path());
  } else {
    std::filesystem::resize_file(newest / (damage == "truncated values" ? "values.npz" : "manifest.json"), 20);
  }
  const Finished run = folder.run({"-n", "2", "--resume", "own", "job.lua", "--steps", "60"});
  INFO(damage << "\n" << run.description);
  CHECK(run.status == 0);
  CHECK_THAT(run.err, Contains(newest.filename().string() + " is damaged and skipped: "));
  CHECK(run.out == "begins\nends\t120\n");
}
