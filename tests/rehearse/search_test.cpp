// Rehearsals with many seeds, faults from files, and simulated networks.

#include <regex>

#include "host/rehearsal/network_shape.hpp"
#include "tests/integration/jobs.hpp"
#include "tests/integration/process.hpp"
#include "tests/test.hpp"

namespace {

using rehearsal::NetworkShape;

/// Arguments: steps, and the hosts that have to remain. Each step takes 20 ms.
const char* const kSize = R"(
  local actor = require "actor"
  local steps, hosts = tonumber((...)), tonumber((select(2, ...)))
  actor.peer.run {
    init = function() return { x = actor.tensor.zeros(1) } end,
    schedule = function() return { "x" } end,
    push = function()
      actor.sleep(0.02)
      return { { "x", actor.tensor.full({ 1 }, -1) } }
    end,
    pull = actor.optim.sgd { lr = 1 },
    barrier = "bsp",
    stop = function(ctx) return ctx.step >= steps end,
  }
  assert(actor.size >= hosts, "too few hosts")
)";

struct Search {
  Search() : job(folder.write("size.lua", kSize).string()) {}
  Finished run(const Words& flags, const Words& arguments) {
    ProcessOptions options = folder.options();
    options.cwd = folder.path();
    return run_program(actorhost_binary(), with(with(with({"rehearse"}, flags), {job}), arguments), 120, options);
  }
  JobFolder folder;
  std::string job;
};

std::string without_time(const std::string& text) {
  return std::regex_replace(text, std::regex(", [0-9.]+ s\n"), "\n");
}

/// The virtual seconds of a rehearsal.
double virtual_seconds(const Finished& run) {
  static const std::regex line("rehearsed ([0-9.]+) s");
  std::smatch found;
  REQUIRE(std::regex_search(run.err, found, line));
  return std::stod(found[1]);
}

}  // namespace

TEST_CASE("rehearse --seeds prints the failures in the order of the seeds, on any number of processes", "[deep]") {
  Search search;
  const Words flags = {"--hosts", "4", "--seeds", "1:12", "--faults", "kill=1,within=2s"};
  const Finished one = search.run(with(flags, {"-j", "1"}), {"40", "4"});
  INFO(one.description);
  CHECK(one.status == 1);
  CHECK(one.out.find(" ended with exit code 1: host ") != std::string::npos);
  CHECK(one.out.find("too few hosts\n    actorhost rehearse --hosts 4 --faults kill=1,within=2s --seed ") !=
        std::string::npos);
  CHECK(one.out.find("12 seeds, ") != std::string::npos);
  CHECK(one.out.find("12 seeds, 12 failed") == std::string::npos);  // a late kill changes nothing
  CHECK(without_time(search.run(with(flags, {"-j", "3"}), {"40", "4"}).out) == without_time(one.out));

  // The printed command repeats the failure.
  std::smatch found;
  REQUIRE(std::regex_search(one.out, found, std::regex("--seed ([0-9]+) ")));
  const Finished again =
      search.run({"--hosts", "4", "--faults", "kill=1,within=2s", "--seed", found[1].str()}, {"40", "4"});
  INFO(again.description);
  CHECK(again.status == 1);
  CHECK(again.err.find("too few hosts") != std::string::npos);
}

TEST_CASE("rehearse --seeds ends with 0 when all seeds succeed, and takes other codes of success") {
  Search search;
  const Finished fine = search.run({"--hosts", "3", "--seeds", "5:8"}, {"3", "3"});
  INFO(fine.description);
  CHECK(fine.status == 0);
  CHECK(fine.out.find("4 seeds, 0 failed") != std::string::npos);
  CHECK(search.run({"--hosts", "2", "--seeds", "5:6"}, {"3", "3"}).status == 1);
  search.job = "missing.lua";
  const Finished none = search.run({"--seeds", "1:50"}, {});
  INFO(none.description);
  CHECK(none.status == 2);
  CHECK(none.err.find("cannot read 'missing.lua'") != std::string::npos);
  CHECK(none.out.empty());
  search.job = (search.folder.path() / "size.lua").string();
  CHECK(search.run({"--hosts", "2", "--seeds", "5:6", "--codes", "0,1"}, {"3", "3"}).status == 0);
}

