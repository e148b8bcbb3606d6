// Chunks of Lua on the nodes of a run, and the commands that change a run.

#include <unistd.h>

#include "host/cluster/cluster_messages.hpp"
#include "tests/integration/observer.hpp"
#include "tests/test.hpp"

using nlohmann::json;

TEST_CASE("a chunk reads and changes a script that waits in an all-reduce, and its errors do not reach the script") {
  for (const std::string& place : places()) {
    const JobFolder folder;
    PlacedRun run(folder, place, {"jobs/chunks.lua", "allreduce"});
    Observer observer(folder);
    Outcome got = observer.run("answer + actor.rank", "all");
    INFO(run.describe());
    {
      INFO(got.describe());
      CHECK(got.ok);
      CHECK(got.text("rank 0") == "42");
      CHECK(got.text("rank 2") == "44");
    }
    got = observer.run("print('here', answer) error('no such thing')", {1});
    CHECK(got.output["rank 1"] == "here\t42\n");
    CHECK_THAT(got.error("rank 1"), Contains("no such thing") && Contains("chunk:1"));
    got = observer.run("actor.collective.barrier()", {0});
    CHECK_THAT(got.error("rank 0"), Contains("collective.barrier needs other nodes") && Contains("actorhost repl"));
    got = observer.run("actor.mapreduce.parallelize({ 1 }):count()", {0});
    CHECK_THAT(got.error("rank 0"), Contains("mapreduce.count needs all nodes"));
    got = observer.run("if (", {0});
    CHECK_THAT(got.error("rank 0"), Contains("chunk:1"));
    const std::string loop = kLoopsGetSignals ? "while true do end" : "while true do os.time() end";
    const uint32_t endless = observer.send("pcall(function() " + loop + " end) " + loop, {0});
    const uint32_t asleep = observer.send("print('going to sleep') actor.sleep(1000)", {1});
    CHECK(observer.wait_for_output(asleep, "going"));
    for (const uint32_t chunk : {endless, asleep})
      CHECK(observer.control({{"op", "interrupt"}, {"chunk", chunk}})["ok"]);
    CHECK_THAT(observer.outcome(endless).error("rank 0"), Contains("interrupted"));
    CHECK_THAT(observer.outcome(asleep).error("rank 1"), Contains("interrupted"));
    got = observer.run("actor.param.get('x')", {0});
    CHECK_THAT(got.error("rank 0"), Contains("has no parameter server"));
    CHECK(observer.run("answer = 7 return answer", {0}).text("rank 0") == "7");
    CHECK(observer.run("going = false", {2}).ok);
    const Ended ended = run.end();
    CHECK_THAT(ended.out, Contains("sum\t3\t7"));
  }
}

TEST_CASE("a function that a chunk has defined sees no local variables of the script after the chunk") {
  const JobFolder folder;
  Process run = folder.start({"-n", "1", "jobs/chunks.lua", "functions"});
  Observer observer(folder);
  INFO(run.describe());
  CHECK(observer.run("function read() return name end function write(to) name = to end return read()", {0})
            .text("rank 0") == "functions");
  CHECK(observer.run("select('#', ...)", {0}).text("rank 0") == "0");
  CHECK(observer.run("going = false", {0}).ok);
  CHECK(run.wait(20) == 0);
  CHECK_THAT(run.out(), Contains("undefined global 'name'") && Contains("wrote\ttrue\tnew"));
}

