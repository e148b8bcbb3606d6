// actorhost help: every public function has a docstring, and it is found.

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;

namespace {

// Names what help does not find: the functions of modules as scripts see them, and the methods of all objects whose
// unknown names are errors.
constexpr const char* kEverything = R"lua(
local actor = require "actor"
local core, help = require "actor.c.core", require "actor.help"

local function documented(name)
  for _, entry in ipairs(help.find(name)) do
    if #entry.text > 0 then return true end
  end
end

local modules, functions, methods, classes, texts = 0, 0, 0, {}, {}
for module in actor.pairs(core.library()) do
  local text = module:find("^actor") and core.library_text(module)
  if text then
    texts[#texts + 1] = text
    for class in text:gmatch("setmetatable%((%u%w*), check%.strict") do classes[class] = true end
  end
  local name = module:match("^actor%.([%w_]+)$")
  local value = name and name ~= "iteration" and require(module)
  if type(value) == "function" and not documented(name) then print("no docstring: " .. name) end
  if type(value) == "table" then
    modules = modules + 1
    for key, member in actor.pairs(value) do
      if type(member) == "function" then
        functions = functions + 1
        if not documented(name .. "." .. key) then print("no docstring: " .. name .. "." .. key) end
      elseif type(member) == "table" and not getmetatable(member) then
        for inner, of_table in actor.pairs(member) do -- data.npy.load
          local full = ("%s.%s.%s"):format(name, key, inner)
          if type(of_table) == "function" and not documented(full) then print("no docstring: " .. full) end
        end
      end
    end
  end
end
for class, object in actor.pairs { dataset = actor.mapreduce.range(1, 2), table = actor.collective.table { combiner = "sum" } } do
  for key, member in actor.pairs(getmetatable(object).__index) do -- also those that are made elsewhere
    if type(member) == "function" and not key:find("^__") and #help.find(class .. ":" .. key) == 0 then print("no docstring: " .. class .. ":" .. key) end
  end
end
for _, text in ipairs(texts) do
  for class, name in text:gmatch("\nfunction (%u%w*)[:.]([%w_]+)") do
    if classes[class] and not name:find("^__") then
      methods = methods + 1
      if not documented(class:lower() .. ":" .. name) then print("no docstring: " .. class .. ":" .. name) end
    end
  end
end
print(modules > 15, functions > 250, methods > 100)
)lua";

Finished help(const JobFolder& folder, const std::string& name) { return folder.run({"help", name}); }

}  // namespace

TEST_CASE("every public function of every module has a docstring, and help finds it") {
  const JobFolder folder;
  folder.write("job.lua", kEverything);
  const Finished run = folder.run({"-n", "1", "job.lua"});
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(run.out == "true\ttrue\ttrue\n");
}

TEST_CASE("help shows functions, methods, rules, flags, variables and modules") {
  const JobFolder folder;
  const auto [name, title, text] = GENERATE(table<std::string, std::string, std::string>({
      {"param.run", "param.run(run)\n", "Runs the engine until `stop` says so"},
      {"actor.collective.allreduce()", "group:allreduce(value, op, options)\n", "every rank gets the same bits"},
      {"param.run", "    run actor.param.Run\n", "\n      schedule? fun(workers: integer[])"},
      {"collective.rotator", "      slices? integer how many", "ends when it is up, and this rank's next visit"},
      {"rotatoroptions.bound", "rotatoroptions.bound\n", "what loops over other things asks"},
      {"dataset:map", "dataset:map(self: actor.mapreduce.Dataset, fn: function)\n", "two results are a pair"},
      {"mapreduce.load", "mapreduce.files.load(url, options)\n", "The lines of files and URLs"},
      {"collective.table", "collective.table.new(options)\n", "An empty table"},
      {"tensor:sub_", "tensor.sub_\n", "in place"},
      {"barrier.pssp", "pssp:BETA:S[@RESAMPLE]\n", "min of beta workers drawn without replacement >= step - s"},
      {"--barrier", "actorhost run:\n  --barrier RULE ", "actorhost sim:\n  --barrier LIST "},
      {"--sweep", "actorhost sim:\n  --sweep NAME=VALUES ", "START:STOP:STEP"},
      {"-n", "actorhost run:\n  -n,--nproc-per-node", "nodes on this host"},
      {"ACTORHOST_ISA", "actorhost run:\n  ACTORHOST_ISA ", "instruction set"},
      {"mapreduce", "mapreduce\n  Map-reduce: pipelines", "dataset:flatmap_values"},
      {"data", "data\n  Data sets", "data.csv"},
      {"data.npy.load", "data.npy.load(path)\n", "One array"},
      {"dataset:iterate", "dataset:iterate(options)\n", "partition"},
      {"dataset:flat_map", "dataset:flatmap(self", "any number of rows"},
      {"table:lock", "table:lock(ids, fn, options)\n", "within another lock"},
      {"param.merge.mean", "mean()\n", "synchronous training"},
      {"agent", "usage: actorhost", "--join"},
  }));
  const Finished run = help(folder, name);
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK_THAT(run.out, Contains(title) && Contains(text));
  CHECK(run.err.empty());
}

TEST_CASE("help for a module is not help for flags that mention it") {
  const JobFolder folder;
  CHECK_THAT(help(folder, "barrier").out, !Contains("--resample") && Contains("barrier.pssp"));
}

TEST_CASE("help for a name that there is not ends with 2 and names the nearest") {
  const JobFolder folder;
  const Finished run = help(folder, "dataset:mapp");
  INFO(run.description);
  CHECK(run.status == 2);
  CHECK_THAT(run.err, Contains("there is nothing about 'dataset:mapp'; did you mean map?"));
  CHECK(run.out.empty());
  CHECK_THAT(folder.run({"help"}).out, Contains("  mapreduce "));
}
