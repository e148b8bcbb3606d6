// Rows that stay: persist, cache, unpersist and checkpoint; what is made again when a worker is lost, and what is not.

#include <map>
#include <set>
#include <sstream>

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;

namespace {

namespace fs = std::filesystem;

/// What jobs here begin with. `noted` is a source whose partitions leave a line each time that they are made: "ID
/// PARTITION" in the file `made`.
const std::string kUse = R"(
local actor = require "actor"
local mr = require "actor.mapreduce"
local function write(name, text)
  local file = assert(io.open(name, "a"))
  file:write(text)
  file:close()
end
local function noted(before)
  return mr.range(1, 3000, 1, 30):map_partition(function(rows, i)
    if before then before() end
    write("made", actor.id .. " " .. i .. "\n")
    return rows
  end)
end
)";

/// Worker 2 has made some rows when everybody has, and is gone then, before anybody goes on.
const std::string kLosing = kUse + R"(
local ffi = require "ffi"
ffi.cdef "int getpid(void); int kill(int, int);"
local function wait_for_worker_2()
  if actor.id == 2 then
    write("two", "")
  else
    repeat until io.open("two")
  end
end
local function lose_worker_2()
  if actor.id == 2 then
    repeat until io.open("has-0") and io.open("has-1") -- what came before
    write("process", ffi.C.getpid() .. "\n")
    ffi.C.kill(ffi.C.getpid(), 9)
  end
  write("has-" .. actor.id, "")
  local process
  repeat
    local file = io.open("process")
    process = file and file:read("*l")
    if file then file:close() end
  until process
  repeat
    local file = io.open("/proc/" .. process .. "/stat")
    local text = file and file:read("*a") -- nothing when it goes at this moment
    local state = text and text:match('%) (%a)')
    if file then file:close() end
  until not state or state == "Z"
end
)";

struct Made {
  std::multiset<int> all;
  std::set<int> by_2;
};

/// What `noted` has left, before the line "--" or behind it.
Made made_in(const JobFolder& folder, bool behind = false) {
  Made made;
  std::istringstream lines(read_text(folder.path() / "made"));
  bool now = !behind;
  for (std::string line; std::getline(lines, line);) {
    if (line == "--") {
      now = !now;
      continue;
    }
    if (!now) continue;
    const int part = std::stoi(line.substr(line.find(' ')));
    made.all.insert(part);
    if (line[0] == '2') made.by_2.insert(part);
  }
  return made;
}

Finished run_job(const JobFolder& folder, const std::string& job, const Words& words = {"-n", "2"}) {
  folder.write("job.lua", kUse + job);
  return folder.run(with(words, {"job.lua"}));
}

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

}  // namespace

TEST_CASE("kept rows are made once, wherever they are kept, until they are let go") {
  const JobFolder folder;
  const std::string keep = GENERATE(as<std::string>(), "cache()", "persist()", "persist { disk = true }");
  folder.write("job.lua", kUse + "local rows = noted():" + keep + R"(
print("sum " .. rows:sum() .. " " .. rows:map(function(x) return x % 7, x end):reduce_by_key(mr.sum):count())
print("sum " .. rows:sum())
print(rows:explained())
rows:unpersist()
print("again " .. rows:sum())
print(rows:explained())
)");
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate", "hosts");
  const Finished run = run_at(place, folder, {"job.lua"});
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(count_of(run.out, "sum 4501500 7\nsum 4501500\n") == 1);
  CHECK(count_of(run.out, keep == "persist { disk = true }" ? ", kept on disk\n" : ", kept\n") == 1);
  CHECK(count_of(run.out, "; 30 tasks' rows were there") == 1);
  CHECK(line_after(run.out, "again ") == "4501500");
  CHECK(made_in(folder).all.size() == 60);
}