TEST_CASE("rehearse --seeds takes more seeds than it may open files") {
  const JobFolder folder;
  const std::string job = folder.write("empty.lua", "").string();
  const std::string few = "ulimit -n 24 && exec \"$0\" \"$@\"";
  const Words words = {"-c", few, actorhost_binary(), "rehearse", "--hosts", "1", "--seeds", "1:26", job};
  const Finished run = run_program("sh", words, 60, folder.options());
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(run.out.find("26 seeds, 0 failed") != std::string::npos);
}

TEST_CASE("rehearse --shrink finds fewer faults, hosts and steps with which the job still fails", "[deep]") {
  Search search;
  const std::string faults = search.folder
                                 .write("faults.lua",
                                        "return function(world)\n"
                                        "  world:at(0.1, 'stall', 1, 0.05)\n"
                                        "  world:at(0.2, 'one-way', { 0, 2 }, 0.1)\n"
                                        "  world:at(0.3, 'kill', 1)\n"
                                        "  world:at(0.35, 'stall', 0, 0.05)\n"
                                        "end\n")
                                 .string();
  const Finished run = search.run({"--hosts", "5", "--seeds", "1:1", "--shrink", "--faults", faults}, {"200", "5"});
  INFO(run.description);
  CHECK(run.status == 1);
  CHECK(run.out.find("seed 1: fails with 1 of 4 faults on ") != std::string::npos);
  const std::string left = read_text(search.folder.path() / "faults-1.lua");
  CHECK(left.find("world:at(0.300000000, \"kill\", 1)") != std::string::npos);
  CHECK(left.find("stall") == std::string::npos);
  CHECK(run.out.find("size.lua 200 5") == run.out.rfind("size.lua 200 5"));  // fewer steps in the second command
}

TEST_CASE("a wrong file of faults is refused with its line") {
  Search search;
  const auto& [text, message] = GENERATE(table<std::string, std::string>({
      {"return 1", "faults.lua does not return a function of the world"},
      {"return function(world", "faults.lua:1: "},
      {"return function(world)\nworld:at(1, 'kil', 0) end", "faults.lua:2: no fault is named 'kil'"},
      {"return function(world)\nworld:at(1, 'kil', 0) end", "; did you mean kill?"},
      {"return function(world)\nworld:at(1, 'kill', 3) end",
       "faults.lua:2: bad argument 'host' to world:at: expected an integer from 0 to 2, got 3"},
      {"return function(world)\nworld:at(-1, 'kill', 1) end",
       "bad argument 'seconds' to world:at: expected seconds from 0 to 1000000000, got -1"},
      {"return function(world)\nworld:at(1, 'kill', 1, 2) end", "faults.lua:2: kill has no duration"},
      {"return function(world)\nworld:at(1, 'break', 1) end", "break wants the two hosts of the connection"},
      {"return function(world)\nworld:at(1, 'kill', { 0, 1 }) end", "kill wants one host"},
  }));
  const std::string file = search.folder.write("faults.lua", text).string();
  const Finished run = search.run({"--faults", file}, {"3", "3"});
  INFO(run.description);
  CHECK(run.status == 2);
  CHECK(run.err.find(message) != std::string::npos);
}

TEST_CASE("saved faults of a rehearsal give the same run") {
  Search search;
  const Words fixed = {"--hosts", "5", "--seed", "3", "--virtual-seconds", "300"};
  const std::string restart = GENERATE("", "restart=300ms,");
  const Words random = {"--faults",
                        restart + "kill=1,stall=1:100ms,partition=1:300ms,one-way=1:200ms,break=2,within=700ms",
                        "--save-faults", "saved.lua"};
  const Finished first = search.run(with(fixed, random), {"40", "1"});
  INFO(first.description);
  const Finished second = search.run(with(fixed, {"--faults", "saved.lua"}), {"40", "1"});
  INFO(second.description);
  CHECK(first.status == second.status);
  CHECK(virtual_seconds(first) == virtual_seconds(second));
  CHECK(first.err == second.err);
}

TEST_CASE("peers continue without a host whose machine has crashed") {
  Search search;
  const std::string file =
      search.folder.write("crash.lua", "return function(world) world:at(0.3, 'crash', 2) end").string();
  const Finished run = search.run({"--hosts", "4", "--faults", file}, {"40", "3"});
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(run.err.find("no heartbeat for 4 s") != std::string::npos);
  CHECK(virtual_seconds(run) > 4);
}

