// Folders owned by one run at a time: checkpoint folders, and folders where the processes of --isolate meet.

#include <sys/stat.h>

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace fs = std::filesystem;

namespace {

constexpr const char* kFolderJobs = "jobs/terminate.lua";

/// The folders of --isolate runs in that folder.
std::set<std::string> run_folders(const fs::path& folder) {
  std::set<std::string> found;
  for (const std::string& name : names_in(folder)) {
    if (name.starts_with("actorhost-run-")) found.insert(name);
  }
  return found;
}

}  // namespace

TEST_CASE("a second run with the same --checkpoint is refused, and resumes at once when the first run is killed",
          "[deep]") {
  const JobFolder folder;
  const std::string job = GENERATE(as<std::string>(), "served", "kept");
  const Words flags = GENERATE(Words{"-n", "2"}, Words{"-n", "2", "--isolate"});
  const std::string how = job == "served" ? "asp" : "first";
  Process first = folder.start(with(flags, {"--checkpoint", "saved", kFolderJobs, job, how}), "works\n");
  const auto refused = [&](const Words& second, const Process& holder) {
    const Ended run(folder.run(with(second, {"-n", "1", kFolderJobs, job, how})), 4);
    CHECK_THAT(run.err, Contains("another run keeps its checkpoints in ") &&
                            Contains("(process " + std::to_string(holder.pid()) + " on ") &&
                            Contains("give this run another folder"));
  };
  refused({"--checkpoint", "./saved/"}, first);
  first.signal(SIGTERM);  // saves a checkpoint to resume from
  CHECK(first.wait(20) == 143);
  Process next = folder.start(with(flags, {"--resume", "saved", kFolderJobs, job, how}), "works\n");
  refused({"--resume", "saved"}, next);
  next.signal(SIGKILL);
  CHECK(next.wait(20) == 137);
  Process last = folder.start(with(flags, {"--resume", "saved", kFolderJobs, job, how}));
  CHECK(last.wait_for_output("works\n", 20));
  INFO(first.describe() << next.describe() << last.describe());
  last.signal(SIGTERM);
  CHECK(last.wait(20) == 143);
}

TEST_CASE("hosts of one run on one machine share a checkpoint folder") {
  const JobFolder folder;
  Hosts hosts(folder, 3, {"-n", "1", "--checkpoint", "saved", "jobs/checkpoint.lua", "job", "all", "8"});
  CHECK(hosts.wait(30) == std::vector<int>{0, 0, 0});
  INFO(hosts.describe());
  CHECK(names_in(folder.path() / "saved") == std::set<std::string>{"state-000000000001", "state-000000000002"});
}

TEST_CASE("a folder that a script passes to actor.checkpoint is owned by one run") {
  const JobFolder folder;
  folder.write("job.lua",
               "local actor = require 'actor'\n"
               "local keeper = actor.checkpoint.new { dir = 'mine', name = (...) }\n"
               "print 'works' while true do keeper:save {} actor.sleep(0.01) end");
  Process first = folder.start({"-n", "1", "job.lua", "state"}, "works\n");
  const Ended second(folder.run({"-n", "1", "job.lua", "state"}), 3);
  CHECK_THAT(second.err, Contains("job.lua:2: ") && Contains("another run keeps its checkpoints in 'mine' (process "));
  Process other = folder.start({"-n", "1", "job.lua", "another"});
  CHECK(other.wait_for_output("works\n", 20));
}

TEST_CASE("an --isolate run removes the folders of killed runs, and nothing else") {
  JobFolder folder;
  const fs::path base = folder.path() / "tmp";
  folder.write("tmp/actorhost-run-notour/data", "mine");
  fs::permissions(base / "actorhost-run-notour", fs::perms(0700));
  folder.write("elsewhere/run", "mine");
  fs::permissions(folder.path() / "elsewhere", fs::perms(0700));
  fs::create_directory_symlink(folder.path() / "elsewhere", base / "actorhost-run-linked");
  folder.set("TMPDIR", base.string());
  const Words words = {"-n", "2", "--isolate", kFolderJobs, "none"};
  const auto before = run_folders(base);

  Process killed = folder.start(words, "works\n");
  auto left = run_folders(base);
  CHECK(left.size() == before.size() + 1);
  killed.signal(SIGKILL);
  CHECK(killed.wait(20) == 137);
  CHECK(run_folders(base) == left);

  Process living = folder.start(words, "works\n");
  CHECK(run_folders(base).size() == before.size() + 1);
  for (const std::string& name : before) left.erase(name);
  CHECK_FALSE(fs::exists(base / *left.begin()));
  CHECK(Ended(folder.run({"-n", "2", "--isolate", "--log-level", "warn", "jobs/output.lua", "writes"})).err ==
        "errors\nerrors\n");
  CHECK(run_folders(base).size() == before.size() + 1);  // the live run's folder is still there
  living.signal(SIGTERM);
  CHECK(living.wait(20) == 143);
  CHECK(run_folders(base) == before);
  CHECK(read_text(base / "actorhost-run-notour/data") == "mine");
  CHECK(read_text(folder.path() / "elsewhere/run") == "mine");
}

TEST_CASE("an --isolate run has room for its sockets in a TMPDIR of 70 bytes") {
  JobFolder folder;
  std::string base = (folder.path() / "t").string();
  REQUIRE(base.size() <= 70);
  base.resize(70, 't');
  fs::create_directory(base);
  folder.set("TMPDIR", base);
  folder.write("job.lua", "require('actor').collective.barrier() print 'met'");
  CHECK(Ended(folder.run({"-n", "2", "--isolate", "job.lua"})).out == "met\n");
}