TEST_CASE("rows kept on disk go there at once, whatever room there is in memory, and leave no file") {
  const JobFolder folder;
  fs::create_directory(folder.path() / "tmp");
  ProcessOptions options = folder.options();
  options.env["TMPDIR"] = (folder.path() / "tmp").string();
  folder.write("job.lua", kUse + R"(
local function look(what, rows)
  rows:count()
  print(what .. " " .. tostring(rows:explained():find("spilled") ~= nil) .. " " .. rows:values():sum())
end
local rows = mr.range(1, 1e6):map(function(x) return x, x end)
look("memory", rows:cache())
rows:unpersist()
look("disk", rows:persist { disk = true })
)");
  for (const auto& [memory, spilled] : std::map<std::string, std::string>{{"256M", "false"}, {"16M", "true"}}) {
    const Finished run = run_program(actorhost_binary(), {"-n", "2", "--memory", memory, "job.lua"}, 60, options);
    INFO(run.description);
    CHECK(run.status == 0);
    CHECK(line_after(run.out, "memory ") == spilled + " 500000500000");
    CHECK(line_after(run.out, "disk ") == "true 500000500000");
  }
  CHECK(names_in(folder.path() / "tmp").empty());
}

TEST_CASE("cached datasets that are garbage or not wanted any more let their rows go on every node") {
  const JobFolder folder;
  const Words nodes = GENERATE(Words{"-n", "2"}, Words{"-n", "2", "--isolate"});
  const std::string how = GENERATE(as<std::string>(), "garbage", "unpersist", "held");
  // 400 MB in all, 4 MB at a time: what stays is spilled.
  folder.write("job.lua", kUse + R"(
local how, held, spilled = ..., {}, 0
for i = 1, 100 do
  local rows = mr.range(1, 4000, 1, 4):map(function(x) return x, ("x"):rep(1000) .. i end):cache()
  assert(rows:count() == 4000)
  if rows:explained():find("spilled") then spilled = spilled + 1 end
  if how ~= "garbage" then held[i] = rows end
  if how == "unpersist" then rows:unpersist() end
  actor.collective.barrier() -- nobody is many actions behind: what it has still to come to stays
end
print("spilled " .. tostring(spilled > 0))
)");
  const Finished run = folder.run(with(nodes, {"--memory", "256M", "job.lua", how}));
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(line_after(run.out, "spilled ") == (how == "held" ? "true" : "false"));
}

TEST_CASE("a dataset that one node no longer holds is there for the actions that are under way") {
  const JobFolder folder;
  // Rank 1 comes to each action when rank 0 has long let the rows go.
  const Finished run = run_job(folder, R"(
for i = 1, 4 do
  if actor.rank == 1 then repeat until io.open("done-" .. i) end
  local rows = noted():cache()
  assert(rows:sum() == 4501500)
  assert(rows:map(function(x) return 2 * x end):sum() == 9003000)
  if i % 2 == 0 then rows:unpersist() end
  rows = nil
  collectgarbage()
  collectgarbage()
  assert(mr.range(1, 10):count() == 10)
  if actor.rank == 0 then write("done-" .. i, "") end
end
print("all there")
)");
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(run.out == "all there\n");
  CHECK(made_in(folder).all.size() == 4 * 30);
}

TEST_CASE("one node may look at a plan by itself") {
  const JobFolder folder;
  const Finished run = run_job(folder, R"(
local rows = noted():cache()
if actor.rank == 0 then print(rows:map(function(x) return x, 1 end):reduce_by_key(mr.sum):explained()) end
print("sum " .. rows:sum() .. " " .. rows:sum())
)");
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(line_after(run.out, "sum ") == "4501500 4501500");
  CHECK(made_in(folder).all.size() == 30);
}

TEST_CASE("kept rows of a worker that is lost are made again, and only those") {
  const JobFolder folder;
  const std::string keep = GENERATE(as<std::string>(), "cache()", "persist { disk = true }");
  folder.write("job.lua", kLosing + "local rows = noted(wait_for_worker_2):" + keep + R"(
print("count " .. rows:count())
lose_worker_2()
if actor.id == 0 then
  write("made", "--\n")
  write("go", "")
end
repeat until io.open("go")
print("sum " .. rows:sum())
)");
  const Finished run = folder.run({"-n", "3", "--isolate", "job.lua"});
  INFO(run.description);
  CHECK(line_after(run.out, "count ") == "3000");
  CHECK(line_after(run.out, "sum ") == "4501500");
  const Made first = made_in(folder);
  CHECK(first.all.size() == 30);
  REQUIRE_FALSE(first.by_2.empty());
  const Made again = made_in(folder, true);
  CHECK(std::set<int>(again.all.begin(), again.all.end()) == first.by_2);
}

