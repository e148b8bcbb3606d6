// `actorhost repl` without a terminal: -e, -f, standard input, --json; attached to runs, and with its own cluster.

#include <nlohmann/json.hpp>

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

using nlohmann::json;

namespace {

/// Runs a console with this standard input.
Finished repl_with_input(const JobFolder& folder, const Words& words, const std::string& input) {
  ProcessOptions options = folder.options();
  options.input = input;
  return run_program(actorhost_binary(), with({"repl"}, words), 30, options);
}

/// Whether a console can be attached: the run exists and its rank 0 answers.
bool is_ready(const JobFolder& folder, const Words& words = {"--attach"}) {
  return wait_until([&] { return folder.run(with({"repl"}, with(words, {"-e", ":nodes"}))).status == 0; }, 20);
}

}  // namespace

TEST_CASE("a console's own cluster runs each chunk on all nodes together, and results persist") {
  const JobFolder folder;
  folder.write("chunk.lua",
               "#!/usr/bin/env actorhost\nlocal t = tensor.full({ 2 }, actor.rank + 1)\n"
               "return actor.collective.allreduce(t):totable(), require('beside').answer\n");
  const std::string lines =
      "x = actor.rank + 1\nfor i = 1, 2 do\n  x = x * 10\nend\nx\nprint('from ' .. actor.rank)\n"
      "mr.range(1, 100):sum()\n= _ + 1\n:set output lua\n{ 'a' }\nrequire('beside').answer\nio.write('a') "
      "io.write('b', 1)\n:steps\n";
  folder.write("beside.lua", "return { answer = 43 }");
  const auto together = run_together(2, [&](size_t i) {
    return i == 0 ? repl_with_input(folder, {"-n", "2", "--seed", "1"}, lines)
                  : folder.run({"repl", "-n", "2", "--isolate", "-f", "chunk.lua"});
  });
  const Ended typed(together[0]);
  CHECK(typed.out ==
        "rank 0: 100\nrank 1: 200\nfrom 0\n5050\n5051\nvalues are shown as lua\n{ \"a\" }\n43\nab1\n"
        "steps of 2 workers: 0 to 0, median 0\n0  ######## 2: rank 0, rank 1\n");
  CHECK(typed.err.empty());
  const Ended file(together[1]);
  CHECK(file.out == "{ 3, 3 }\n43\n");
}

TEST_CASE("a user without a home folder has a console") {
  const JobFolder folder;
  ProcessOptions options = folder.options();
  options.env["XDG_CONFIG_HOME"] = std::nullopt;
  options.env["HOME"] = GENERATE(as<std::optional<std::string>>(), std::nullopt, "/nonexistent");
  const Ended run(run_program(actorhost_binary(), {"repl", "-n", "2", "-e", "1 + 1"}, 30, options));
  CHECK(run.out == "2\n");
}

TEST_CASE("a console that cannot store a token ends at once") {
  const JobFolder folder;
  folder.write("file", "");
  ProcessOptions options = folder.options();
  options.env["XDG_CONFIG_HOME"] = (folder.path() / "file").string();
  const Ended run(run_program(actorhost_binary(), {"repl", "-n", "2", "-e", "1 + 1"}, 15, options), 3);
  CHECK_THAT(run.err, Contains("actorhost repl: ") && Contains("token file ") && Contains("Not a directory"));
}

TEST_CASE("errors are shown with their place, the next chunk runs, and the exit code is 1") {
  const JobFolder folder;
  const Ended run(
      repl_with_input(
          folder, {"-n", "2"},
          "error('broken')\nfunction f()\n  return nosuch\nend\nf()\nx = = 1\n:nods\n1 + 1\n"
          "if actor.rank == 1 then error('one') end\nactor.collective.allreduce(tensor.ones(1))\n"
          "y = 1; y + 4\n:get nokey\nsetmetatable({}, { __tostring = function() return 3 end })\nfor i = 1,\n"),
      1);
  CHECK_THAT(run.err, Contains("input 1:1: broken") && Contains("input 3:") && Contains("nosuch") &&
                          Contains("stack traceback") && Contains("input 4:1: ") && Contains("did you mean :nodes?") &&
                          Contains("rank 1:\ninput 6:1: one") && Contains("there is no key 'nokey'; :keys lists") &&
                          Contains("<eof>"));
  CHECK_THAT(run.out, Contains("2\n") && Contains("tensor([2.]") && Contains("\n5\n") &&
                          Contains("<its __tostring returned a number>"));
}

