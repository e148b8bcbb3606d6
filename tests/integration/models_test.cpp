// The four models of computation of examples/models: they reach the same error, and keep what each promises.

#include <fstream>
#include <iterator>
#include <string>

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;

namespace {

std::string model_file(const std::string& name) { return (source_dir() / "examples/models" / name).string(); }

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Trains by a model, with a checker around each update: who works on a column has a file of its name, which only one
// can make at a time, on all nodes. And each column counts its updates, so that it is seen which of them an update
// knew.
constexpr const char* kMonitored = R"(
local actor = require "actor"
local factorisation = require "factorisation"
local name, way = ...
local options = {}
for key, value in pairs(factorisation.defaults) do options[key] = value end
options.way, options.events, options.epochs, options.target = way, way == "events", 5, 0

local met, made, known = 0, 0, {}
local new = factorisation.new
function factorisation.new(...)
  local problem = new(...)
  local train = problem.train
  function problem:train(column, factors)
    local path = "working on " .. column
    local file = io.open(path, "wx")
    if not file then met = met + 1 end
    known[column] = known[column] or {}
    table.insert(known[column], factors:get(self.rank + 1))
    made = made + 1
    train(self, column, factors)
    if file then
      file:close()
      os.remove(path)
    end
  end
  return problem
end

local model = factorisation.solve(require(name), options).model
local total = actor.collective.allreduce(actor.tensor({ met, made }))
print("met at a column: " .. total:get(1))
print("updates made: " .. total:get(2))
-- How many updates the columns have in the end, and how often two updates of a column knew the same ones before them.
local kept, same = 0, 0
local all, lists = assert(model:copy():allgather()), actor.collective.allgather(known)
for column, factors in all:pairs() do
  kept = kept + factors:get(options.rank + 1)
  local seen = {}
  for rank = 1, lists.n do
    for _, version in ipairs(lists[rank][column]) do
      same = same + (seen[version] and 1 or 0)
      seen[version] = true
    end
  end
end
print("updates kept: " .. kept)
print("made from the same: " .. same)
)";

Finished run_monitored(const std::string& place, const Words& arguments) {
  const JobFolder folder;
  for (const char* name : {"factorisation", "course", "locking", "rotation", "allreduce", "async"}) {
    const std::string file = std::string(name) + ".lua";
    folder.write(file, text_of(model_file(file)));
  }
  folder.write("job.lua", kMonitored);
  const Words words = with({"--seed", "3", "job.lua"}, arguments);
  return place.size() == 1 ? folder.run(with({"-n", place}, words), 60) : run_at(place, folder, words, 60);
}

constexpr int kUpdates = 5 * 60;  // of a rank

int nodes_at(const std::string& place) { return place.size() == 1 ? std::stoi(place) : 3; }

}  // namespace

TEST_CASE("all four models of computation reach the same error, however many nodes there are and wherever") {
  const JobFolder folder;
  const std::string place = GENERATE(as<std::string>(), "1", "2", "3", "5", "8", "isolate", "hosts");
  // An asynchronous rank makes as many epochs as it can while another waits for a processor: no limit is large enough.
  const Words problem = {"--rows", "80", "--columns", "60", "--rank", "3", "--rate", "0.1", "--epochs", "1000000000"};
  const Words words = with({"--seed", "3", model_file("compare.lua"), "--to", "figures"}, problem);
  const Finished run =
      place.size() == 1 ? folder.run(with({"-n", place}, words), 100) : run_at(place, folder, words, 100);
  INFO(run.description);
  CHECK(run.status == 0);
  for (const std::string model : {"A locking", "B rotation", "C all-reduce"}) {
    CHECK(std::stod(line_after(run.out, model)) < 0.005);
  }
  // What is still under way when one rank finds the error small enough is added to it.
  CHECK(std::stod(line_after(run.out, "D no barrier")) < 0.02);
  // What is synchronised by locks or by turns is never stale, what is put together at the end of an epoch is.
  CHECK_THAT(line_after(run.out, "A locking"), Contains("%   0.00, at most 0"));
  CHECK_THAT(line_after(run.out, "B rotation"), Contains("%   0.00, at most 0"));
  const auto stale = line_after(run.out, "C all-reduce").find("%   0.00, at most 0");
  CHECK((stale == std::string::npos) == (nodes_at(place) > 1));
  for (const char* figure : {"time", "epochs"}) {
    const std::string svg = text_of(folder.path() / "figures" / (std::string(figure) + ".svg"));
    for (const char* model : {"A locking", "B rotation", "C all-reduce", "D no barrier"})
      CHECK_THAT(svg, Contains(model));
    CHECK_THAT(svg, Contains("root of the mean squared error"));
  }
  const std::string curves = text_of(folder.path() / "figures/curves.csv");
  CHECK_THAT(curves, Catch::StartsWith("model,epochs,seconds,rmse\nA locking,1,") && Contains("\nC all-reduce,1,") &&
                         Contains("\nD no barrier,"));
  CHECK(count_of(text_of(folder.path() / "figures/models.csv"), "\n") == 5);
}

TEST_CASE("under locks and by rotation a column is worked on by one node at a time, and no update is lost") {
  const Words model = GENERATE(Words{"locking"}, Words{"locking", "events"}, Words{"rotation"});
  const std::string place = GENERATE(as<std::string>(), "1", "2", "5", "8", "threads", "isolate", "hosts");
  const Finished run = run_monitored(place, model);
  INFO(run.description);
  CHECK(run.status == 0);
  const std::string updates = std::to_string(nodes_at(place) * kUpdates);
  CHECK(line_after(run.out, "met at a column: ") == "0");
  CHECK(line_after(run.out, "updates made: ") == updates);
  CHECK(line_after(run.out, "updates kept: ") == updates);
  CHECK(line_after(run.out, "made from the same: ") == "0");
}

TEST_CASE("by all-reduce and without a barrier no update is lost either, though some know nothing of others") {
  const Words model = GENERATE(Words{"allreduce", "allreduce"}, Words{"allreduce", "regroup"},
                               Words{"allreduce", "push"}, Words{"async"}, Words{"async", "events"});
  const std::string place = GENERATE(as<std::string>(), "1", "5", "threads", "isolate", "hosts");
  const Finished run = run_monitored(place, model);
  INFO(run.description);
  CHECK(run.status == 0);
  const int n = nodes_at(place);
  const std::string updates = line_after(run.out, "updates made: ");
  CHECK(updates == std::to_string(n * kUpdates));
  CHECK(line_after(run.out, "updates kept: ") == updates);
  // The ranks' updates of an epoch all begin from what the last one has left; for the others of async it depends.
  if (model[0] == "allreduce") CHECK(line_after(run.out, "made from the same: ") == std::to_string((n - 1) * kUpdates));
}
