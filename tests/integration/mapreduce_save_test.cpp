// Dataset:save: what is in the folder, that it is there completely or not at all, and once.

#include <csignal>
#include <optional>
#include <set>

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;

namespace {

namespace fs = std::filesystem;

/// The names in a folder, hidden ones too.
std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

const std::string kUse = "local mr = require 'actor.mapreduce'\n";

Finished run_job(const JobFolder& folder, const std::string& job, const Words& words = {"-n", "2"}) {
  folder.write("job.lua", kUse + job);
  return folder.run(with(words, {"job.lua"}));
}

}  // namespace

TEST_CASE("what is saved can be loaded, however it is compressed and wherever it runs") {
  const JobFolder folder;
  folder.write("job.lua", kUse + R"(
for _, name in ipairs { "plain", "a.gz", "b.zst", "c.xz", "d.bz2" } do
  local done = mr.range(1, 5000):map(function(x) return "line " .. x end):save("out/" .. name)
  local back = mr.load("out/" .. name)
  local sum = back:map(function(line) return tonumber(line:match("^line (%d+)$")) end):sum()
  print(("%s: %d files, %d rows, sum %d"):format(name, done.files, done.rows, sum))
end
)");
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate", "hosts");
  const Finished run = run_at(place, folder, {"job.lua"});
  INFO(run.description);
  CHECK(run.status == 0);
  for (const char* name : {"plain", "a.gz", "b.zst", "c.xz", "d.bz2"}) {
    CHECK(line_after(run.out, std::string(name) + ": ") == "16 files, 5000 rows, sum 12502500");
  }
  CHECK(names_in(folder.path() / "out") == std::set<std::string>{"plain", "a.gz", "b.zst", "c.xz", "d.bz2"});
  CHECK(names_in(folder.path() / "out/b.zst").count("part-00015.zst") == 1);
  CHECK(names_in(folder.path() / "out/b.zst").size() == 17);
}