TEST_CASE("a chunk in a paused run reports that it waits, and can be cancelled") {
  const JobFolder folder;
  Process console(actorhost_binary(), {"repl", "-n", "2", "-e", ":pause", "-e", "8"}, folder.options());
  const bool explained =
      console.wait_for_output("the run is paused; the chunk runs on rank 0 at its next engine call", 20);
  INFO(console.describe());
  REQUIRE(explained);
  console.signal(SIGINT);
  CHECK(console.wait(20) == 1);
}

TEST_CASE("with --json each chunk and command prints an object on a line") {
  const JobFolder folder;
  const Ended run(repl_with_input(folder, {"-n", "2", "--json"},
                                  "1 + 1, 'a'\nx = = 1\nreturn print('said'), { actor.rank }\n:steps\n"
                                  ":get\nerror('broken')\n:set output lua\n:keys\n{ 1 }\n"
                                  "os.execute('echo from below')\n"),
                  1);
  const Words lines = lines_of(run.out);
  REQUIRE(lines.size() == 10);
  std::vector<json> replies;
  for (const std::string& line : lines) replies.push_back(json::parse(line));
  CHECK(replies[0]["ok"] == true);
  CHECK(replies[0]["results"][1]["values"] == json({2, "a"}));
  CHECK(replies[1]["ok"] == false);
  CHECK(replies[2]["results"][1]["output"] == "said\n");
  CHECK(replies[2]["results"][1]["values"].back() == json({1}));
  CHECK((replies[3]["command"] == ":steps" && replies[3]["data"].size() >= 2));
  CHECK(replies[4]["ok"] == false);
  CHECK_THAT(replies[5]["results"][0]["error"].get<std::string>(), Contains("broken"));
  CHECK(replies[6]["ok"] == false);
  CHECK(replies[7]["data"] == json::array());
  CHECK(replies[8]["results"][0]["values"] == json({json({1})}));
  CHECK_THAT(run.err, Contains("from below\n"));
}

TEST_CASE("consoles attached to a run read and change its globals, and the run continues", "[deep]") {
  const JobFolder folder;
  Process run = folder.start({"-n", "2", "jobs/repl.lua", "waiting", "done"});
  REQUIRE(is_ready(folder));
  const auto two = run_together(2, [&](size_t i) {
    return folder.run({"repl", "--attach", "-e", "words[" + std::to_string(i + 1) + "]", "-e",
                       "left_by_chunks = 'this'", "-e", ":on all actor.rank", "-e", ":on 1 actor.rank"});
  });
  CHECK(two[0].out == "first\nrank 0: 0\nrank 1: 1\n1\n");
  CHECK(two[1].out == "second\nrank 0: 0\nrank 1: 1\n1\n");
  const Ended refused(folder.run({"repl", "--attach", "-e", "actor.collective.allreduce(tensor.ones(1))"}), 1);
  CHECK_THAT(refused.err, Contains("actorhost repl"));
  for (const char* change : {"1 + 1", ":pause", ":kill 1", ":barrier set asp"}) {
    const Ended reader(folder.run({"repl", "--attach", "--read-only", "-e", ":nodes", "-e", change}), 1);
    CHECK_THAT(reader.out, Contains("rank 1"));
    CHECK_THAT(reader.err, Contains("read"));
  }
  const Ended viewed(folder.run({"repl", "--attach", "-e", ":barrier", "-e", ":keys", "-e", ":peers", "-e", ":jobs",
                                 "-e", ":stages", "-e", ":stats -i 0.05 -c 2", "-e", ":log", "-e", ":help param.run"}));
  CHECK_THAT(viewed.out, Contains("repl.lua") && Contains("steps/s") && Contains("param.run(run)"));
  folder.write("done", "");
  const Ended ended({run}, 20);
  CHECK_THAT(run.out(), Contains("left: this"));
}