TEST_CASE("observers of a parameter server read values, swap the barrier, pause, print without end and leave") {
  const JobFolder folder;
  Process run = folder.start({"-n", "3", "jobs/chunks.lua", "param"});
  Observer observer(folder);
  INFO(run.describe());
  CHECK(wait_until([&] { return observer.run("actor.param.get('w'):get(1) > 0", {2}).text("rank 2") == "true"; }, 20));
  CHECK(observer.run("actor.param.keys()[1]", {"server 0"}).text("server 0") == "w");

  const auto swap = [&](const json& to) {
    json command = to;
    command["op"] = "barrier";
    return observer.control(command);
  };
  CHECK(swap({{"spec", "pssp:2:4"}})["before"] == "bsp");
  CHECK_THAT(swap({{"spec", "nonsense"}})["message"].get<std::string>(), Contains("no rule 'nonsense'"));
  CHECK(swap({{"source", "return 5"}, {"name", "five.lua"}})["ok"] == false);
  CHECK(swap({{"source", "return function(view) return view.step <= view:min() + 3 end"},
              {"name", "three.lua"}})["before"] == "pssp:2:4");
  CHECK(observer.control({{"op", "checkpoint"}})["ok"] == false);
  CHECK_THAT(observer.control({{"op", "kill"}, {"id", 0}})["message"].get<std::string>(), Contains("coordinator"));

  CHECK(observer.control({{"op", "pause"}})["paused"] == true);
  const auto steps = [&] { return observer.run("actor.param.get('w'):get(1)", {"server 0"}).text("server 0"); };
  const auto is_paused = [&](const json& state) {
    return state["run"]["paused"] == true &&
           std::all_of(state["nodes"].begin(), state["nodes"].end(),
                       [](const json& node) { return node["role"] != "worker" || node["state"] == "waiting"; });
  };
  REQUIRE(observer.wait_for(is_paused));
  std::string before = steps();
  CHECK(wait_until([&] { return before == std::exchange(before, steps()); }, 10));
  CHECK(observer.run("actor.rank", {1}).text("rank 1") == "1");  // answered during a pause, too
  CHECK(observer.control({{"op", "go"}})["paused"] == false);
  CHECK(wait_until([&] { return steps() != before; }, 10));

  const uint32_t loud =
      observer.send("local line = ('x'):rep(1e6) for i = 1, 1000 do print(line) end return line", {0}, 1000);
  const Outcome printed = observer.outcome(loud);
  CHECK(printed.output.at("rank 0").size() == 1000);
  CHECK(printed.results.at("rank 0")["left_out"].get<uint64_t>() > 1000000000);

  uint32_t left = 0;
  {
    Observer second(folder);
    CHECK(second.run("_ = 5 return _", {0}).text("rank 0") == "5");
    left = second.send("print('on') while true do actor.sleep(1) end", {1});
    CHECK(second.wait_for_output(left, "on"));
    CHECK(observer.run("_", {0}).text("rank 0") == "5");
  }
  CHECK_THAT(observer.control({{"op", "kill"}, {"id", 0}})["message"].get<std::string>(), Contains("coordinator"));
  CHECK(observer.run("actor.rank", {1}).text("rank 1") == "1");            // the chunk of the departed observer is over
  CHECK(observer.run("going = false", {"server 0"}).results.size() == 1);  // the run may end before it reports the end
  CHECK(run.wait(20) == 0);
  CHECK_THAT(run.out(), Contains("ended by stop"));
  CHECK_THAT(run.err(), Contains("has paused the run") && Contains("sets the barrier to three.lua"));
}

TEST_CASE("chunks run between map-reduce tasks, and survive a killed node") {
  const JobFolder folder;
  Process run = folder.start({"-n", "5", "--isolate", "jobs/chunks.lua", "mapreduce"});
  Observer observer(folder);
  INFO(run.describe());
  const Outcome got = observer.run("answer", "all");
  INFO(got.describe());
  CHECK(got.results.size() == 5);
  CHECK(got.text("rank 4") == "42");
  const uint32_t asleep = observer.send("print('on') actor.sleep(1000)", {3});
  CHECK(observer.wait_for_output(asleep, "on"));
  CHECK(observer.control({{"op", "kill"}, {"id", 3}})["killed"] == json({"rank 3"}));
  CHECK_THAT(observer.outcome(asleep).results.begin()->second["error"].get<std::string>(), Contains("is lost"));
  CHECK(observer.wait_for([](const json& state) { return state["run"]["size"] == 4; }));
  CHECK(observer.run("going = false", "all").ok);
  CHECK(run.wait(20).has_value());
}

