// Checkpoints of the parameter server: unwritable folders and damaged files.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

TEST_CASE("a run with an unwritable checkpoint folder exits with 4 before the job starts") {
  const JobFolder folder;
  folder.write("file", "no folder");
  const bool flag = GENERATE(true, false);
  if (!flag) folder.write("own", "no folder either");
  const Words words = flag ? Words{"--checkpoint", "file"} : Words{};
  const Ended run(folder.run(with(with({"-n", "2"}, words), {"jobs/checkpoint_faults.lua"})), 4);
  CHECK_THAT(run.err, Contains(flag ? "actorhost: --checkpoint: " : "actorhost: a checkpoint cannot be written: ") &&
                          Contains(flag ? "file" : "own"));
  if (flag) CHECK(run.out.empty());
  CHECK_THAT(run.out, !Contains("ends"));
}

TEST_CASE("a checkpoint that later becomes unwritable ends the run with 4 on all hosts") {
  const std::string place = GENERATE(as<std::string>(), "threads", "hosts");
  const Ended run(run_at(place, JobFolder(), {"jobs/checkpoint_faults.lua", "--steps", "1000000", "--spoil"}), 4);
  CHECK_THAT(run.err, Contains("actorhost: a checkpoint cannot be written: ") && Contains("own"));
}

TEST_CASE("an emptied or truncated newest checkpoint is named, and the previous checkpoint is used") {
  const JobFolder folder;
  // A run skips some checkpoints if they are due faster than the disk writes them, but each run leaves one.
  REQUIRE(folder.run({"-n", "2", "jobs/checkpoint_faults.lua", "--steps", "5"}).status == 0);
  REQUIRE(folder.run({"-n", "2", "--resume", "own", "jobs/checkpoint_faults.lua", "--steps", "50"}).status == 0);
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
  const Finished run = folder.run({"-n", "2", "--resume", "own", "jobs/checkpoint_faults.lua", "--steps", "60"});
  INFO(damage << "\n" << run.description);
  CHECK(run.status == 0);
  CHECK_THAT(run.err, Contains(newest.filename().string() + " is damaged and skipped: "));
  CHECK(run.out == "begins\nends\t120\n");
}