TEST_CASE("a console replaces the merge rule of a run, and sees its decisions") {
  const JobFolder folder;
  folder.write("half.lua", "return { half = function() return 0.5 end, none = function() return 'drop' end }");
  Process run = folder.start({"-n", "2", "--barrier", "asp", "jobs/param_policy.lua", "until_file", "done"});
  REQUIRE(is_ready(folder));
  const Ended console(folder.run({"repl", "--attach", "-e", ":merge", "-e", ":merge set half.lua:half", "-e",
                                  ":merge set drop:4", "-e", ":merge undo", "-e", ":merge set mean", "-e", ":merge"}),
                      1);
  CHECK_THAT(console.out, Contains("all, merged ") && Contains("the merge rule is half.lua:half; it was all") &&
                              Contains("the merge rule is drop:4; it was half.lua:half") &&
                              Contains("the merge rule is half.lua:half again; it was drop:4") &&
                              Contains("half.lua:half, merged "));
  CHECK_THAT(console.err, Contains("it needs a barrier rule that is BSP (bsp, backup:0, quorum:1), not asp"));
  folder.write("done", "");
  const Ended ended({run}, 20);
}

TEST_CASE("a console goes back to a rule that is a function of the job, without a second run of the script") {
  const std::string engine = GENERATE("param", "peer");
  const JobFolder folder;
  folder.write("job.lua", R"lua(
local actor = require "actor"
if actor.rank == 0 then
  local file = assert(io.open("began", "a"))
  file:write("x")
  file:close()
end
actor[actor.args[1]].run {
  init = function() return { w = 0 } end,
  [actor.args[1] == "param" and "schedule_local" or "schedule"] = function() return {} end,
  push = function() actor.sleep(0.002) return {} end,
  barrier = function(view) return view.step <= view:min() + 2 end,
  stop = function(ctx)
    if ctx.step == 5 then io.open("ready", "w"):close() end
    local done = io.open "done"
    return done ~= nil and done:close()
  end,
}
)lua");
  folder.write("named.lua",
               "return { a = function() return true end, b = function(view) return view.step <= view:min() end }");
  Process run = folder.start({"-n", "3", "job.lua", engine});
  REQUIRE(is_ready(folder));
  const Ended console(folder.run({"repl", "--attach", "-e", ":barrier set named.lua:b", "-e", ":barrier undo", "-e",
                                  ":barrier set named.lua:c", "-e", ":barrier"}),
                      1);
  CHECK_THAT(console.out, Contains("the barrier is named.lua:b; it was job.lua:12") &&
                              Contains("the barrier is job.lua:12 again; it was named.lua:b"));
  CHECK_THAT(console.err, Contains("barrier 'named.lua:c': named.lua has no rule 'c'"));
  CHECK(read_text(folder.path() / "began") == "x");
  folder.write("done", "");
  const Ended ended({run}, 20);
}