TEST_CASE("what is before a checkpoint is not made again when a worker is lost") {
  const JobFolder folder;
  folder.write("job.lua", kLosing + R"(
local rows = noted(wait_for_worker_2):checkpoint("safe")
lose_worker_2()
print("sum " .. rows:sum())
print("sum by key " .. rows:map(function(x) return x % 10, x end):reduce_by_key(mr.sum):values():sum())
print(rows:explained())
)");
  const Finished run = folder.run({"-n", "3", "--isolate", "job.lua"});
  INFO(run.description);
  CHECK(line_after(run.out, "sum ") == "4501500");
  CHECK(line_after(run.out, "sum by key ") == "4501500");
  CHECK_THAT(run.out, Contains("stage 1: checkpoint; 30 tasks") && !Contains("range"));
  const Made made = made_in(folder);
  CHECK(made.all.size() == 30);
  CHECK_FALSE(made.by_2.empty());
  CHECK(names_in(folder.path() / "safe").size() == 31);
}

TEST_CASE("a checkpoint during which a worker is lost holds each row once") {
  const JobFolder folder;
  folder.write("job.lua", kLosing + R"(
local seen = 0
local rows = mr.range(1, 4000, 1, 40):map(function(x)
  seen = seen + 1
  if actor.id == 2 and seen == 150 then ffi.C.kill(ffi.C.getpid(), 9) end
  if actor.id ~= 2 and seen == 1 then wait_for_worker_2() end
  if actor.id == 2 and seen == 1 then write("two", "") end
  return x
end):checkpoint("safe")
print("sum " .. rows:count() .. " " .. rows:sum())
)");
  const Finished run = folder.run({"-n", "3", "--isolate", "job.lua"});
  INFO(run.description);
  CHECK(line_after(run.out, "sum ") == "4000 8002000");
  CHECK(names_in(folder.path() / "safe").size() == 41);
  for (const std::string& name : names_in(folder.path())) CHECK(name.find("saving") == std::string::npos);
}

TEST_CASE("what one worker alone has written before it was lost is there for those that come later") {
  const JobFolder folder;
  // Worker 2 does all of it, then it is gone with what it knew: the others come to the same actions after that.
  folder.write("job.lua", kLosing + R"(
if actor.id ~= 2 then lose_worker_2() end
local what = ...
local rows = noted()
local done = what == "checkpoint" and rows:checkpoint("out") or rows:save("out", { overwrite = what == "overwrite" })
if actor.id == 2 then lose_worker_2() end
print("sum " .. (what == "checkpoint" and done or mr.load("out"):map(tonumber)):sum())
)");
  const std::string what = GENERATE(as<std::string>(), "save", "overwrite", "checkpoint");
  const Finished run = folder.run({"-n", "3", "--isolate", "job.lua", what});
  INFO(run.description);
  CHECK(line_after(run.out, "sum ") == "4501500");
  CHECK(names_in(folder.path() / "out").size() == 31);
  for (const std::string& name : names_in(folder.path())) CHECK(name.find("saving") == std::string::npos);
}

TEST_CASE("values of every kind and pairs come back from a checkpoint, on hosts too") {
  const JobFolder folder;
  folder.write("job.lua", kUse + R"(
local codec = require "actor.codec"
local values = { 1, -0.5, 1 / 0, "text", "\0\255", "", true, false, { 1, { a = "b" } }, actor.tensor.ones(3) }
local rows = mr.parallelize(values, 4)
local both = rows:union(rows:map(function(x) return "key", x end))
local back = both:checkpoint("deep/er/ck")
assert(codec.hash(back:collect()) == codec.hash(both:collect()))
local summed = mr.range(1, 1000):map(function(x) return x % 10, x end):reduce_by_key(mr.sum):checkpoint("keyed")
local again = summed:reduce_by_key(mr.sum)
print("values " .. again:values():sum())
print(again:explained())
)");
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate", "hosts");
  const Finished run = run_at(place, folder, {"job.lua"});
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(line_after(run.out, "values ") == "500500");
  CHECK_THAT(run.out, Contains("stage 2: reduce_by_key; 16 tasks  <- stage 1\n"));  // its keys are where they belong
}

