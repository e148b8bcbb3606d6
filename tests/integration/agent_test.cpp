#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

void write_job(const JobFolder& folder, const std::string& at) {
  folder.write(at + "/job.lua", job_text("agent.lua"));
  folder.write(at + "/words.lua", "return { greeting = 'hello' }");
  folder.write(at + "/lib/deep.lua", "local words = require 'words'\nreturn { value = #words.greeting }");
  folder.write(at + "/rules/mine.lua", "return { mine = function(view) return view.step <= view:min() + 1 end }");
}

/// A program that runs in a subfolder of the job's folder.
Process start_in(const JobFolder& folder, const std::string& at, const Words& words) {
  ProcessOptions options = folder.options();
  options.cwd = folder.path() / at;
  std::filesystem::create_directories(options.cwd);
  return Process(actorhost_binary(), words, options);
}

}  // namespace

TEST_CASE("an agent in an empty folder receives the job, its modules and its rule over the network") {
  const JobFolder folder;
  write_job(folder, "job");
  const FreePort port;
  Process agent = start_in(folder, "empty", {"agent", "-n", "2", "--join", port.endpoint(), "--once"});
  Process coordinator = start_in(folder, "job",
                                 {"-n", "1", "--nnodes", "2", "--rdzv-endpoint", port.endpoint(), "--node-rank", "0",
                                  "--barrier", "rules/mine.lua:mine", "job.lua", "one", "two"});
  const Ended both({coordinator, agent}, 20);
  CHECK(count_of(agent.err(), "hello 5") == 2);
  CHECK(coordinator.out() + agent.out() == "sum of 3 workers: 15, args: one two\n");
  CHECK(std::filesystem::is_empty(folder.path() / "empty"));
}

TEST_CASE("an agent serves one job after another") {
  const JobFolder folder;
  write_job(folder, "job");
  folder.write("other/job.lua", "local actor = require 'actor' actor.log.info('another job, %d', actor.size)");
  const FreePort port;
  Process agent = start_in(folder, "empty", {"agent", "-n", "1", "--join", port.endpoint()});
  for (const std::string job : {"job", "other"}) {
    Process coordinator = start_in(
        folder, job, {"-n", "1", "--nnodes", "2", "--rdzv-endpoint", port.endpoint(), "--node-rank", "0", "job.lua"});
    const auto code = coordinator.wait(20);
    INFO(coordinator.describe() << agent.describe());
    CHECK(code == 0);
    CHECK(agent.wait_for_output(job == "job" ? "hello 5" : "another job, 2", 20));
  }
  agent.signal(SIGINT);
  CHECK(agent.wait(20) == 130);
}

TEST_CASE("an agent logs the start, end and failure of each job") {
  const JobFolder folder;
  write_job(folder, "job");
  folder.write("bad/job.lua", "local actor = require 'actor' if actor.rank == 0 then error 'no good' end");
  const FreePort port;
  Process agent = start_in(folder, "empty", {"agent", "-n", "2", "--rdzv-id", "night", "--join", port.endpoint()});
  for (const std::string job : {"job", "bad"}) {
    Process coordinator = start_in(folder, job,
                                   {"-n", "1", "--nnodes", "2", "--rdzv-endpoint", port.endpoint(), "--rdzv-id",
                                    "night", "--node-rank", "0", "job.lua"});
    const auto code = coordinator.wait(20);
    INFO(coordinator.describe() << agent.describe());
    CHECK(code == (job == "job" ? 0 : 1));
    const std::string name = "job job.lua of run night at " + port.endpoint();
    CHECK(agent.wait_for_output(name + " has started, on 2 nodes here", 20));
    CHECK(agent.wait_for_output(name + (job == "job" ? " is done" : " has failed: rank 0: job.lua:1: no good"), 20));
  }
}

TEST_CASE("an agent that stays serves jobs that succeed, fail and crash, until SIGTERM") {
  const JobFolder folder;
  write_job(folder, "job");
  folder.write("fails/job.lua", "error 'no good'");
  folder.write("crashes/job.lua",
               "local actor, ffi = require 'actor', require 'ffi' ffi.cdef 'int kill(int, int); int getpid(void);'\n"
               "if actor.rank == 1 then ffi.C.kill(ffi.C.getpid(), 9) end actor.collective.barrier()");
  const FreePort port;
  const Words words = {"-n", "1", "--nnodes", "2", "--rdzv-endpoint", port.endpoint(), "--node-rank", "0", "job.lua"};
  Process agent =
      start_in(folder, "empty", {"agent", "--stay", "-n", "1", "--start-timeout", "1", "--join", port.endpoint()});
  CHECK(agent.wait_for_output("no job yet: no coordinator at tcp://" + port.endpoint(), 20));
  for (const auto& [job, code] : {std::pair{"fails", 1}, {"crashes", 137}, {"job", 0}}) {
    Process coordinator = start_in(folder, job, words);
    CHECK(coordinator.wait(30).has_value());
    const std::string line = "the job has ended with exit code " + std::to_string(code) + " after ";
    INFO(coordinator.describe() << agent.describe());
    CHECK(agent.wait_for_output(line, 30));
  }
  CHECK(count_of(agent.err(), "no job yet") <= 4);  // at most once in each wait for a job
  agent.signal(SIGTERM);
  CHECK(agent.wait(20) == 143);
}