TEST_CASE("what is saved as CSV and JSON lines is read back as the same rows, however many nodes there are") {
  const JobFolder folder;
  folder.write("job.lua", kUse + R"(
local util = require "actor.util"
local function text(value)
  if type(value) ~= "table" then return type(value) == "string" and ("%q"):format(value) or tostring(value) end
  local out = {}
  for k, v in util.pairs(value) do out[#out + 1] = tostring(k) .. "=" .. text(v) end
  return "{" .. table.concat(out, ",") .. "}"
end
local function compare(rows, options, load, name)
  rows:save(name, options)
  local got, wanted = text(mr.load(name, load):collect()), text(rows:collect())
  assert(got == wanted, ("%s: %s\nnot %s"):format(name, got:sub(1, 2000), wanted:sub(1, 2000)))
end
local csv, json = { format = "csv" }, { format = "jsonl" }
local texts = { "", "1", "x,y", 'say "x"', "true", "nan", "-inf", " 7", "007", "two\nlines", "a;b", "\xc3\xa9", "\r", "12345678901234567890" }
local values = {}
for i, s in ipairs(texts) do values[i] = { i, s, i % 2 == 0, -0.1 * i } end
values[#values + 1] = { 1e300, "x", true, -0 }
compare(mr.parallelize(values, 3), csv, csv, "table")
local people = mr.parallelize({ { name = "A;B", age = 7 }, { name = "7" }, { age = -0.5, name = "", ["x;y"] = { 1 } } }, 2)
compare(people:map(function(row) return { name = row.name, age = row.age } end), { format = "csv", separator = ";", header = { "name", "age" } },
  { format = "csv", separator = ";", header = true, types = { age = "number" } }, "named")
local ok, message = pcall(function() people:save("unnamed", { format = "csv", header = { "name", "age" } }) end)
assert(not ok and message:find("a row has the field 'x;y', which is no name of `header`", 1, true), message)
compare(mr.range(1, 1000):map(function(x) return "k" .. x % 7, x end):reduce_by_key(mr.sum), csv, csv, "pairs.gz")
compare(mr.parallelize({ { 1, 0 / 0 }, { -1 / 0, 1 / 0 } }), csv, csv, "nan")
local records = mr.range(1, 1000):map(function(x) return { id = x, name = "n" .. x, tags = { "a", x / 3 }, [x % 2 == 0 and "even" or "odd"] = true } end)
compare(records, json, json, "records.zst")
compare(mr.parallelize({ 1, "x", true, {}, { 1, { 2 } }, 2 ^ 60, -0, 2 ^ 53 + 1, { n = 9007199254740993LL }, "\0\xf0\x9f\x98\x80" }), json, json, "values")
compare(mr.parallelize({}), json, json, "empty")
print("all the same")
)");
  const Words words = GENERATE(Words{"-n", "1"}, Words{"-n", "2"}, Words{"-n", "3", "--isolate"});
  const Finished run = folder.run(with(words, {"--log-level", "error", "job.lua"}));
  INFO(run.description);
  CHECK(run.out == "all the same\n");
}

TEST_CASE("text, CSV and JSON lines are written as their readers expect") {
  const JobFolder folder;
  const Finished run = run_job(folder, R"(
local rows = mr.parallelize({ 1, 0.1, -1e300, "a,b", 'say "x"', "two\nlines", "", { 1, "x;y", { b = 1, a = { 1, 2 } } }, true,
  "\xff\xc3\xa9\0" }, 1)
rows:save("text")
rows:save("csv", { format = "csv" })
rows:map(function(x) return x == "\xff\xc3\xa9\0" and "\xc3\xa9\0" or x end):save("json", { format = "jsonl" })
local pairs_of = mr.parallelize({ "k" }, 1):map(function(k) return k, { 1, 2 } end)
pairs_of:save("pairs_text", { separator = "=" })
pairs_of:save("pairs_csv", { format = "csv", separator = ";", header = { "key", "a;b" } })
pairs_of:save("pairs_json", { format = "jsonl" })
local names = { "a;b", 'say "x"', "plain" }
mr.parallelize({ { 1, 2.5, -0 } }, 1):save("numbers", { format = "csv", separator = ";", header = names })
local read, found = require "actor".data.csv("numbers/part-00000.csv", { delimiter = ";", header = true })
for i, name in ipairs(names) do assert(found[i] == name, found[i]) end
assert(1 / read:get(1, 3) == -1 / 0)
)");
  INFO(run.description);
  REQUIRE(run.status == 0);
  const auto part = [&](const char* name) { return read_text(folder.path() / name); };
  const std::string raw("\xff\xc3\xa9\0", 4);
  CHECK(part("text/part-00000") ==
        "1\n0.1\n-1e+300\na,b\nsay \"x\"\ntwo\nlines\n\n[1,\"x;y\",{\"a\":[1,2],\"b\":1}]\ntrue\n" + raw + "\n");
  CHECK(part("csv/part-00000.csv") ==
        "1\n0.1\n-1e+300\n\"a,b\"\n\"say "
        "\"\"x\"\"\"\n\"two\nlines\"\n\"\"\n1,x;y,\"{\"\"a\"\":[1,2],\"\"b\"\":1}\"\ntrue\n" +
            raw + "\n");
  CHECK(part("json/part-00000.jsonl") ==
        "1\n0.1\n-1e+300\n\"a,b\"\n\"say \\\"x\\\"\"\n\"two\\nlines\"\n\"\"\n[1,\"x;y\",{\"a\":[1,2],\"b\":1}]\ntrue\n"
        "\"\xc3\xa9\\u0000\"\n");
  CHECK(part("pairs_text/part-00000") == "k=[1,2]\n");
  CHECK(part("pairs_csv/part-00000.csv") == "key;\"a;b\"\nk;[1,2]\n");
  CHECK(part("pairs_json/part-00000.jsonl") == "[\"k\",[1,2]]\n");
}

TEST_CASE("a folder that exists is replaced only when that is asked for, and only one that a save has made") {
  const JobFolder folder;
  const std::string save = "print(mr.range(1, 4, 1, 2):save('out', { overwrite = ... == 'again' }).rows)";
  REQUIRE(run_job(folder, save).status == 0);
  const std::string mark = read_text(folder.path() / "out/_SUCCESS");

  const Finished refused = run_job(folder, "mr.range(1, 1e6):foreach(function() end)\n" + save);
  INFO(refused.description);
  CHECK(refused.status == 1);
  CHECK_THAT(refused.err,
             Catch::Contains("job.lua:3: mapreduce.save: ") && Catch::Contains("out: exists; overwrite = true"));
  CHECK(read_text(folder.path() / "out/_SUCCESS") == mark);

  folder.write("job.lua", kUse + "mr.range(5, 9, 1, 1):save('out', { overwrite = true })");
  CHECK(folder.run({"-n", "2", "job.lua"}).status == 0);
  CHECK(read_text(folder.path() / "out/part-00000") == "5\n6\n7\n8\n9\n");
  CHECK(names_in(folder.path() / "out") == std::set<std::string>{"_SUCCESS", "part-00000"});

  folder.write("out/thesis.tex", "years of work");
  const Finished kept = folder.run({"-n", "2", "job.lua"});
  CHECK(kept.status == 1);
  CHECK_THAT(kept.err, Catch::Contains("is not replaced, since it holds 'thesis.tex'"));
  CHECK(names_in(folder.path() / "out").count("thesis.tex") == 1);
}

TEST_CASE("a save that cannot be written says so and leaves nothing") {
  const JobFolder folder;
  folder.write("file", "no folder");
  const Finished below = run_job(folder, "mr.range(1, 4):save('file/out')");
  INFO(below.description);
  CHECK(below.status == 1);
  CHECK_THAT(below.err,
             Catch::Contains("job.lua:2: mapreduce.save: ") && Catch::Contains("file/out: cannot be written: "));

  // No file of more than a KiB may be written: the disk is full, as it were.
  folder.write("full.lua", kUse + "mr.range(1, 100000):map(function(x) return ('x'):rep(50) end):save('out')");
  const std::string command = "trap '' XFSZ; ulimit -f 1; exec " + shell_word(actorhost_binary()) + " -n 2 full.lua";
  const Finished full = run_program("sh", {"-c", command}, 30, folder.options());
  INFO(full.description);
  CHECK(full.status == 1);
  CHECK_THAT(full.err, Catch::Contains("save (full.lua:2) failed: ") && Catch::Contains("File too large"));
  CHECK(names_in(folder.path()).count("out") == 0);
  for (const std::string& name : names_in(folder.path())) CHECK(name.find("saving") == std::string::npos);

  const Finished failed =
      run_job(folder, "mr.range(1, 9):map(function(x) return x + (x == 5 and {} or 1) end):save('out')");
  INFO(failed.description);
  CHECK(failed.status == 1);
  CHECK(names_in(folder.path()).count("out") == 0);
  for (const std::string& name : names_in(folder.path())) CHECK(name.find("saving") == std::string::npos);
}

TEST_CASE("a part whose worker was lost is written once") {
  const JobFolder folder;
  const Finished run = run_job(folder, std::string(kMeeting) + R"(
local actor = require "actor"
ffi.cdef "int getpid(void); int kill(int, int);"
local rows = 0
local done = mr.range(1, 4000, 1, 40):map(function(x)
  rows = rows + 1
  if actor.rank == 1 and rows == 250 then
    tell("rank 1 is in its third part")
    ffi.C.kill(ffi.C.getpid(), 9)
  end
  if actor.rank ~= 1 and rows == 1 then await("rank 1 is in its third part") end
  return x
end):save("out")
print(("saved %d %d"):format(done.files, done.rows))
print("sum " .. mr.load("out"):map(tonumber):sum())
)",
                               {"-n", "3", "--isolate"});
  INFO(run.description);
  CHECK(line_after(run.out, "saved ") == "40 4000");
  CHECK(line_after(run.out, "sum ") == "8002000");
  CHECK(names_in(folder.path() / "out").size() == 41);
  for (const std::string& name : names_in(folder.path())) CHECK(name.find("saving") == std::string::npos);
}

// Worker 1 begins the save and is gone, with what it said of it, when worker 0 goes by that already and worker 2 is
// about to read it.
TEST_CASE("a save whose beginning is lost before everybody has read it is still one") {
  const JobFolder folder;
  const Finished run = run_job(folder, std::string(kMeeting) + R"(
local actor = require "actor"
local node, c = require "actor.c.node", require "actor.c.mapreduce"
local begin, begin_save, next_task = c.begin, c.begin_save, c.next_task
ffi.cdef "int getpid(void); int kill(int, int);"

if actor.id == 1 then
  function c.begin_save(...)
    tell("worker 1 begins the save")
    await("worker 2 is there")
    return begin_save(...)
  end
else
  await("worker 1 begins the save")
end
if actor.id == 2 then
  local first = true
  function c.begin(...)
    begin(...)
    tell("worker 2 is there")
  end
  function c.next_task()
    local stage, task, attempt = next_task()
    if first and not stage then
      first = false
      await("worker 1 goes")
      repeat node.refresh() until actor.size == 2
    end
    return stage, task, attempt
  end
end

local done = mr.range(1, 400, 1, 40):map(function(x)
  if actor.id == 1 then
    await("worker 0 writes")
    tell("worker 1 goes")
    ffi.C.kill(ffi.C.getpid(), 9)
  end
  if actor.id == 0 then tell("worker 0 writes") end
  return x
end):save("out")
print(("saved %d %d"):format(done.files, done.rows))
)",
                               {"-n", "3", "--isolate"});
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK_THAT(run.err, Catch::Contains("some of the result is gone before everybody had it"));
  CHECK(line_after(run.out, "saved ") == "40 400");
  CHECK(names_in(folder.path() / "out").size() == 41);
  for (const std::string& name : names_in(folder.path())) CHECK(name.find("saving") == std::string::npos);
}