TEST_CASE("a job that runs again goes on from its checkpoint when it makes the same rows, and else says why not") {
  const JobFolder folder;
  const auto job = [](const std::string& before, const std::string& fn, const std::string& options) {
    return before + "local factor = tonumber((...)) or 1\nlocal rows = noted():map(" + fn + "):checkpoint('ck'" +
           options + ")\nprint('sum ' .. rows:sum())\n";
  };
  const std::string twice = "function(x) return 2 * factor * x end";
  const auto runs = [&] { return made_in(folder).all.size() / 30; };
  const Finished first = run_job(folder, job("", twice, ""));
  INFO(first.description);
  CHECK(line_after(first.out, "sum ") == "9003000");
  CHECK(runs() == 1);

  const Finished refused = run_job(folder, job("", twice, ""));
  CHECK(refused.status == 1);
  CHECK_THAT(refused.err, Contains("job.lua:17: mapreduce.checkpoint: ") &&
                              Contains("ck: holds a checkpoint; resume = true reads it"));
  CHECK(runs() == 1);

  // Lines may move, and what comes behind may change; more nodes may be there.
  const Finished resumed = run_job(folder, job("\n\n", twice, ", { resume = true }"), {"-n", "3"});
  INFO(resumed.description);
  CHECK(line_after(resumed.out, "sum ") == "9003000");
  CHECK(runs() == 1);

  const Finished changed = run_job(folder, job("", "function(x) return 3 * factor * x end", ", { resume = true }"));
  INFO(changed.description);
  CHECK(changed.status == 1);
  CHECK_THAT(changed.err, Contains("job.lua:17: ") && Contains("ck: holds the checkpoint of another pipeline"));
  folder.write("job.lua", kUse + job("", twice, ", { resume = true }"));
  const Finished captured = folder.run({"-n", "2", "job.lua", "5"});
  CHECK_THAT(captured.err, Contains("ck: holds the checkpoint of another pipeline"));
  CHECK(runs() == 1);

  const Finished both = folder.run({"-n", "2", "job.lua"});
  CHECK(line_after(both.out, "sum ") == "9003000");
  const Finished replaced =
      run_job(folder, job("", "function(x) return 3 * factor * x end", ", { resume = true, overwrite = true }"));
  INFO(replaced.description);
  CHECK(line_after(replaced.out, "sum ") == "13504500");
  CHECK(runs() == 2);
}

TEST_CASE("a checkpoint that is damaged, cut short, gone or another one is an error with the file") {
  const JobFolder folder;
  const std::string job = "local rows = noted():checkpoint('ck', { resume = true })\nprint('sum ' .. rows:sum())\n";
  REQUIRE(run_job(folder, job).status == 0);
  const fs::path part = folder.path() / "ck/part-00007";
  const std::string bytes = read_text(part);
  const auto error_with = [&](const std::string& text) {
    folder.write("ck/part-00007", text);
    const Finished run = run_job(folder, job);
    INFO(run.description);
    CHECK(run.status == 1);
    return run.err;
  };
  std::string damaged = bytes;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
  CHECK_THAT(error_with(damaged), Contains("ck/part-00007, byte 32: the checkpoint is damaged"));
  CHECK_THAT(error_with(bytes.substr(0, bytes.size() - 10)),
             Contains("ck/part-00007, byte " + std::to_string(bytes.size() - 10) + ": the checkpoint is cut short"));
  CHECK_THAT(error_with(read_text(folder.path() / "ck/part-00008")), Contains("is part 8 under a wrong name"));
  fs::remove(part);
  const Finished gone = run_job(folder, job);
  CHECK_THAT(gone.err, Contains("ck/part-00007: cannot open for reading: No such file") &&
                           Contains("all hosts have to see the checkpoint"));
  folder.write("ck/part-00007", bytes);
  CHECK(run_job(folder, job).status == 0);

  const Finished replaced = run_job(folder, R"(
local rows = mr.range(1, 100):checkpoint("other")
mr.range(1, 100):map(function(x) return -x end):checkpoint("other", { overwrite = true })
print("sum " .. rows:sum())
)");
  INFO(replaced.description);
  CHECK(replaced.status == 1);
  CHECK_THAT(replaced.err, Contains("other/part-00000, byte 0: the checkpoint belongs to another checkpoint") ||
                               Contains("byte 0: the checkpoint belongs to another checkpoint"));
}