TEST_CASE("chunks that all nodes run together can call engines, and the next chunk is correct after any kind of end",
          "[deep]") {
  for (const std::string& place : {std::string("threads"), std::string("hosts")}) {
    const JobFolder folder;
    PlacedRun run(folder, place, {"jobs/chunks.lua", "wait"});
    Observer observer(folder);
    INFO(run.describe());
    REQUIRE(observer.wait_for([](const json& state) { return state["run"].value("console", false); }));
    const auto all = [&](const std::string& source) { return observer.run(source, "spmd"); };
    const auto good = [&] {
      Outcome got = all("actor.collective.allreduce(tensor.full({ 2 }, actor.rank), 'sum'):get(1)");
      INFO(got.describe());
      CHECK(got.text("rank 1") == "3");
      got = all("actor.mapreduce.range(1, 100):map(function(v) return 2 * v end):sum()");
      INFO(got.describe());
      CHECK(got.text("rank 2") == "10100");
      got = all("train(nil, 30)");
      INFO(got.describe());
      CHECK(got.text("rank 0") == "stop");
    };
    const auto interrupt = [&](const std::string& source) {
      const uint32_t chunk = observer.send("print('in it') " + source, "spmd");
      CHECK(observer.wait_for_output(chunk, "in it"));
      CHECK(observer.control({{"op", "interrupt"}, {"chunk", chunk}})["ok"] == true);
      const Outcome got = observer.outcome(chunk);
      INFO(got.describe());
      CHECK((got.over && !got.ok));
    };
    CHECK(all(job_text("console_train.lua")).ok);
    good();
    Outcome failed = all("if actor.rank == 1 then error('one fails') end actor.collective.barrier()");
    CHECK_THAT(failed.error("rank 2"), Contains("failed on rank 1") && Contains("one fails"));
    failed = all("if actor.rank == 1 then error('one fails') end train(nil, 1e9)");
    CHECK_THAT(failed.error("rank 2"), Contains("failed on rank 1"));
    good();
    failed =
        all("actor.param.run { schedule = function() error('bad schedule') end, push = function() end, "
            "stop = function() return false end }");
    CHECK_THAT(failed.error("rank 0"), Contains("bad schedule"));
    good();
    interrupt("if actor.rank == 0 then actor.sleep(1000) end actor.collective.barrier()");
    interrupt(
        "actor.mapreduce.range(1, 100):map(function(v) while true do collectgarbage('count') end return v "
        "end):count()");
    interrupt("train(0.01, 1e9)");
    if (kLoopsGetSignals) interrupt("while true do end");
    good();
    CHECK(all("actor.param.get('w'):get(1) >= 30").text("rank 1") == "true");
    CHECK(observer.run("actor.rank", {1}).text("rank 1") == "1");
    CHECK(all("require('actor.c.console').finish()").ok);  // the last output of the run arrives
    const Ended ended = run.end();
    CHECK_THAT(ended.out, Contains("waited"));
  }
}

TEST_CASE("a chunk is interrupted in any endless loop: in the script, a module, loaded text or a callback") {
  if (!kLoopsGetSignals) return;
  const std::vector<std::string> loops = {
      "require('chunks_spins').spin()",
      "load('while true do end')()",
      "coroutine.wrap(function() pcall(load('while true do end')) while true do end end)()",
      "local list = { 3, 1, 2 } table.sort(list, function() while true do end end)",
      "('x'):rep(9):gsub('x', function() while true do pcall(error) end end)",
      "return setmetatable({}, { __tostring = function() while true do end end })",
      "local t = tensor.ones { 200, 200 } while true do t:matmul(t) end",
      "while true do local file = io.open('/dev/zero') file:read(1e6) file:close() end",
  };
  for (const std::string job : {"compiled", "wait"}) {
    const JobFolder folder;
    Process run = folder.start({"-n", "2", "jobs/chunks.lua", job});
    Observer observer(folder);
    INFO(run.describe());
    const json nodes = job == "wait" ? json("spmd") : json("all");
    if (job == "wait") {
      REQUIRE(observer.wait_for([](const json& state) { return state["run"].value("console", false); }));
    }
    for (const std::string& loop :
         job == "wait" ? loops : with({"spin(1e18)", "pcall(spin, 1e18) spin(1e18)"}, loops)) {
      INFO(loop);
      const uint32_t chunk = observer.send("print('in it') " + loop, nodes);
      CHECK(observer.wait_for_output(chunk, "in it"));
      CHECK(observer.control({{"op", "interrupt"}, {"chunk", chunk}})["ok"] == true);
      const Outcome got = observer.outcome(chunk);
      INFO(got.describe());
      REQUIRE((got.over && !got.ok));
    }
    CHECK(observer.run(job == "wait" ? "require('actor.c.console').finish()" : "going = false", nodes).ok);
    CHECK(run.wait(20) == 0);
    CHECK_THAT(run.out(), Contains(job == "wait" ? "waited" : "compiles\ttrue"));
  }
}

