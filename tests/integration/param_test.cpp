// What jobs see of param.run beside its rules: values by several keys, what callbacks on servers print, the original
// names.

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;

namespace {

// Goes before jobs of two steps, whose every worker adds 1 to x.
constexpr const char* kCounting = R"(
local actor = require "actor"
local param, tensor = actor.param, actor.tensor
local run = {
  init = function() return { x = tensor.zeros(1), name = "counter" } end,
  schedule_local = function() return { "x" } end,
  push = function() return { { "x", tensor.ones(1) } } end,
  pull = actor.optim.add(),
  stop = function(ctx) return ctx.step >= 2 end,
}
)";

Finished run_job(const std::string& place, const std::string& job, const Words& flags = {}) {
  const JobFolder folder;
  folder.write("job.lua", kCounting + job);
  return run_at(place, folder, with(flags, {"job.lua"}));
}

}  // namespace

TEST_CASE("what callbacks on a server print reaches the user and says where it comes from") {
  const Finished run = run_job(GENERATE(as<std::string>(), "threads", "isolate", "hosts"), R"(
print("everybody's line")
function run.init() print "init" return { x = tensor.zeros(1) } end
function run.stop(ctx) print(("stop %d"):format(ctx.step)) return ctx.step >= 2 end
function run.barrier(view) if view.id == 0 then print("rule", view.step) end return view:min() >= view.step end
function run.pull(updates)
  print "pull"
  local sum = param.get("x")
  for _, update in ipairs(updates) do sum = sum + update[2] end
  return { { "x", sum } }
end
param.run(run)
print("over")
)");
  INFO(run.description);
  CHECK(run.status == 0);
  for (const std::string line : {"init", "stop 0", "stop 2", "pull", "rule\t1"}) {
    CHECK_THAT("\n" + run.out, Contains("\n[server 0] " + line + "\n"));
  }
  CHECK(count_of(run.out, "everybody's line\n") == 1);
  CHECK(count_of("\n" + run.out, "\nover\n") == 1);
}

TEST_CASE("param.get of several keys gives their values and steps at once") {
  const Finished run = run_job("threads", R"(
param.run(run)
local values, steps = param.get { "x", "missing", "name" }
print(values[1]:get(1), steps[1], values[2], steps[2], values[3], steps[3])
print(#param.get {})
print(select(2, pcall(param.get, { "x", {} })))
)",
                               {"--servers", "2"});
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK_THAT(run.out, Contains("6\t2\tnil\tnil\tcounter\t0\n0\n") && Contains("param.get: key 2"));
}

TEST_CASE("param.start takes a barrier, as the seed's does, and nothing else") {
  const Finished run = run_job("threads", R"(
param.register_schedule(function(workers)
  local tasks = {}
  for _, id in ipairs(workers) do tasks[id] = { { "work", id } } end
  return tasks
end)
param.register_push(function(id) return { { id, true } } end)
param.register_stop(run.stop)
param.register_barrier(function() error("not this one") end)
print(select(2, pcall(param.start, "bsp", "job", "url")))
print(select(2, pcall(param.start, "bps")))
print(param.start("bsp").steps)
)");
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK_THAT(run.out, Contains("param.start takes a barrier or nothing, got 3 arguments") &&
                          Contains("there is no rule 'bps'") && Contains("\n2\n"));
}

TEST_CASE("the log writes what its format does not take behind it") {
  const Finished run = run_job("threads", R"(
actor.log.info("text", 7, nil, true)
actor.log.info("%d of %s%%", 3, "ten", "more", 1)
actor.log.info("100%")
actor.log.info(7, "text")
)");
  INFO(run.description);
  CHECK(run.status == 0);
  for (const std::string line : {"text 7 nil true", "3 of ten% more 1", "100%", "7 text"}) {
    CHECK_THAT(run.err, Contains("rank 0: " + line + "\n"));
  }
}

TEST_CASE(
    "a callback on a server that does not come back ends the run with its place, where --callback-timeout is set") {
  const std::string callback = GENERATE(as<std::string>(), "none", "init", "stop", "pull");
  CAPTURE(callback);
  const bool here = callback != "none";
  const Finished run =
      run_job(GENERATE(as<std::string>(), "threads", "isolate"),
              here ? "function run." + callback + "() while true do end end\nparam.run(run)" : "param.run(run)",
              {"--callback-timeout", "0.3"});
  INFO(run.description);
  CHECK(run.status == (here ? 1 : 0));
  if (here) {
    CHECK_THAT(run.err, Contains("actorhost: server 0: " + callback + " (job.lua:11) did not return within 0.3 s"));
    CHECK_THAT(run.err, !Contains("interrupted"));
  }
}

TEST_CASE("flags that no engine of a job honours are told at its end, and the others are not") {
  const JobFolder folder;
  const bool runs = GENERATE(false, true);
  folder.write("job.lua", std::string(kCounting) + (runs ? "param.run(run)" : "actor.collective.barrier()"));
  const Finished run = run_at(GENERATE(as<std::string>(), "threads", "isolate"), folder,
                              {"--barrier", "ssp:2", "--inject", "delay=0.001", "--record", "trace.csv", "--seconds",
                               "100", "--checkpoint", "saved", "job.lua"});
  INFO(run.description);
  CHECK(run.status == 0);
  const std::string told = "rank 0: --barrier, --inject, --record, --seconds, --checkpoint had no effect";
  CHECK(count_of(run.err, told) == (runs ? 0 : 1));
  CHECK(count_of(run.err, "had no effect") == (runs ? 0 : 1));
}

TEST_CASE("the mean of a step's pushes needs a rule that is BSP") {
  const Finished run = run_job("threads",
                               "run.merge = param.merge.mean()\nprint(param.run(run).updates, "
                               "param.get('x'):get(1))",
                               {"--barrier", GENERATE("bsp", "backup:0", "ssp:1")});
  INFO(run.description);
  if (run.status == 0) CHECK(run.out == "6\t2\n");
  if (run.status != 0) CHECK_THAT(run.err, Contains("needs a rule that is BSP") && Contains("not ssp(1)"));
  CHECK(run.status == (run.description.find("ssp:1") == std::string::npos ? 0 : 1));
}

TEST_CASE("param.train refuses what it makes itself, and leaves the final parameters in the model of every worker") {
  const Finished run = run_job("threads", R"(
local net = actor.nn.sequential { actor.nn.linear(2, 2, { init = "zeros" }) }
local train = {
  net = net,
  batch = function(id) return "of worker", id end,
  loss = function(model, what, id)
    assert(model == net and what == "of worker" and id == actor.id)
    for _, gradient in pairs(net.grads) do gradient:fill_(-1) end
  end,
  pull = actor.optim.add { scale = -1 }, merge = param.merge.mean(),
  stop = function(ctx) return ctx.step >= 3 end,
}
print(param.train(train).updates, net.params["1.weight"]:mean(), net.params["1.bias"]:mean())
train.push = print
print(select(2, pcall(param.train, train)))
print(select(2, pcall(param.train, { net = {}, batch = print })))
)",
                               {"--print", "all"});
  INFO(run.description);
  CHECK(run.status == 0);
  for (const std::string rank : {"0", "1", "2"}) CHECK_THAT(run.out, Contains("[rank " + rank + "] 9\t3\t3\n"));
  CHECK_THAT(run.out, Contains("param.train makes 'push' itself") && Contains("bad argument 'net' to param.train"));
}