TEST_CASE("rows are iterated over in order, one partition at a time, by every node") {
  const JobFolder folder;
  const std::string keep = GENERATE(as<std::string>(), "", ":cache()");
  folder.write("job.lua", kUse + "local rows = noted()" + keep + R"(
local seen = {}
for x in rows:to_local_iterator() do seen[#seen + 1] = x end
for i = 1, 3000 do assert(seen[i] == i) end
assert(#seen == 3000)
local sorted, last, n = rows:map(function(x) return x * 7919 % 3001, x end):sort_by_key(), -1, 0
for pair in sorted:to_local_iterator() do
  assert(pair[1] > last and pair[1] == pair[2] * 7919 % 3001)
  last, n = pair[1], n + 1
  if n == 1000 then break end -- all stop at the same row
end
for _ in mr.range(1, 0):to_local_iterator() do error("there is none") end
for value in mr.parallelize({ false, true }):to_local_iterator() do n = n + (value and 10000 or 100000) end
actor.log.info("rank %d has %d.", actor.rank, n + rows:count())
)");
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate", "hosts");
  const Finished run = run_at(place, folder, {"job.lua"});
  INFO(run.description);
  CHECK(run.status == 0);
  for (const char* rank : {"0", "1", "2"}) CHECK(count_of(run.err, std::string("rank ") + rank + " has 114000.") == 1);
  CHECK(made_in(folder).all.size() == (keep.empty() ? 90 : 30));
}

TEST_CASE("an iteration goes on when a worker is lost with rows") {
  const JobFolder folder;
  folder.write("job.lua", kLosing + R"(
local sum, n = 0, 0
for x in noted(wait_for_worker_2):to_local_iterator() do
  sum, n = sum + x, n + 1
  if n == 450 then lose_worker_2() end
end
print("sum " .. sum)
)");
  const Finished run = folder.run({"-n", "3", "--isolate", "job.lua"});
  INFO(run.description);
  CHECK(line_after(run.out, "sum ") == "4501500");
}

TEST_CASE("a task that ends each process that runs it ends the job after three") {
  const JobFolder folder;
  // Rank 0, whose process the others meet at, comes when three are gone.
  folder.write("job.lua", kLosing + R"(
local function deaths()
  local file = io.open("deaths")
  local text = file and file:read("*a") or ""
  if file then file:close() end
  return #text
end
if actor.id == 0 then repeat until deaths() == 3 end
mr.range(1, 8, 1, 8):foreach(function(x)
  if x ~= 5 then return end
  write("deaths", "x")
  ffi.C.kill(ffi.C.getpid(), 9)
end)
)");
  const Finished run = folder.run({"-n", "5", "--isolate", "job.lua"});
  INFO(run.description);
  CHECK(run.status == 3);
  CHECK_THAT(run.err, Contains("a process has ended 3 times while it ran stage ") && Contains("task 5 of 8"));
  CHECK(read_text(folder.path() / "deaths") == "xxx");
}

TEST_CASE("wrong arguments of what keeps rows are errors at the user's line") {
  const JobFolder folder;
  const auto [job, message] = GENERATE(table<std::string, std::string>({
      {"mr.range(1, 4):persist { disc = true }", "unknown option 'disc' to mapreduce.persist"},
      {"mr.range(1, 4):persist { disk = 1 }", "expected boolean"},
      {"mr.range(1, 4):cache():persist { disk = true }", "are kept in memory; unpersist() first"},
      {"mr.range(1, 4).unpersist()", "call unpersist with a colon"},
      {"mr.range(1, 4):checkpoint()", "bad argument 'url' to mapreduce.checkpoint: expected string, got nil"},
      {"mr.range(1, 4):checkpoint('s3://out')", "mapreduce.checkpoint: 's3://' is not supported"},
      {"mr.range(1, 4):checkpoint('ck', { again = true })", "unknown option 'again' to mapreduce.checkpoint"},
      {"mr.range(1, 4):checkpoint('made/ck')", "made/ck: cannot be written: "},
      {"mr.range(1, 4).to_local_iterator()", "call to_local_iterator with a colon"},
  }));
  folder.write("made", "no folder");
  const Finished run = run_job(folder, job);
  INFO(run.description);
  CHECK(run.status == 1);
  CHECK_THAT(run.err, Contains("job.lua:16: ") && Contains(message));
}