TEST_CASE("a network's latency and bandwidth take virtual time") {
  Search search;
  const std::string sums = search.folder
                               .write("sums.lua",
                                      "local actor = require 'actor'\n"
                                      "local x = actor.tensor.ones(250000)\n"
                                      "for _ = 1, 4 do actor.collective.allreduce(x) end\n")
                               .string();
  search.job = sums;
  const auto seconds = [&](const std::string& network) {
    const Finished run = search.run({"--hosts", "2", "--seed", "1", "--compute", "0", "--network", network}, {});
    INFO(run.description);
    REQUIRE(run.status == 0);
    return virtual_seconds(run);
  };
  const double quick = seconds("switch,latency=10us,bandwidth=unlimited");
  CHECK(seconds("switch,latency=20ms,bandwidth=unlimited") > quick + 4 * 0.02);
  // 1 MB for a sum of two ranks passes each host's link in each direction, 8 Mbit at 100 Mbit/s.
  const double narrow = seconds("switch,latency=10us,bandwidth=100Mbit");
  CHECK(narrow > 4 * 0.08);
  CHECK(narrow < 4 * 0.17);
  CHECK(seconds("sites:2,latency=10us,between-latency=10us,between-bandwidth=100Mbit") == Approx(narrow).epsilon(0.2));
  CHECK(seconds("sites:1,latency=10us,between-latency=10us,between-bandwidth=100kbit") < narrow);
}

TEST_CASE("the value of --network gives the groups, the latencies and the bandwidths") {
  const auto racks = NetworkShape::parse("racks:3,latency=exp(0.001),between-bandwidth=400Mbit");
  REQUIRE(racks.ok());
  CHECK(racks->groups == 3);
  CHECK(racks->within.latency.mean() == Approx(0.001));
  CHECK(racks->between.bandwidth == 50e6);
  CHECK(racks->bandwidth_of(7) == Approx(1.25e9));
  CHECK((racks->group_of(0, 7) == 0 && racks->group_of(2, 7) == 0 && racks->group_of(3, 7) == 1));
  CHECK(racks->group_of(6, 7) == 2);
  CHECK(racks->group_of(1, 2) == 1);  // fewer hosts than groups

  const JobFolder folder;
  const auto file = folder.write("net.json",
                                 "{\"bandwidth\": \"unlimited\", \"shape\": \"sites:2\", \"latency\": \"20us\", "
                                 "\"between-latency\": \"0.1+uniform(0,0.01)\", \"hosts\": {\"1\": \"8Mbit\"}}");
  const auto sites = NetworkShape::parse(file.string());
  REQUIRE(sites.ok());
  CHECK(sites->groups == 2);
  CHECK(sites->between.latency.mean() == Approx(0.105));
  CHECK((sites->bandwidth_of(0) == 0 && sites->bandwidth_of(1) == 1e6));
}

TEST_CASE("an impossible network is refused by the name of its part") {
  const JobFolder folder;
  const auto file = [&](const std::string& name, const std::string& text) { return folder.write(name, text).string(); };
  const std::string list = file("list.json", "[1]");
  const std::string letter = file("letter.json", "{\"hosts\": {\"a\": \"1Gbit\"}}");
  const std::string two = file("two.json", "{\"hosts\": {\"2\": \"1Gbit\"}}");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"rack:2", "--network: 'rack:2': knows the shapes switch, racks:N and sites:N"},
      {"rack:2", "; did you mean racks?"},
      {"racks:0", "--network: 'racks:0': wants a number of groups, as in racks:4"},
      {"switch:2", "--network: 'switch:2': a switch has no groups"},
      {"switch,latency=fast", "--network: 'latency=fast': wants a time such as 50us or 20ms, or a distribution"},
      {"switch,bandwidth=10", "--network: 'bandwidth=10': wants a bandwidth such as 10Gbit"},
      {"switch,bandwith=10Gbit", "; did you mean bandwidth?"},
      {"none.json", "--network: cannot read none.json"},
      {list, "list.json is not a JSON object"},
      {letter, "'hosts.a': wants the number of a host"},
  };
  for (const auto& [text, message] : cases) {
    CHECK_THAT(failure_of(NetworkShape::parse(text)).message, Contains(message));
  }
  Search search;
  const Finished run = search.run({"--hosts", "2", "--network", two}, {"1", "1"});
  CHECK(run.err.find("two.json names host 2, but the hosts are 0 to 1") != std::string::npos);
}