TEST_CASE("a trace of a run shows the activity of each node, and its file is a Chrome trace") {
  const JobFolder folder;
  Process run = folder.start({"-n", "2", "--isolate", "jobs/chunks.lua", "param"});
  REQUIRE(is_ready(folder));
  // On a busy machine a node may take no step in a short trace, so each try is twice as long.
  json picture, events, saved;
  int64_t steps = 0;
  for (double seconds = 0.3; seconds < 20 && steps <= 2; seconds *= 2) {
    const std::string trace = ":trace " + std::to_string(seconds);
    const Ended shown(folder.run({"repl", "--attach", "--json", "-e", trace, "-e", trace + " spans.json"}));
    const Words lines = lines_of(shown.out);
    REQUIRE(lines.size() == 2);
    picture = json::parse(lines[0]);
    saved = json::parse(lines[1]);
    REQUIRE(picture["data"].size() == 3);
    events = json::parse(read_text(folder.path() / "spans.json"));
    if (!picture["data"][1]["seconds"].contains("step")) continue;
    steps = std::count_if(events.begin(), events.end(), [](const json& event) {
      return event["name"] == "step" && event["ph"] == "X" && event["ts"].is_number() && event["dur"].is_number();
    });
  }
  CHECK(steps > 2);
  CHECK(picture["data"][0]["node"] == "rank 0");
  CHECK(picture["data"][1]["seconds"]["step"].get<double>() > 0);
  CHECK_THAT(picture["text"].get<std::string>(), Contains("rank 1    |") && Contains("server 0  |"));
  CHECK(saved["data"]["spans"] >= steps);
  const Ended wrong(
      folder.run({"repl", "--attach", "-e", ":trace 0", "-e", ":trace 1 nowhere/x.json", "-e", ":trace x"}), 1);
  CHECK_THAT(wrong.err, Contains(":trace wants seconds") && Contains("nowhere/x.json cannot be written: No such file"));
  CHECK(folder.run({"repl", "--attach", "-e", ":on server 0 going = false"}).status.has_value());
  CHECK(run.wait(20) == 0);
}

TEST_CASE("a chunk on a computing node reports that it waits, and runs at the node's next engine call") {
  const JobFolder folder;
  Process run = folder.start({"-n", "1", "jobs/repl.lua", "computing", "go", "done"});
  REQUIRE(is_ready(folder));
  Process console(actorhost_binary(), {"repl", "--attach", "-e", "words"}, folder.options());
  INFO(console.describe());
  CHECK(console.wait_for_output("rank 0 has been computing for ", 20));
  CHECK(console.wait_for_output("the chunk runs at its next engine call, Ctrl-C gives up", 5));
  folder.write("go", "");
  CHECK(console.wait(20) == 0);
  CHECK(console.out() == "{ \"first\", \"second\" }\n");
  folder.write("done", "");
  CHECK(run.wait(20) == 0);
}

TEST_CASE("an attached console reports the end of its run, and exits with its code", "[deep]") {
  const JobFolder folder;
  for (const std::string job : {"waiting", "failing"}) {
    Process run = folder.start({"-n", "1", "jobs/repl.lua", job, job + ".done"});
    REQUIRE(is_ready(folder));
    Process console(actorhost_binary(), {"repl", "--attach", "-e", "while true do os.time() end"}, folder.options());
    REQUIRE(wait_until([&] { return folder.run({"status"}).out.find("in chunk") != std::string::npos; }, 20));
    folder.write(job + ".done", "");
    console.signal(SIGINT);  // ends the chunk; the run continues to its end
    const Ended ended({console}, 20, 1);
    CHECK_THAT(console.err(), Contains("interrupted"));
    CHECK(run.wait(20) == (job == "waiting" ? 0 : 1));
  }
  Process run = folder.start({"-n", "1", "jobs/repl.lua", "failing", "ends"});
  REQUIRE(is_ready(folder));
  Process console(actorhost_binary(), {"repl", "--attach", "-e", ":stats -i 0.1 -c 1000"}, folder.options());
  REQUIRE(console.wait_for_output("steps/s", 20));
  folder.write("ends", "");
  const Ended ended({console}, 20, 1);
  CHECK_THAT(console.err(), Contains("the run has ended: ") && Contains("it ends badly"));
}

TEST_CASE("a console that cannot attach or start reports the reason") {
  const auto [words, code, text] = GENERATE(table<Words, int, std::string>({
      {{"--attach"}, 3, "start one with `actorhost job.lua`"},
      {{"--attach", "127.0.0.1:1"}, 3, "cannot attach to 127.0.0.1:1"},
      {{"--attach", "ipc:///nowhere"}, 3, "cannot attach to ipc:///nowhere"},
      {{"job.lua"}, 2, "a job is run by actorhost job.lua"},
      {{"--attatch"}, 2, "did you mean --attach?"},
      {{"-n", "x"}, 2, "-n"},
      {{"--print", "some"}, 2, "--print wants first or all"},
      {{"-n", "1", "-f", "nowhere.lua"}, 1, "nowhere.lua: No such file"},
  }));
  const Ended run(JobFolder().run(with({"repl"}, words)), code);
  CHECK_THAT(run.err, Contains(text));
}

