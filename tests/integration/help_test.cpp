// actorhost help: every public function has a docstring, and help finds it.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

Finished help(const JobFolder& folder, const std::string& name) { return folder.run({"help", name}); }

}  // namespace

TEST_CASE("every public function has a docstring and, in the modules for jobs, an example, and help finds it") {
  const Ended run(JobFolder().run({"-n", "1", "jobs/help.lua"}));
  CHECK(run.out == "true\ntrue\ntrue\ttrue\ttrue\n");
}

TEST_CASE("the examples of the docstrings run, and print what they state", "[deep]") {
  const std::string nodes = GENERATE("1", "2");
  const Ended run(JobFolder().run({"-n", nodes, "--seed", "1", "--print", "all", "jobs/help_examples.lua"}, 60));
  CHECK_THAT(run.out, Contains(" 0 failed\n"));
}

TEST_CASE("help shows functions, methods, rules, flags, variables and modules", "[deep]") {
  const JobFolder folder;
  const auto [name, title, text] = GENERATE(table<std::string, std::string, std::string>({
      {"param.run", "param.run(run)\n", "Runs the engine until `stop` returns true"},
      {"actor.collective.allreduce()", "group:allreduce(value, op, options)\n", "every rank gets the same bits"},
      {"param.run", "    run actor.param.Run\n", "\n      schedule? fun(workers: integer[])"},
      {"collective.rotator", "      slices? integer how many", "ends when it is up, and this rank's next visit"},
      {"rotatoroptions.bound", "rotatoroptions.bound\n", "loops over other things ask"},
      {"dataset:map", "dataset:map(fn, options)\n", "two results are a pair"},
      {"mapreduce.load", "mapreduce.load(url, options)\n", "The lines of files and URLs"},
      {"collective.table", "collective.table(options)\n", "an empty table"},
      {"tensor.zeros", "tensor.zeros(shape, options)\n", "float32 by default"},
      {"param.train", "  example:\n", "      actor.param.train {\n"},
      {"collective.allreduce", "  example, with 2 nodes:\n", "--> tensor([3., 3., 3.], float32)"},
      {"tensor:sum", "tensor.sum(t, dim, keepdim)\n", "--> 10 tensor([4., 6.], float32)"},
      {"tensor:sub_", "tensor.sub_\n", "in place"},
      {"barrier.pssp", "pssp:BETA:S[@RESAMPLE]\n", "min of beta workers drawn without replacement >= step - s"},
      {"actor.param.StopContext", "actor.param.StopContext: actor.Context\n", "    updates integer"},
      {"StopContext", "actor.param.StopContext", "    seconds number"},
      {"view", "actor.barrier.View\n", "    buffered number"},
      {"barrier.ssp", "ssp:S\n", "  example: --barrier ssp:4\n"},
      {"options", "options\n  A script's own flags", "options(defaults, args)\n"},
      {"dtype", "actor.Dtype\n", "\"float64\""},
      {"param.train", "param.train(", "\n      stop"},
      {"plot.line", "plot.line(", "\n      title"},
      {"actor.peer.Context", "actor.peer.Context: actor.Context\n", "owns"},
      {"actor.mapreduce.Dataset", "actor.mapreduce.Dataset\n", "dataset:map"},
      {"mr.load", "mapreduce.load(url, options)\n", "The lines of files and URLs"},
      {"barrier", "barrier\n  Barrier rules decide", "actor.barrier.View\n"},
      {"--barrier", "actorhost run:\n  --barrier RULE ", "actorhost sim:\n  --barrier RULE,... "},
      {"--sweep", "actorhost sim:\n  --sweep NAME=VALUES ", "START:STOP:STEP"},
      {"-n", "actorhost run:\n  -n,--nproc-per-node", "nodes on this host"},
      {"ACTORHOST_ISA", "actorhost run:\n  ACTORHOST_ISA ", "instruction set"},
      {"mapreduce", "mapreduce\n  Map-reduce: pipelines", "dataset:flatmap_values"},
      {"data", "data\n  Data sets", "data.csv"},
      {"data.npy.load", "data.npy.load(path)\n", "one array"},
      {"dataset:iterate", "dataset:iterate(options)\n", "partition"},
      {"dataset:flat_map", "dataset:flatmap(fn)\n", "any number of rows"},
      {"net:save", "network:save(path)\n", "safetensors"},
      {"table:lock", "table:lock(ids, fn, options)\n", "within another lock"},
      {"merge.mean", "mean\n", "synchronous training"},
      {"barrier-rules", "# Barrier rules\n", "## A rule of your own\n"},
      {"agent", "usage: actorhost", "--join"},
      {"rehearse", "usage: actorhost", "--virtual-seconds"},
      {"doctor", "usage: actorhost doctor", "--json"},
  }));
  const Ended run(help(folder, name));
  CHECK_THAT(run.out, Contains(title) && Contains(text));
  CHECK(run.err.empty());
}

TEST_CASE("help for a module does not show flags that mention it") {
  const JobFolder folder;
  CHECK_THAT(help(folder, "barrier").out, !Contains("--resample") && Contains("barrier.pssp"));
}

TEST_CASE("help for an unknown name exits with 2 and names the nearest known name") {
  const JobFolder folder;
  const Ended run(help(folder, "dataset:mapp"), 2);
  CHECK_THAT(run.err, Contains("there is nothing about 'dataset:mapp'; did you mean map?"));
  CHECK(run.out.empty());
  CHECK_THAT(folder.run({"help"}).out, Contains("  mapreduce ") && Contains("guides:\n  first-job "));
}
