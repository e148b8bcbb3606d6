#include <sys/stat.h>

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

TEST_CASE("the run does not wait for a killed host, and other hosts do its batch") {
  const JobFolder folder;
  Hosts hosts(folder, 3, {"-n", "1", "jobs/failure.lua", "one_stops"});
  size_t stays = 0;  // the order of arrival decides which host has worker 2
  REQUIRE(hosts[0].wait_for_output("3 of 3 hosts", 20));
  const double started = now();
  while (hosts[stays].err().find("stays in process") == std::string::npos) {
    if (now() - started > 20 * patience()) FAIL("worker 2 does not stay\n" + hosts.describe());
    stays = 1 + stays % 2;
    hosts[stays].wait_for_output("stays in process", 0.1);
  }
  hosts[stays].signal(SIGKILL);
  const double killed = now();
  CHECK(hosts[0].wait(20) == 0);
  CHECK(hosts[3 - stays].wait(20) == 0);
  CHECK(now() - killed < 3 * patience());
  INFO(hosts.describe());
}

TEST_CASE("when the coordinator is killed the other hosts exit with 3 and name server 0") {
  const JobFolder folder;
  Hosts hosts(folder, 3, {"-n", "1", "jobs/failure.lua", "endless"});
  for (size_t host = 0; host < 3; ++host) REQUIRE(hosts[host].wait_for_output("works in process", 20));
  hosts[0].signal(SIGKILL);
  const double killed = now();
  for (const size_t host : {1, 2}) {
    const Ended ended({hosts[host]}, 20, 3);
    CHECK_THAT(hosts[host].err(), Contains("server 0") && Contains(hosts.endpoint()));
  }
  CHECK(now() - killed < 5 * patience());
}

TEST_CASE("when the coordinator is killed the other hosts end even while their Lua spins") {
  const JobFolder folder;
  const bool isolate = GENERATE(false, true);
  Hosts hosts(folder, 2,
              with(isolate ? Words{"--isolate"} : Words{},
                   {"-n", "1", "jobs/failure.lua", "when_coordinator_is_killed_others"}));
  REQUIRE(hosts[1].wait_for_output("spins", 20));
  hosts[0].signal(SIGKILL);
  const double killed = now();
  const Ended ended({hosts[1]}, 20, 3);
  CHECK(now() - killed < 5 * patience());
}

TEST_CASE("an isolated worker that dies before the run has started ends its host at once, and is named") {
  const bool joins = GENERATE(false, true);  // joins another host's run, or has its own
  JobFolder folder;
  const std::filesystem::path sockets = folder.path() / "tmp";
  std::filesystem::create_directory(sockets);
  folder.set("TMPDIR", sockets.string());
  const FreePort port;
  const std::string job = (folder.path() / "job.lua").string();
  REQUIRE(mkfifo(job.c_str(), 0600) == 0);  // one writer: the parent reads the job for its workers
  const Words other = {"--nnodes", "2", "--node-rank", "1", "--rdzv-endpoint", port.endpoint()};
  const Words own = {"-n", "2", "--isolate", "--start-timeout", "1000", "job.lua"};
  Process run = folder.start(joins ? with(other, own) : own);
  std::ofstream(job) << "return 1" << std::flush;
  const std::string list = "/proc/" + std::to_string(run.pid()) + "/task/" + std::to_string(run.pid()) + "/children";
  const double give_up = now() + 20 * patience();
  pid_t first = 0;
  pid_t second = 0;
  while (second == 0 && now() < give_up) std::istringstream(read_text(list)) >> first >> second;
  REQUIRE(second != 0);
  ::kill(second, SIGKILL);
  const Ended ended({run}, 10, 3);
  CHECK(run.err().find("local node 1 (process " + std::to_string(second) +
                       ") was killed by signal 9 before the run had started") != std::string::npos);
  CHECK(names_in(sockets).empty());
}

TEST_CASE("when the parent of isolated workers is killed, they all end") {
  const JobFolder folder;
  Process run = folder.start({"-n", "2", "--isolate", "jobs/failure.lua", "endless"});
  const pid_t workers[] = {process_of(run, "worker 0 works"), process_of(run, "worker 1 works")};
  run.signal(SIGKILL);
  CHECK(run.wait(20) == 128 + SIGKILL);
  for (const pid_t worker : workers) CHECK(ends_within(worker, 5));
}

TEST_CASE("an error on one rank ends all nodes with 1 and is shown once") {
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate");
  const std::string what = GENERATE(as<std::string>(), "push", "top");
  const Ended run(run_at(place, JobFolder(), {"jobs/failure.lua", "trouble", what}), 1);
  CHECK(count_of(run.err, "stack traceback:") == 1);
  CHECK_THAT(run.err, Contains("rank 1: " +
                               place_in("failure.lua", what == "push" ? "if ctx.id == 1 then error"
                                                                      : "if actor.rank == 1 then error") +
                               ": spilt milk"));
  CHECK_THAT(run.err, Contains("in main chunk"));
}