TEST_CASE("wrong flags of a search are refused by name") {
  Search search;
  const auto& [flags, message] = GENERATE(table<Words, std::string>({
      {{"--seeds", "7:3"}, "--seeds wants A:B, the first and the last"},
      {{"--seeds", "x"}, "--seeds wants A:B"},
      {{"--seeds", "1:9", "-j", "0"}, "wants a number of processes from 1 to 1024"},
      {{"--seeds", "1:9", "--codes", "ok"}, "--codes wants exit codes, as in 0,3"},
      {{"--shrink"}, "-j, --codes and --shrink belong to --seeds A:B"},
  }));
  const Finished run = search.run(flags, {"1", "1"});
  INFO(run.description);
  CHECK(run.status == 2);
  CHECK(run.err.find(message) != std::string::npos);
}

TEST_CASE("checks of a job run at each step of a rehearsal, and nowhere else") {
  Search search;
  search.job =
      search.folder
          .write("checked.lua",
                 "local actor = require 'actor'\n"
                 "local limit = tonumber((...))\n"
                 "local calls, x = 0, actor.tensor.ones(1)\n"
                 "actor.rehearsal.check('few sums', function() calls = calls + 1 return x[1] < limit, x[1] end)\n"
                 "for _ = 1, 3 do x = actor.collective.allreduce(x) end\n"
                 "print(actor.rehearsal.active, calls >= 3)\n")
          .string();
  const Finished fine = search.run({"--hosts", "2"}, {"9"});
  INFO(fine.description);
  CHECK(fine.status == 0);
  CHECK(fine.out == "true\ttrue\n");
  const Finished late = search.run({"--hosts", "2"}, {"8"});  // only the last sum is too large
  INFO(late.description);
  CHECK(late.status == 1);
  CHECK(late.err.find("check 'few sums' (checked.lua:4) failed: 8") != std::string::npos);
  const Finished cluster = run_program(actorhost_binary(), {"-n", "2", search.job, "1"}, 60, search.folder.options());
  INFO(cluster.description);
  CHECK(cluster.status == 0);
  CHECK(cluster.out == "false\tfalse\n");
}

TEST_CASE("a rehearsed job reads virtual clocks, and is told once of what may vary") {
  Search search;
  search.job = search.folder
                   .write("clocks.lua",
                          "local actor = require 'actor'\n"
                          "local before, clock = os.time(), os.clock()\n"
                          "actor.sleep(3)\n"
                          "print(before, os.time() - before, math.floor(os.clock() - clock), os.date('!%Y-%m-%d'))\n"
                          "local ffi = require 'ffi'\n"
                          "ffi.cdef 'int gettimeofday(void *at, void *zone);'\n"
                          "ffi.cdef 'int timeofday(void *at);'\n"
                          "ffi.cdef 'int gettimeofday(void *at, void *zone);'\n")
                   .string();
  const Finished run = search.run({"--hosts", "2"}, {});
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(run.out == "946684801\t3\t3\t2000-01-01\n");
  const std::string warning =
      "ffi.cdef declares gettimeofday: two rehearsals with the same seed may differ (clocks.lua:6)";
  CHECK(run.err.find(warning) != std::string::npos);
  CHECK(run.err.find("may differ") == run.err.rfind("may differ"));
}

TEST_CASE("a rehearsed host that waits outside of the engine for ten seconds is named", "[deep]") {
  Search search;
  search.job = search.folder
                   .write("waits.lua",
                          "local actor = require 'actor'\n"
                          "local ffi = require 'ffi'\n"
                          "ffi.cdef 'int usleep(unsigned microseconds);'\n"
                          "if actor.rank == 1 then for _ = 1, 24 do ffi.C.usleep(500000) end end\n"
                          "actor.collective.barrier()\n")
                   .string();
  const Finished run = search.run({"--hosts", "2"}, {});
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(run.err.find("warning: host 1 has run for 10 s without a call that waits") != std::string::npos);
}