// ACTORHOST_TEST_KILLS sets the number of interruptions, ACTORHOST_TEST_SEED the seed.
TEST_CASE("chunks for all nodes end when interrupted at any moment, and the scripts wait for the next chunks") {
  if (!kLoopsGetSignals) return;
  std::mt19937 random(static_cast<unsigned>(number_of("ACTORHOST_TEST_SEED", 1)));
  const std::vector<std::string> chunks = {
      "while true do end",
      "while true do actor.collective.barrier() end",
      "while true do actor.mapreduce.range(1, 100):map(function(v) return v end):sum() end",
      "train(nil, 1e9)",
  };
  for (const std::string& place : places()) {
    const JobFolder folder;
    PlacedRun run(folder, place, {"jobs/chunks.lua", "wait"});
    Observer observer(folder);
    INFO(run.describe());
    REQUIRE(observer.wait_for([](const json& state) { return state["run"].value("console", false); }));
    REQUIRE(observer.run(job_text("console_train.lua"), "spmd").ok);
    for (uint64_t i = 0; i < number_of("ACTORHOST_TEST_KILLS", 20); ++i) {
      const std::string& source = chunks[random() % chunks.size()];
      const auto after = static_cast<unsigned>(random() % 4000);
      INFO("interruption " << i << " after " << after << " us of " << source);
      const uint32_t chunk = observer.send(source, "spmd");
      usleep(after);
      CHECK(observer.control({{"op", "interrupt"}, {"chunk", chunk}})["running"] == true);
      const Outcome got = observer.outcome(chunk);
      INFO(got.describe());
      REQUIRE((got.over && !got.ok));
    }
    const Outcome got = observer.run("actor.collective.allreduce(tensor.full({ 2 }, 1), 'sum'):get(1)", "spmd");
    INFO(got.describe());
    CHECK(got.text("rank 2") == "3");
    CHECK(observer.run("require('actor.c.console').finish()", "spmd").ok);
    const Ended ended = run.end();
  }
}

// ACTORHOST_TEST_KILLS sets the number of runs, ACTORHOST_TEST_SEED the seed.
TEST_CASE("a node killed during a chunk for all nodes ends the chunk, and the other nodes continue", "[deep]") {
  std::mt19937 random(static_cast<unsigned>(number_of("ACTORHOST_TEST_SEED", 1)));
  const std::vector<std::string> chunks = {
      "for i = 1, 1e9 do actor.collective.allreduce(tensor.full({ 2 }, 1), 'sum') end",
      "for i = 1, 1e9 do if not actor.collective.barrier() then error('lost') end end",
      "for i = 1, 200 do actor.mapreduce.range(1, 100):map(function(v) return v end):sum() end",
      "train(0.002, 300)",
      "if actor.rank == 1 then error('fails') end actor.collective.barrier()",
  };
  for (uint64_t i = 0; i < number_of("ACTORHOST_TEST_KILLS", 3); ++i) {
    const std::string& source = chunks[random() % chunks.size()];
    const auto victim = static_cast<unsigned>(1 + random() % 4);
    const auto after = static_cast<unsigned>(random() % 100000);
    INFO("run " << i << ": worker " << victim << " after " << after << " us in " << source);
    const JobFolder folder;
    Process run = folder.start({"-n", "5", "--isolate", "jobs/chunks.lua", "wait"});
    INFO(run.describe());
    Observer observer(folder);
    REQUIRE(observer.wait_for([](const json& state) { return state["run"].value("console", false); }));
    REQUIRE(observer.run(job_text("console_train.lua"), "spmd").ok);
    const uint32_t chunk = observer.send(source, "spmd");
    usleep(after);
    CHECK(observer.control({{"op", "kill"}, {"id", victim}})["ok"] == true);
    CHECK(observer.wait_for([](const json& state) { return state["run"]["size"] == 4; }));
    CHECK(observer.control({{"op", "interrupt"}, {"chunk", chunk}})["ok"] == true);
    Outcome got = observer.outcome(chunk);
    INFO(got.describe());
    REQUIRE(got.over);
    got = observer.run(
        "actor.collective.barrier() return actor.collective.allreduce(tensor.full({ 2 }, 1), 'sum'):get(1)", "spmd");
    INFO(got.describe());
    CHECK(got.text("rank 0") == "4");
    got = observer.run("actor.mapreduce.range(1, 100):sum()", "spmd");
    CHECK(got.text("rank 3") == "5050");
    got = observer.run("train(nil, 20)", "spmd");
    INFO(got.describe());
    CHECK(got.text("rank 1") == "stop");
    run.signal(SIGTERM);
    CHECK(run.wait(10).has_value());
  }
}