TEST_CASE("a console attaches to a run by its job, its id or its process") {
  const JobFolder folder;
  folder.write("other.lua", job_text("repl.lua"));
  folder.write("meeting.lua", job_text("meeting.lua"));
  Process one = folder.start({"-n", "1", "--rdzv-id", "night", "jobs/repl.lua", "waiting", "done"});
  Process two = folder.start({"-n", "1", "other.lua", "waiting", "done"});
  const auto pid_at = [&](const std::string& word) {
    return folder.run({"repl", "--attach", word, "-e", "return io.open('/proc/self/stat'):read('*n')"});
  };
  for (const auto& [word, run] : {std::pair{std::string("other"), &two},
                                  {"other.lua", &two},
                                  {"repl", &one},
                                  {"night", &one},
                                  {std::to_string(one.pid()), &one},
                                  {std::to_string(two.pid()), &two}}) {
    Finished got;
    CHECK(wait_until([&, word = word] { return (got = pid_at(word)).status == 0; }, 20));
    INFO(word << "\n" << got.description);
    CHECK_THAT(got.out, Contains(std::to_string(run->pid())));
  }
  Process three = folder.start({"-n", "1", "other.lua", "waiting", "done"});
  Finished several;
  CHECK(wait_until([&] { return (several = pid_at("other")).status == 3; }, 20));
  CHECK_THAT(several.err,
             Contains("several runs named other are in progress") && Contains(std::to_string(three.pid())));
  CHECK_THAT(Ended(pid_at("none.lua"), 3).err,
             Contains("no run of yours on this machine has the job none.lua; these are in"));
  CHECK_THAT(Ended(pid_at("1"), 3).err, Contains("is process 1; these are in progress:\n  "));
  CHECK_THAT(Ended(pid_at("not-a-host-here.invalid"), 3).err,
             Contains("no run of yours on this machine has this name"));
  folder.write("done", "");
  const Ended all({one, two, three}, 20);
}

TEST_CASE("chunks of an attached console see and change the script's local variables; :load runs a file") {
  const JobFolder folder;
  folder.write("job.lua",
               "local actor, meeting = require 'actor', require 'meeting'\nlocal count = 5\n"
               "repeat actor.sleep(0.01) until meeting.is_there 'done'\nprint('count is ' .. count)");
  folder.write("meeting.lua", job_text("meeting.lua"));
  folder.write("chunk.lua", "#!/usr/bin/env actorhost\nlocal step = 10\ncount = count + step\nreturn count");
  Process run = folder.start({"-n", "1", "job.lua"});
  REQUIRE(is_ready(folder));
  const Ended console(
      folder.run({"repl", "--attach", "-e", "count * 2", "-e", ":load chunk.lua", "-e", ":load none.lua"}), 1);
  CHECK(console.out == "10\n15\n");
  CHECK_THAT(console.err, Contains("none.lua"));
  folder.write("done", "");
  const Ended ended({run}, 20);
  CHECK(ended.out == "count is 15\n");
}

TEST_CASE("a wrong token is refused, and several runs are listed") {
  const JobFolder folder;
  Process run = folder.start({"-n", "1", "jobs/repl.lua", "waiting", "done"});
  REQUIRE(is_ready(folder));
  folder.write("token", "this is another token than theirs");
  std::filesystem::permissions(folder.path() / "token", std::filesystem::perms::owner_read);
  const Ended refused(folder.run({"repl", "--attach", "--token-file", "token", "-e", "1"}), 3);
  CHECK_THAT(refused.err, Contains("--token-file"));
  Process second = folder.start({"-n", "1", "jobs/repl.lua", "waiting", "done"});
  Finished several;
  CHECK(wait_until([&] { return (several = folder.run({"repl", "--attach", "-e", ":nodes"})).status == 3; }, 20));
  CHECK_THAT(several.err, Contains("several runs") && Contains("--attach ipc://"));
  folder.write("done", "");
  const Ended both({run, second}, 20);
}

