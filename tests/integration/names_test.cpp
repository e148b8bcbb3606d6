// Unknown names that only a node can detect: fields, methods, contexts, flags, commands.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

TEST_CASE("an unknown field, method or context field is an error that names the nearest at the script's line") {
  const JobFolder folder;
  const auto [code, message] = GENERATE(table<std::string, std::string>({
      {"actor.collective.barier()", "there is no collective.barier; did you mean collective.barrier?"},
      {"actor.collective.group('g', { 0 }):allreduc(1)", "there is no group:allreduc; did you mean group:allreduce?"},
      {"actor.mapreduce.range(1, 3):mapp(print)", "there is no dataset:mapp; did you mean dataset:map?"},
      {"actor.checkpoint.new():svae({})", "there is no checkpoint:svae; did you mean checkpoint:save?"},
      {"actor.param.rnu {}", "there is no param.rnu; did you mean param.run?"},
      {"actor.param.run { pusch = 1 }", "unknown option 'pusch' to param.run"},
      {"actor.collective.table():st(1, 2)", "there is no table:st; did you mean table:set?"},
      {"actor.average.strat()", "there is no average.strat; did you mean average.start?"},
      {"actor.mapreduce.accumulator(0):valu()", "there is no accumulator:valu; did you mean accumulator:value?"},
  }));
  folder.write("job.lua", "local actor = require 'actor'\n" + code + "\n");
  const Ended run(folder.run({"-n", "1", "job.lua"}), 1);
  CHECK_THAT(run.err, Contains("rank 0: job.lua:2: " + message));
}

TEST_CASE("a field missing in a callback's context is an error that names the nearest") {
  const auto [local, stop, message] = GENERATE(table<std::string, std::string, std::string>({
      {"id", "update", "server 0: names.lua:7: there is no ctx.update; did you mean ctx.updates?"},
      {"di", "updates", "rank 0: names.lua:5: there is no ctx.di; did you mean ctx.id?"},
  }));
  const Ended run(JobFolder().run({"-n", "1", "jobs/names.lua", local, stop}), 1);
  CHECK_THAT(run.err, Contains(message));
}

TEST_CASE("an unknown flag or command is an error that names the nearest") {
  const JobFolder folder;
  folder.write("job.lua", "print 'ran'");
  const auto [words, message] = GENERATE(table<Words, std::string>({
      {{"--barier", "bsp", "job.lua"}, "unknown flag '--barier'; did you mean --barrier?"},
      {{"--nproc-per-nod=2", "job.lua"}, "unknown flag '--nproc-per-nod=2'; did you mean --nproc-per-node?"},
      {{"agent", "--join", "127.0.0.1:1", "--onec"}, "unknown flag '--onec'; did you mean --once?"},
      {{"agent", "job.lua", "--join", "127.0.0.1:1"}, "an agent takes no job, got 'job.lua'"},
      {{"simm"}, "'simm' is neither a Lua file here nor a command; did you mean sim?"},
      {{"agnet"}, "'agnet' is neither a Lua file here nor a command; did you mean agent?"},
      {{"xyzzy"},
       "'xyzzy' is neither a Lua file here nor a command (run, agent, advise, dashboard, doctor, fetch, help, launch, "
       "rehearse, repl, reproduce, "
       "sim, "
       "status, "
       "top)"},
      {{"sim", "--nods", "3"}, "unknown flag '--nods'; did you mean --nodes?"},
  }));
  const Ended run(folder.run(words), 2);
  CHECK_THAT(run.err, Contains(": " + message));
}

TEST_CASE("a job's --help prints its flags and exits with 0") {
  const JobFolder folder;
  folder.write(
      "job.lua",
      "local opt = require('actor').options { 'PATH', epochs = { 5, least = 1, whole = true, about = 'passes over the "
      "data' },\n  data = { '', about = 'a folder' }, fast = false }\nprint('ran', opt.epochs)");
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate", "hosts");
  const std::string flag = place == "threads" ? "-h" : "--help";
  const Ended run(run_at(place, folder, {"job.lua", flag}));
  CHECK(run.out ==
        "arguments of this job, [PATH] and flags; defaults are in parentheses:\n"
        "  --data TEXT                   a folder\n"
        "  --epochs N                    passes over the data; at least 1; a whole number (5)\n"
        "  --fast\n"
        "  -h,--help                     this page\n");
  CHECK(count_of(run.err, "error") == 0);
}

TEST_CASE("an error caused by a server's missing rank explains this") {
  const JobFolder folder;
  const auto [code, message] = GENERATE(table<std::string, std::string>({
      {"if actor.rank < 1 then print 'first' end", "attempt to compare nil with number"},
      {"local name = 'out' .. actor.id", "attempt to concatenate field 'id' (a nil value)"},
      {"local t = {} t[actor.rank] = 1", "table index is nil"},
  }));
  folder.write("job.lua",
               "local actor = require 'actor'\n" + code +
                   "\nactor.param.run { schedule_local = function() return {} end, push = function() return {} "
                   "end, stop = function() return true end }\n");
  const Ended run(folder.run({"-n", "1", "job.lua"}), 1);
  CHECK_THAT(run.err, Contains("server 0: job.lua:2: " + message +
                               " (this is a server, which runs the script too: "
                               "actor.rank and actor.id are nil here"));
}

TEST_CASE("an error on a server without relation to its rank is not annotated") {
  const JobFolder folder;
  folder.write(
      "job.lua",
      "local actor = require 'actor'\nlocal nothing\nif actor.role == 'server' then nothing() end\nactor.param.run "
      "{ schedule_local = function() return {} end, push = function() return {} end, stop = function() return true "
      "end }\n");
  const Ended run(folder.run({"-n", "1", "job.lua"}), 1);
  CHECK_THAT(run.err, Contains("server 0: job.lua:3: attempt to call") && !Contains("this is a server"));
}