TEST_CASE("hooks, the compiler and the collector are restored after a chunk, and the job continues") {
  const JobFolder folder;
  Process run = folder.start({"-n", "2", "jobs/chunks.lua", "compiled"});
  Observer observer(folder);
  INFO(run.describe());
  for (const std::string hook :
       {"debug.sethook(function() error('left by a chunk') end, '', 1)",
        "debug.sethook(function() error('left by a chunk') end, 'crl')",
        "debug.sethook(coroutine.create(function() end), function() error('left by a chunk') end, 'crl', 1)",
        "coroutine.wrap(function() debug.sethook(function() error('left by a chunk') end, '', 100) end)()",
        "debug.sethook(function() while true do end end, '', 1000)", "jit.off()", "jit.off() jit.flush()",
        "collectgarbage('stop')"}) {
    INFO(hook);
    (void)observer.run(hook, "all");
    CHECK(observer.run("return tostring(debug.gethook())", "all").text("rank 1") == "nil");
    CHECK(observer.run("return spin(1e5)", {0}).text("rank 0") == "100000");
  }
  // The script's own hook is restored, also after an interrupted chunk.
  CHECK(observer.run("own_hook = function() seen = true end seen = false", "all").ok);
  const uint32_t chunk = observer.send("print('in it') debug.sethook(own_hook, '', 1) while true do end", {0});
  CHECK(observer.wait_for_output(chunk, "in it"));
  CHECK(observer.control({{"op", "interrupt"}, {"chunk", chunk}})["ok"] == true);
  CHECK(observer.outcome(chunk).over);
  CHECK(observer.run("return tostring(debug.gethook())", "all").text("rank 0") == "nil");
  CHECK(observer.run("going = false", "all").ok);
  CHECK(run.wait(20) == 0);
  CHECK_THAT(run.out(), Contains("compiles\ttrue"));
}

namespace {

/// The link of an observer that never reads: its transport's thread blocks in the first answer.
struct Deaf final : LinkEvents {
  void on_link_up(LinkId, std::optional<ProcessId>, const std::string&) override {}
  void on_link_down(LinkId, ProcessId, const std::string&) override {}
  void on_service_frame(LinkId, Frame&&) override {
    while (!reads) std::this_thread::yield();
  }
  void on_link_wanted(ProcessId) override {}
  std::atomic<bool> reads{false};
};

long resident_kilobytes(const Process& process) {
  std::ifstream status("/proc/" + std::to_string(process.pid()) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stol(line.substr(6));
  }
  return 0;
}

}  // namespace

TEST_CASE("an observer that sends 53,000 chunks and reads no answer costs the run little memory") {
  const JobFolder folder;
  Process run = folder.start({"-n", "1", "jobs/chunks.lua", "compiled"});
  Observer observer(folder);
  CHECK(observer.run("1", "all").ok);
  const long before = resident_kilobytes(run);
  Deaf deaf;
  Log log(LogLevel::off);
  StreamOptions options;
  std::ifstream(folder.path() / "config/actorhost/token") >> options.token;
  StreamTransport eager(options, log, deaf);
  const auto link = eager.dial(observer.url(), 20);
  REQUIRE(link.ok());
  const std::string command =
      json({{"op", "chunk"}, {"source", "return ('x'):rep(3000) --" + std::string(1000, '.')}, {"nodes", "all"}})
          .dump();
  bool open = true;
  for (int i = 0; i < 53'000 && open; ++i) {
    for (;;) {
      const Status sent = eager.send_on(
          *link, make_frame(cluster_kind::control, kNoAddress, kNoAddress, 7, {}, Blob::copy_of(command)));
      open = sent.ok() || sent.error().code == Code::full;
      if (sent.ok() || !open) break;
      std::this_thread::yield();
    }
  }
  CHECK(observer.run("1 + 1", "all").text("rank 0") == "2");
  const long grown = resident_kilobytes(run) - before;
  INFO("grown by " << grown << " kB");
#ifndef ACTORHOST_SANITIZED  // sanitizers retain freed memory for a while
  CHECK(grown < 80'000);
#endif
  deaf.reads = true;
  eager.close();
  CHECK(observer.run("going = false", "all").ok);
  CHECK(run.wait(20) == 0);
}
