// Map-reduce as a user runs it: words counted like a plain map does, wherever the nodes are; a worker lost in the
// middle.

#include <csignal>
#include <map>
#include <random>
#include <sstream>

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;

namespace {

constexpr const char* kCount = R"(
local mr = require "actor.mapreduce"
local path = ...
local counts = mr.load(path)
  :flatmap(function(line) return line:gmatch("%S+") end)
  :map(function(word) return word, 1 end)
  :reduce_by_key(function(a, b) return a + b end)
  :collect()
table.sort(counts, function(a, b) return a[1] < b[1] end)
for _, pair in ipairs(counts) do print(pair[1] .. " " .. pair[2]) end
)";

// The same without Lua in between.
constexpr const char* kCountNatively = R"(
local mr = require "actor.mapreduce"
local counts = mr.load(...):flatmap(mr.words):map(mr.one):reduce_by_key(mr.sum):collect()
table.sort(counts, function(a, b) return a[1] < b[1] end)
for _, pair in ipairs(counts) do print(pair[1] .. " " .. pair[2]) end
)";

// Worker 2 stays in the first record that it sees until it is killed. Nobody is done with a task before.
constexpr const char* kOneStays = R"(
local actor = require "actor"
local mr = require "actor.mapreduce"
local process = io.open("/proc/self/stat"):read("*n")
local sums = mr.range(1, 20000, 1, 40)
  :map(function(i)
    if actor.id == 2 then
      tell("worker 2 stays")
      actor.log.info("stays in process %d.", process)
      while true do end
    end
    await("worker 2 stays")
    return i % 100, i
  end)
  :reduce_by_key(function(a, b) return a + b end)
local total = 0
for _, pair in ipairs(sums:collect()) do
  total = total + 1
  assert(pair[2] == 200 * pair[1] + (pair[1] == 0 and 200 or 0) * 100 + 100 * 199 * 100, pair[1] .. " has " .. pair[2])
end
print("keys:", total)
)";

// K-means of 4 clusters. With "stay" worker 2 stays in the first partition that it takes in iteration 5 until it is
// killed; nobody is done with one before.
constexpr const char* kMeans = R"(
local actor = require "actor"
local mr = require "actor.mapreduce"
local stay = (...) == "stay"
local process = io.open("/proc/self/stat"):read("*n")
local points = mr.generate(40000, function(i)
  local random = actor.rng(7, i)
  return (i % 4) * 3 + random:normal(), (i % 4 % 2) * 3 + random:normal()
end, 40):cache()
local centroids = points:take(4)

local function nearest(x, y)
  local best, least = nil, math.huge
  for i, centroid in ipairs(centroids) do
    local distance = (x - centroid[1]) ^ 2 + (y - centroid[2]) ^ 2
    if distance < least then best, least = i, distance end
  end
  return best
end

for iteration = 1, 10 do
  local sums = points
    :map_partition(function(rows)
      if stay and iteration == 5 then
        if actor.id == 2 then
          tell("worker 2 stays")
          actor.log.info("stays in process %d.", process)
          while true do end
        end
        await("worker 2 stays")
      end
      local sums = {}
      for x, y in rows do
        local i = nearest(x, y)
        local sum = sums[i] or { 0, 0, 0 }
        sum[1], sum[2], sum[3] = sum[1] + x, sum[2] + y, sum[3] + 1
        sums[i] = sum
      end
      return pairs(sums)
    end)
    :reduce_by_key(function(a, b) return { a[1] + b[1], a[2] + b[2], a[3] + b[3] } end)
    :sort_by_key()
    :collect()
  for i, pair in ipairs(sums) do
    local sum = pair[2]
    sums[i] = { sum[1] / sum[3], sum[2] / sum[3] }
  end
  centroids = sums
end
for _, centroid in ipairs(centroids) do print(("%.17g %.17g"):format(centroid[1], centroid[2])) end
)";

constexpr const char* kCached = R"(
local mr = require "actor.mapreduce"
local path, process = ..., nil
local words = mr.load(path):flatmap(mr.words):cache()
print("first:", words:count())
local actor = require "actor"
actor.collective.barrier() -- all have looked for it: an action ends when its work is done, whoever has come to it
if actor.rank == 0 then assert(os.remove(path)) end
actor.collective.barrier()
print("again:", words:map(string.upper):count(), words:map(mr.one):reduce_by_key(mr.sum):count())
words:count()
print(words:explained():match("tasks' rows were there") or "not reused")
)";