TEST_CASE("stragglers of a rehearsal compute slower") {
  Search search;
  search.job = search.folder
                   .write("products.lua",
                          "local actor = require 'actor'\n"
                          "local a = actor.tensor.ones({ 200, 200 })\n"
                          "for _ in actor.collective.steps { count = 5, barrier = 'bsp' } do a:matmul(a) end\n")
                   .string();
  const auto seconds = [&](const Words& flags) {
    const Finished run = search.run(with({"--hosts", "4", "--network", "switch,latency=1us"}, flags), {});
    INFO(run.description);
    REQUIRE(run.status == 0);
    return virtual_seconds(run);
  };
  const double even = seconds({});
  CHECK(even > 5 * 2 * 200e-10 * 200 * 200);  // ten operations a nanosecond
  CHECK(seconds({"--straggler", "0.25:10x"}) > 5 * even);
  CHECK(seconds({"--straggler", "0:10x"}) == even);
  CHECK(search.run({"--straggler", "2:10x"}, {}).err.find("straggler wants SHARE:FACTORx") != std::string::npos);
}

TEST_CASE("hosts join and die during a rehearsal with churn") {
  Search search;
  const Finished run = search.run({"--hosts", "4", "--seed", "2", "--churn", "1:0.5"}, {"150", "1"});
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(run.err.find("started host 4") != std::string::npos);
  CHECK(run.err.find("killed host ") != std::string::npos);
}

TEST_CASE("a chart shows the last messages between hosts, and the faults among them") {
  Search search;
  const std::string file =
      search.folder.write("stall.lua", "return function(world) world:at(0.9, 'stall', 1, 0.01) end").string();
  const Finished run = search.run({"--hosts", "3", "--faults", file, "--chart", "chart.svg"}, {"20", "3"});
  INFO(run.description);
  CHECK(run.status == 0);
  const std::string chart = read_text(search.folder.path() / "chart.svg");
  CHECK(chart.starts_with("<svg "));
  for (const char* const text :
       {">host 0<", ">host 2<", ": peers, ", ": overlay, ", "world:at(0.900000000, \"stall\", 1"}) {
    CHECK_THAT(chart, Contains(text));
  }
  const std::regex arrow("<circle");
  const auto arrows = std::distance(std::sregex_iterator(chart.begin(), chart.end(), arrow), std::sregex_iterator());
  CHECK(arrows == 400);
}

TEST_CASE("a line added to a job changes neither the order of events nor their times") {
  Search search;
  const auto run = [&](const std::string& line) {
    search.job = search.folder.write("size.lua", line + kSize).string();
    const Finished ended =
        search.run({"--hosts", "4", "--seed", "3", "--network", "switch,bandwidth=10Mbit"}, {"30", "4"});
    INFO(ended.description);
    REQUIRE(ended.status == 0);
    const std::string summary = ended.err.substr(ended.err.find("rehearsed "));
    return std::regex_replace(summary, std::regex("trace [0-9a-f]+"), "");
  };
  const std::string before = run("");
  CHECK(run("io.stderr:write('a line of this job\\n') local much = 'text that makes the script longer'\n") == before);
}

TEST_CASE("pairs of a rehearsal visits numbers, strings and then other keys in a fixed order") {
  Search search;
  const auto keys = [&](const std::string& line) {
    search.job = search.folder
                     .write("keys.lua", line + R"(
                       local actor = require "actor"
                       local t = { [2] = 0, [-1] = 0, [true] = 0, [3] = false }
                       for i = 1, 20 do t["key " .. i % 7 .. i] = i end
                       t["key 11"] = nil
                       local all = actor.collective.allgather(t)[2] -- another rank's table, as its bytes had it
                       local seen = {}
                       for key in pairs(all) do seen[#seen + 1] = tostring(key) end
                       if actor.rank == 0 then print(table.concat(seen, ",")) end
                     )")
                     .string();
    const Finished ended = search.run({"--hosts", "3", "--seed", "3"}, {});
    INFO(ended.description);
    REQUIRE(ended.status == 0);
    return ended.out;
  };
  const std::string order = keys("");
  CHECK(order.find("-1,2,3,key 014,") != std::string::npos);
  CHECK(order.find(",key 11,") == std::string::npos);
  CHECK(order.ends_with(",true\n"));
  CHECK(keys("local more = {} for i = 1, 100 do more[i] = 'text ' .. i end\n") == order);
}
