// Jobs that save their own state (actor.checkpoint, iterate's checkpoint=) and resume from it: with any number of
// ranks, in threads, processes and hosts, and after kill -9 at any moment.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

std::vector<std::string> entries_of(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("a resumed run restores rank 0's state on every rank, for any number of ranks") {
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate", "hosts");
  const JobFolder folder;
  const Finished first = run_at(place, folder, {"--checkpoint", "saved", "jobs/checkpoint.lua", "job", "first", "8"});
  INFO(place << "\n" << first.description);
  CHECK(first.status == 0);
  CHECK_THAT(first.out, Contains("from 0 to 8: 144, own 0 36 72"));
  CHECK(entries_of(folder.path() / "saved") == Words{"state-000000000001", "state-000000000002"});
  const Finished same = run_at(place, folder, {"--resume", "saved", "jobs/checkpoint.lua", "job", "first", "10"});
  INFO(same.description);
  CHECK_THAT(same.out, Contains("from 6 to 10: 220, own 0 34 68"));  // each rank has resumed from rank 0's state
  const Finished fewer = folder.run({"-n", "2", "--resume", "saved", "jobs/checkpoint.lua", "job", "first", "12"});
  INFO(fewer.description);
  CHECK(fewer.out == "from 9 to 12: 312, own 0 33\n");
}

TEST_CASE(
    "with ranks = 'all' each rank restores its own state; another number of ranks is refused, or gets all parts") {
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate", "hosts");
  const JobFolder folder;
  const Finished first = run_at(place, folder, {"--checkpoint", "saved", "jobs/checkpoint.lua", "job", "all", "8"});
  INFO(place << "\n" << first.description);
  CHECK_THAT(first.out, Contains("from 0 to 8: 144, own 0 36 72"));
  const Finished same = run_at(place, folder, {"--resume", "saved", "jobs/checkpoint.lua", "job", "all", "10"});
  INFO(same.description);
  CHECK_THAT(same.out, Contains("from 6 to 10: 220, own 0 55 110"));
  const Ended fewer(folder.run({"-n", "2", "--resume", "saved", "jobs/checkpoint.lua", "job", "all", "12"}), 1);
  CHECK_THAT(fewer.err, Contains("checkpoint.lua:12: checkpoint:load: 'state' was saved by 3 ranks and this run has 2; "
                                 "load { parts = true } gives all 3 parts to each rank"));
  const Finished parts =
      folder.run({"-n", "2", "--resume", "saved", "jobs/checkpoint.lua", "job", "all", "12", "parts"});
  INFO(parts.description);
  CHECK(parts.out == "parts 0:0 1:45 2:90\n");
  const Finished other = folder.run({"-n", "2", "--resume", "saved", "jobs/checkpoint.lua", "job", "first", "12"});
  CHECK_THAT(other.err, Contains("'state' was saved with ranks = 'all', by 3 of them"));
}

TEST_CASE("without --checkpoint nothing is saved, and --resume of a folder without checkpoints is refused") {
  const JobFolder folder;
  const Finished plain = folder.run({"-n", "1", "jobs/checkpoint.lua", "job", "first", "8"});
  CHECK(plain.out == "from 0 to 8: 144, own 0\n");
  // The job itself; a run of over a second also has a token and a socket.
  for (const std::string& entry : entries_of(folder.path())) {
    CHECK((entry == "jobs" || entry == "config" || entry == "actorhost"));
  }
  const Finished none = folder.run({"-n", "1", "--resume", "saved", "jobs/checkpoint.lua", "job", "first", "8"});
  CHECK(none.status == 2);
  CHECK_THAT(none.err, Contains("--resume: there is no complete checkpoint in 'saved'"));
}

TEST_CASE("a damaged newest checkpoint of a job is named and the previous checkpoint is used") {
  const JobFolder folder;
  CHECK(folder.run({"-n", "1", "--checkpoint", "saved", "jobs/checkpoint.lua", "job", "first", "8"}).status == 0);
  {
    std::fstream file(folder.path() / "saved/state-000000000002/values.npz", std::ios::in | std::ios::out);
    file.seekp(100);
    file.put('!');
  }
  const Finished run = folder.run({"-n", "1", "--resume", "saved", "jobs/checkpoint.lua", "job", "first", "8"});
  INFO(run.description);
  CHECK(run.out == "from 3 to 8: 144, own 0\n");
  CHECK_THAT(run.err, Contains("checkpoint saved/state-000000000002 is damaged and skipped"));
}

TEST_CASE("a state that cannot be saved is an error at the call") {
  const JobFolder folder;
  const Finished function = folder.run(
      {"-n", "1", "--checkpoint", "saved", "jobs/checkpoint.lua", "state_that_cannot_be_saved_is_error_at", "f"});
  CHECK_THAT(function.err, Contains("checkpoint.lua:31:") && Contains("function"));
  CHECK(function.status == 1);
  const Finished name = folder.run({"-n", "1", "--checkpoint", "saved", "jobs/checkpoint.lua",
                                    "state_that_cannot_be_saved_is_error_at", "checkpoint"});
  CHECK_THAT(name.err, Contains("checkpoint.lua:30: bad argument 'name' to checkpoint.new"));
}

TEST_CASE("a job killed at any moment resumes from its last complete checkpoint", "[deep]") {
  const JobFolder folder;
  const std::string ranks = GENERATE(as<std::string>(), "first", "all");
  const unsigned seed = std::random_device()();
  INFO("ranks " << ranks << ", seed " << seed);
  std::mt19937 random(seed);
  long last = 0;
  for (int round = 0; round < 6; ++round) {
    const Words resume = last > 0 ? Words{"--resume", "saved"} : Words{"--checkpoint", "saved"};
    Process run = folder.start(
        with(with({"-n", "2"}, resume), {"jobs/checkpoint.lua", "killed_at_any_moment_job_that_saves_all", ranks}),
        "saved ");
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 60000));  // a random moment
    run.signal(SIGKILL);
    run.wait(10);
    INFO(run.describe());
    const std::string out = run.out();
    const long from = std::stol(line_after(out, "from "));
    CHECK((from == last || from == last + 1));  // the last checkpoint may be complete but not yet logged
    const size_t complete = out.rfind('\n');
    const size_t at = out.rfind("saved ", complete);
    last = std::stol(out.substr(at + 6));
  }
}

TEST_CASE("iterate resumes from its newest state with different nodes after kill -9") {
  const JobFolder folder;
  const Ended whole(folder.run({"-n", "2", "jobs/checkpoint.lua", "iterate_goes_on_from_its_newest_state", "10"}));
  Process killed = folder.start(
      {"-n", "2", "--checkpoint", "saved", "jobs/checkpoint.lua", "iterate_goes_on_from_its_newest_state", "10", "7"});
  INFO(killed.describe());
  REQUIRE(killed.wait_for_output("checkpoint saved/iterate-1-000000000001", 20));
  killed.signal(SIGKILL);
  killed.wait(10);
  const Ended resumed(folder.run({"-n", "2", "--resume", "saved", "jobs/checkpoint.lua",
                                  "iterate_goes_on_from_its_newest_state", "10", "7"}));  // 6 merges remained
  CHECK(resumed.out == whole.out);
  const Finished done = folder.run(
      {"-n", "3", "--resume", "saved", "jobs/checkpoint.lua", "iterate_goes_on_from_its_newest_state", "10", "1"});
  INFO(done.description);
  CHECK(done.out == whole.out);  // no merges remain
}
