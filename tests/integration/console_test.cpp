// Chunks of Lua on the nodes of a run, and the commands that change a run.

#include <csignal>

#include "tests/integration/observer.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;
using nlohmann::json;

namespace {

/// A place with three workers, started there.
struct Run {
  Run(const JobFolder& folder, const std::string& place, const Words& words) {
    if (place == "hosts") {
      hosts = std::make_unique<Hosts>(folder, 3, with({"-n", "1"}, words));
    } else {
      alone = std::make_unique<Process>(
          folder.start(with(place == "isolate" ? Words{"-n", "3", "--isolate"} : Words{"-n", "3"}, words)));
    }
  }
  std::string describe() const { return hosts ? hosts->describe() : alone->describe(); }
  std::string out() const { return hosts ? hosts->out() : alone->out(); }
  bool ends_well() { return hosts ? hosts->wait(20) == std::vector<int>{0, 0, 0} : alone->wait(20) == 0; }

  std::unique_ptr<Hosts> hosts;
  std::unique_ptr<Process> alone;
};

}  // namespace

TEST_CASE("a chunk reads and changes a script that waits in an all-reduce, and its errors stay with it") {
  for (const std::string& place : places()) {
    const JobFolder folder;
    Run run(folder, place, {"jobs/console.lua", "allreduce"});
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
    const uint32_t endless = observer.send("pcall(function() while true do end end) while true do end", {0});
    const uint32_t asleep = observer.send("print('going to sleep') actor.sleep(1000)", {1});
    CHECK(observer.wait_for_output(asleep, "going"));
    for (const uint32_t chunk : {endless, asleep})
      CHECK(observer.control({{"op", "interrupt"}, {"chunk", chunk}})["ok"]);
    CHECK_THAT(observer.outcome(endless).error("rank 0"), Contains("interrupted"));
    CHECK_THAT(observer.outcome(asleep).error("rank 1"), Contains("interrupted"));
    CHECK(observer.run("answer = 7 return actor.param.get('x'), _", {0}).text("rank 0").find("nil") == 0);
    CHECK(observer.run("going = false", {2}).ok);
    CHECK(run.ends_well());
    CHECK_THAT(run.out(), Contains("sum\t3\t7"));
  }
}