TEST_CASE("an uncaught error of each engine ends the run with 1 and names the rank and its line once") {
  const auto [call, message] = GENERATE(table<std::string, std::string>({
      {"actor.average.start(3)", "bad argument 'tensors' to average.start: expected tensors in a table, got number"},
      {"actor.average.start({ t }):step(function() error('no step') end)", "no step"},
      {"actor.collective.allreduce(t, function() error('no sum') end)", "no sum"},
      {"actor.collective.lock('w', function() actor.collective.lock('v', print) end)",
       " holds a lock already, taken at job.lua:3"},
      {"actor.collective.wait_event('x', { form = 1 })", "unknown option 'form' to collective.wait_event"},
      {"actor.peer.sample(-1)", "'beta'"},
      {"actor.peer.run { push = print, schedule = print, stop = print, lost = print }",
       "peer.run cannot honour lost: "},
      {"actor.mapreduce.load('none.txt')", "mapreduce.load: none.txt: cannot open for reading: No such file"},
      {"actor.mapreduce.range(1, 4):save('gs://out')", "mapreduce.save: 'gs://' is not supported"},
      {"actor.mapreduce.range(1, 9):filter(function() error('no row') end):count()", "first on rank "},
      {"actor.mapreduce.range(1, 1000000):collect()", "mapreduce.collect: the result has"},
  }));
  const JobFolder folder;
  folder.write("job.lua", "local actor = require 'actor'\nlocal t = actor.tensor.ones { 3 }\n" + call + "\n");
  const Ended run(folder.run({"-n", "2", "--memory", "20M", "--log-level", "error", "job.lua"}), 1);
  CHECK_THAT(run.err, Contains("rank 0: job.lua:3: ") || Contains("rank 1: job.lua:3: "));
  CHECK_THAT(run.err, Contains(message));
  CHECK(count_of(run.err, "stack traceback:") == 1);
}

TEST_CASE("an error on one host ends all hosts with 1 and its traceback is shown once") {
  const JobFolder folder;
  const std::string what = GENERATE(as<std::string>(), "push", "top");
  Hosts hosts(folder, 3, {"-n", "1", "jobs/failure.lua", "trouble", what});
  const auto codes = hosts.wait(20);
  INFO(hosts.describe());
  CHECK(codes == std::vector<int>{1, 1, 1});
  CHECK(count_of(hosts.err(), "stack traceback:") == 1);
  for (size_t host = 0; host < 3; ++host) CHECK(count_of(hosts[host].err(), "spilt milk") == 1);
}

TEST_CASE("ranks in different actions are an error that names both ranks and their lines", "[deep]") {
  const JobFolder folder;
  struct Case {
    std::string what, other_line, line;
  };
  const std::vector<Case> cases = {
      {"ends early", "failure.lua:83", "come to the end of its script"},
      {"ends before a barrier", "failure.lua:86", "come to the end of its script"},
      {"another operation", "failure.lua:89", "failure.lua:88"},
      {"another shape", "float32[3] at failure.lua:91", "float32[4] at failure.lua:91"},
      {"an action against a collective", "param.run at failure.lua:94", "barrier at failure.lua:93"},
      {"one action more", "failure.lua:97", "come to the end of its script"},
  };
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate", "hosts");
  const auto runs = run_together(cases.size(), [&](size_t i) {
    return run_at(place, folder, {"jobs/failure.lua", "trouble", cases[i].what});
  });
  for (size_t i = 0; i < cases.size(); ++i) {
    INFO(runs[i].description);
    CHECK(runs[i].status == 1);
    CHECK_THAT(runs[i].err, Contains("rank 1") && (Contains("rank 0") || Contains("rank 2")));
    CHECK_THAT(runs[i].err, Contains(cases[i].other_line) && Contains(cases[i].line));
    CHECK(count_of(runs[i].err, "stack traceback:") <= 1);
  }
}

TEST_CASE("a run in a callback of a run is refused") {
  const Ended run(
      JobFolder().run({"-n", "2", "jobs/failure.lua", "error_of_callback_of_param_run_ends_run", "within"}, 10), 1);
  CHECK_THAT(run.err, Contains("param.run cannot be called in a callback of param.run (failure.lua:"));
}

TEST_CASE("an error of a callback of param.run ends the run on all nodes even if the script catches it") {
  const std::string at = GENERATE("init", "schedule", "push", "pull", "rule", "stop");
  const Words flags = at == "pull" ? Words{"--isolate"} : Words{};
  const Ended run(
      JobFolder().run(with(flags, {"-n", "2", "jobs/failure.lua", "error_of_callback_of_param_run_ends_run", at}), 10),
      1);
  CHECK_THAT(run.err, Contains("boom in " + at) && Contains("in main chunk"));
}

TEST_CASE("a host whose coordinator has failed ends within seconds even while its Lua spins", "[deep]") {
  const std::string loop = GENERATE(as<std::string>(), "local n = 0 while true do n = n + 1 end",
                                    "while true do pcall(function() error(io.open('/')) end) end");
  const JobFolder folder;
  folder.write("job.lua", "local actor = require 'actor'\nactor.log.info('here')\nif actor.rank > 0 then " + loop +
                              " end\nactor.collective.barrier()");
  const Words words = GENERATE(Words{"-n", "1", "job.lua"}, Words{"-n", "2", "--isolate", "job.lua"});
  Hosts hosts(folder, 2, words);
  REQUIRE(hosts[1].wait_for_output(": here", 20));
  hosts[0].signal(SIGKILL);
  CHECK(hosts[1].wait(8) == 3);
  INFO(hosts.describe());
  CHECK_THAT(hosts[1].err(), Contains("lost server 0 and the coordinator"));
}