TEST_CASE("an agent that stays reports another token once, and joins after the token is changed", "[deep]") {
  const JobFolder folder;
  folder.write("job/job.lua", "print 'served'");
  folder.write("theirs", "a token of sixteen letters");
  folder.write("ours", "another token of sixteen letters");
  for (const std::string name : {"theirs", "ours"}) {
    std::filesystem::permissions(folder.path() / name,
                                 std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }
  const FreePort port;
  Process coordinator = start_in(folder, "job",
                                 {"-n", "1", "--nnodes", "2", "--rdzv-endpoint", port.endpoint(), "--node-rank", "0",
                                  "--token-file", (folder.path() / "theirs").string(), "job.lua"});
  REQUIRE(coordinator.wait_for_output("info] seed", 20));
  Process agent = start_in(
      folder, "empty",
      {"agent", "--stay", "-n", "1", "--join", port.endpoint(), "--token-file", (folder.path() / "ours").string()});
  CHECK(agent.wait_for_output("the jobs there cannot be joined: ", 20));
  folder.write("ours", "a token of sixteen letters");
  CHECK(coordinator.wait(40) == 0);
  INFO(agent.describe());
  CHECK(agent.wait_for_output("the job has ended with exit code 0", 20));
  CHECK(count_of(agent.err(), "cannot be joined") == 1);
  agent.signal(SIGINT);
  CHECK(agent.wait(20) == 130);
}

TEST_CASE("wrong flags end an agent that stays") {
  const JobFolder folder;
  const auto [words, message] = GENERATE(table<Words, std::string>({
      {{"--token-file", "none"}, "none"},
      {{"--once"}, "excludes"},
      {{"--tls-ca", "none.pem"}, "none.pem"},
  }));
  const Ended run(folder.run(with({"agent", "--stay", "--join", "127.0.0.1:1"}, words)), 2);
  CHECK_THAT(run.err, Contains(message));
}

TEST_CASE("a host whose copy of a module differs is refused") {
  const JobFolder folder;
  write_job(folder, "job");
  write_job(folder, "other");
  folder.write("other/words.lua", "return { greeting = 'good morning' }");
  const FreePort port;
  const Words words = {"-n", "1", "--nnodes", "2", "--rdzv-endpoint", port.endpoint(), "job.lua"};
  Process coordinator = start_in(folder, "job", words);
  REQUIRE(coordinator.wait_for_output("info] seed", 20));
  Process other = start_in(folder, "other", words);
  const Ended both({coordinator, other}, 20, 1);
  CHECK_THAT(other.err(), Contains("differs from the coordinator's"));
  CHECK(count_of(line_after(other.err(), "actorhost: "), "module 'words'") == 1);
  CHECK_THAT(coordinator.err(), Contains("module 'words'"));
  CHECK(count_of(coordinator.err() + other.err(), "stack traceback:") == 1);
}

TEST_CASE("a host without a module receives it from the coordinator") {
  const JobFolder folder;
  write_job(folder, "job");
  folder.write("bare/job.lua", job_text("agent.lua"));
  const FreePort port;
  const Words words = {"-n", "1", "--nnodes", "2", "--rdzv-endpoint", port.endpoint(), "job.lua"};
  Process coordinator = start_in(folder, "job", words);
  REQUIRE(coordinator.wait_for_output("info] seed", 20));
  Process other = start_in(folder, "bare", words);
  const Ended both({coordinator, other}, 20);
  CHECK_THAT(other.err(), Contains("hello 5"));
}

TEST_CASE("an agent reports a missing module, with the reason why the coordinator did not send it") {
  const JobFolder folder;
  folder.write("job/job.lua", "local actor = require 'actor' local m = require 'linked' print(m)");
  folder.write("linked.lua", "return 'secret'");
  std::filesystem::create_symlink(folder.path() / "linked.lua", folder.path() / "job/linked.lua");
  const FreePort port;
  Process agent = start_in(folder, "empty", {"agent", "-n", "1", "--join", port.endpoint(), "--once"});
  Process coordinator = start_in(
      folder, "job", {"-n", "1", "--nnodes", "2", "--rdzv-endpoint", port.endpoint(), "--node-rank", "0", "job.lua"});
  CHECK(coordinator.wait(20) != 0);
  CHECK(agent.wait(20) != 0);
  INFO(coordinator.describe() << agent.describe());
  CHECK_THAT(agent.err(), Contains("'linked' is a link to outside of the script's folder"));
}

TEST_CASE("a module that exists nowhere is an error that lists the searched places") {
  const JobFolder folder;
  folder.write("job.lua", "local m = require 'nowhere.at.all'");
  const std::string place = GENERATE(as<std::string>(), "threads", "hosts");
  const Ended run(run_at(place, folder, {"job.lua"}), 1);
  CHECK_THAT(run.err, Contains("job.lua:1: module 'nowhere.at.all' not found"));
}