/// Words of few letters, some of them often, in lines of every length; the last line has no end.
std::string random_text(uint32_t seed, size_t words) {
  std::mt19937 random(seed);
  std::string text;
  for (size_t i = 0; i < words; ++i) {
    const size_t letters = 1 + random() % 4;
    for (size_t k = 0; k < letters; ++k) text += static_cast<char>('a' + std::min(random() % 6, random() % 26));
    text += random() % 9 == 0 ? "\n" : random() % 40 == 0 ? " \t\n\n" : " ";
  }
  return text + "end";
}

std::string counted(const std::string& text) {
  std::map<std::string, size_t> counts;
  std::istringstream words(text);
  for (std::string word; words >> word;) ++counts[word];
  std::string out;
  for (const auto& [word, count] : counts) out += word + " " + std::to_string(count) + "\n";
  return out;
}

}  // namespace

TEST_CASE("words are counted as a plain map counts them, for any number of nodes") {
  const JobFolder folder;
  const uint32_t seed = std::random_device()();
  INFO("seed " << seed);
  const std::string text = random_text(seed, 400000);
  folder.write("text", text);
  folder.write("count.lua", kCount);
  folder.write("native.lua", kCountNatively);
  const std::string expected = counted(text);
  for (const char* nodes : {"1", "2", "3", "8"}) {
    for (const char* job : {"count.lua", "native.lua"}) {
      const Finished run = folder.run({"-n", nodes, job, "text"}, 60);
      INFO(run.description.substr(0, 2000));
      CHECK(run.status == 0);
      CHECK((run.out == expected));
    }
  }
}

TEST_CASE("words are counted the same by processes and by hosts") {
  const JobFolder folder;
  const std::string text = random_text(7, 100000);
  folder.write("text", text);
  folder.write("count.lua", kCount);
  for (const std::string& place : places()) {
    const Finished run = run_at(place, folder, {"count.lua", "text"}, 60);
    INFO(place << ": " << run.description.substr(0, 2000));
    CHECK(run.status == 0);
    CHECK((run.out == counted(text)));
  }
}

TEST_CASE("a worker killed in a stage leaves its tasks to the others") {
  const JobFolder folder;
  folder.write("job.lua", std::string(kMeeting) + kOneStays);
  Process run = folder.start({"-n", "3", "--isolate", "job.lua"});
  const auto process = run.wait_for_match("stays in process ([0-9]+)\\.", 30);
  REQUIRE(process);
  kill(std::stoi(*process), SIGKILL);
  CHECK(run.wait(30) == 0);
  INFO(run.describe());
  CHECK(run.out() == "keys:\t100\n");
}

TEST_CASE("k-means with a worker killed in iteration 5 of 10 ends with the same centroids") {
  const JobFolder folder;
  folder.write("job.lua", std::string(kMeeting) + kMeans);
  const Finished undisturbed = folder.run({"-n", "3", "--isolate", "job.lua"});
  INFO(undisturbed.description);
  REQUIRE(undisturbed.status == 0);
  CHECK(count_of(undisturbed.out, "\n") == 4);
  Process run = folder.start({"-n", "3", "--isolate", "job.lua", "stay"});
  const auto process = run.wait_for_match("stays in process ([0-9]+)\\.", 30);
  REQUIRE(process);
  kill(std::stoi(*process), SIGKILL);
  CHECK(run.wait(30) == 0);
  INFO(run.describe());
  CHECK(run.out() == undisturbed.out);
}

TEST_CASE("a worker that comes when an action is over has its figures too") {
  const JobFolder folder;
  folder.write("job.lua", std::string(kMeeting) + R"(
local actor = require "actor"
local rows = require("actor.mapreduce").range(1, 10, 1, 3)
if actor.rank == 0 then await("done") end
print("rows:", rows:count())
if actor.rank == 1 then tell("done") end
print(rows:explained())
)");
  const Finished run = folder.run({"-n", "2", "job.lua"});
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(run.out.find("rows:\t10\n") == 0);
  CHECK(run.out.find("\nmapreduce.count: ") != std::string::npos);
}

TEST_CASE("cached rows are there when their file is gone") {
  const JobFolder folder;
  folder.write("job.lua", kCached);
  folder.write("text", random_text(3, 5000));
  for (const char* nodes : {"1", "3"}) {
    folder.write("text", random_text(3, 5000));
    const Finished run = folder.run({"-n", nodes, "job.lua", "text"});
    INFO(run.description);
    CHECK(run.status == 0);
    CHECK(run.out.find("first:\t5001\nagain:\t5001\t") == 0);
    CHECK(run.out.find("tasks' rows were there\n") != std::string::npos);
  }
}