namespace {

// A pattern that backtracks forever, in a C function, after a line that reports the start.
const std::string kBacktracks = "print('begun') return ('a'):rep(1000):find(('.-'):rep(50) .. 'b')";

}  // namespace

TEST_CASE("Ctrl-C ends a console whose chunk is in a call that does not return, and reports where it still runs",
          "[deep]") {
  const JobFolder folder;
  const Words flags = GENERATE(Words{"repl", "-n", "2", "--isolate"}, Words{"repl", "-n", "1"});
  Process console = folder.start(with(flags, {"-e", kBacktracks, "-e", "print('next')"}), "begun");
  console.signal(SIGINT);
  const double interrupted = now();
  const Ended ended({console}, 20, 130);
  CHECK(now() - interrupted < 6 * patience());
  CHECK_THAT(console.err(), Contains("rank 0") && Contains("still run") && Contains("not return"));
  CHECK(console.out().find("next") == std::string::npos);
}

TEST_CASE("Ctrl-C detaches a console from a chunk in a call that does not return, and the run ends in time", "[deep]") {
  const JobFolder folder;
  Process run = folder.start({"-n", "2", "jobs/repl.lua", "waiting", "done"});
  REQUIRE(is_ready(folder));
  Process console = folder.start({"repl", "--attach", "-e", kBacktracks}, "begun");
  console.signal(SIGINT);
  const Ended ended({console}, 20, 130);
  CHECK_THAT(console.err(), Contains("rank 0 still runs the chunk, in a call that does not return"));
  const Ended other(folder.run({"repl", "--attach", "--on", "1", "-e", "40 + 2"}));
  CHECK(other.out == "42\n");
  run.signal(SIGINT);
  const double begun = now();
  CHECK(run.wait(20) == 130);
  CHECK(now() - begun < 2.5 * patience());
}

TEST_CASE("a client with only the reading token observes a run, and the run refuses its changes") {
  const JobFolder folder;
  Process run = folder.start({"-n", "2", "--rdzv-endpoint", FreePort().endpoint(), "jobs/repl.lua", "waiting", "done"});
  REQUIRE(is_ready(folder));
  const std::filesystem::path token = folder.path() / "config" / "actorhost" / "token";
  const std::filesystem::path reading = token.string() + ".read";
  CHECK(std::filesystem::status(reading).permissions() ==
        (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
  CHECK(read_text(reading).starts_with("read-"));
  std::filesystem::rename(token, folder.path() / "kept");
  // `status`, `top` and a read-only console take the reading token if the token itself is missing.
  for (const Words& command :
       {Words{"status"}, Words{"top", "--count", "1"}, Words{"repl", "--attach", "--read-only", "-e", ":nodes"}}) {
    const Ended viewed(folder.run(command));
    CHECK_THAT(viewed.out, Contains("rank 1") || Contains("2 workers"));
  }
  // The run itself refuses changes from a console without --read-only.
  for (const char* change :
       {"1 + 1", ":pause", ":go", ":kill 1", ":barrier set asp", ":merge set all", ":checkpoint"}) {
    CAPTURE(change);
    const Ended reader(folder.run({"repl", "--attach", "--token-file", reading.string(), "-e", ":nodes", "-e", change}),
                       1);
    CHECK_THAT(reader.out, Contains("rank 1"));
    CHECK_THAT(reader.err, Contains("only reads") && Contains("reading token"));
  }
  const Ended host(folder.run({"--token-file", reading.string(), "-n", "1", "--rdzv-endpoint", FreePort().endpoint(),
                               "jobs/repl.lua", "waiting", "done"}),
                   2);
  CHECK_THAT(host.err, Contains("it holds a reading token, which only permits observing a run"));
  std::filesystem::rename(folder.path() / "kept", token);
  folder.write("done", "");
  const Ended ended({run}, 20);
}