// Worker 2 has written a part when its host is stopped until it is given up; it goes on, and its save fails.
TEST_CASE("a host that was given up leaves what the others write") {
  const JobFolder folder;
  folder.write("job.lua", kUse + kMeeting + R"(
local actor, c = require "actor", require "actor.c.mapreduce"
local next_task = c.next_task
function c.next_task()
  if actor.id == 2 and io.open("2 writes") then tell("worker 2 waits in " .. io.open("/proc/self/stat"):read("*n")) end
  return next_task()
end
mr.range(1, 3, 1, 3):map(function(x)
  tell(actor.id .. " writes")
  for _, name in ipairs(actor.id == 2 and { "0 writes", "1 writes" } or { "worker 2 has ended" }) do await(name) end
  return x
end):save("out"))");
  Hosts hosts(folder, 3, {"-n", "1", "job.lua"});
  std::optional<size_t> waits;
  const double end = now() + 20 * patience();
  while (!waits && now() < end) {
    for (size_t host = 0; host < hosts.size(); ++host) {
      if (fs::exists(folder.path() / ("worker 2 waits in " + std::to_string(hosts[host].pid())))) waits = host;
    }
  }
  REQUIRE(waits.has_value());
  Process& stopped = hosts[*waits];
  stopped.signal(SIGSTOP);
  REQUIRE(hosts[0].wait_for_output("no sign of life for", 20));
  stopped.signal(SIGCONT);
  CHECK(stopped.wait(20) == 3);
  folder.write("worker 2 has ended", "");
  for (size_t host = 0; host < hosts.size(); ++host) CHECK(hosts[host].wait(20) == (host == *waits ? 3 : 0));
  INFO(hosts.describe());
  CHECK(names_in(folder.path() / "out").size() == 4);
  for (const std::string& name : names_in(folder.path())) CHECK(name.find("saving") == std::string::npos);
}

TEST_CASE("wrong arguments of save are errors at the user's line") {
  const JobFolder folder;
  const auto [job, message] = GENERATE(table<std::string, std::string>({
      {"mr.range(1, 4):save('out', { format = 'xml' })", "expected one of 'text', 'csv', 'jsonl', got 'xml'"},
      {"mr.range(1, 4):save('out', { overwite = true })", "unknown option 'overwite' to mapreduce.save"},
      {"mr.range(1, 4):save('s3://out')", "mapreduce.save: 's3://' is not supported"},
      {"mr.range(1, 4):save('')", "names no path"},
      {"mr.range(1, 4):save('out', { header = { 'a' } })", "only CSV has a header"},
      {"mr.range(1, 4):save('out', { format = 'csv', separator = ', ' })", "expected one character"},
  }));
  const Finished run = run_job(folder, job);
  INFO(run.description);
  CHECK(run.status == 1);
  CHECK_THAT(run.err, Catch::Contains("job.lua:2: ") && Catch::Contains(message));
}
