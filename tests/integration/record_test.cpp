// --record: the content of a run's trace, in threads, processes and hosts, and for any end of the run. actor.trace
// reads the traces, and refuses impossible traces (non-consecutive steps, decreasing times).

#include <regex>

#include <nlohmann/json.hpp>

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

struct Folder : JobFolder {
  std::string trace() const { return read_text(path() / "trace.csv"); }
  std::string show() const {
    const Finished shown = run({"-n", "1", "jobs/record.lua", "show", "trace.csv"});
    INFO(shown.description << trace());
    REQUIRE(shown.status == 0);
    return shown.out;
  }
  /// Waits until the trace contains `text`.
  void await(const std::string& text) const {
    const auto has = [&] {
      return std::filesystem::exists(path() / "trace.csv") && trace().find(text) != std::string::npos;
    };
    if (wait_until(has, 20)) return;
    FAIL("the trace does not contain '" + text + "':\n" + trace());
  }
};

/// All numbers that `pattern`'s first group matches.
std::vector<double> numbers(const std::string& text, const std::string& pattern) {
  std::vector<double> found;
  const std::regex regex(pattern);
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at) {
    found.push_back(std::stod((*at)[1]));
  }
  return found;
}

}  // namespace

TEST_CASE("a run is recorded with its barrier, its stragglers and all its steps, in threads, processes and hosts",
          "[deep]") {
  const Folder folder;
  const std::string place = GENERATE(from_range(places()));
  const Ended run(run_at(place, folder,
                         {"--record", "trace.csv", "--seed", "3", "--inject", "straggler=0.34:4x,delay=const(0.05)",
                          "jobs/record.lua", "job"}));
  const std::string shown = folder.show();
  INFO(shown);
  CHECK_THAT(shown, Contains("file: job record.lua, seed 3, servers 1, resample '', note nil\n"));
  CHECK_THAT(shown, Contains("run 1: barrier bsp, 3 workers, 15 completed"));
  CHECK(numbers(shown, "mean step 5.00, stop ([0-9.]+)").at(0) >= 5 * 0.2);
  CHECK_THAT(shown, Contains("run 1: in lockstep true\n"));
  CHECK(count_of(shown, "joined 0.000 at 0, 5 completed, 5 started, ") == 3);
  CHECK(count_of(shown, "open nil, left nil\n") == 3);
  std::vector<double> work = numbers(shown, "least work ([0-9.]+)");
  std::sort(work.begin(), work.end());
  REQUIRE(work.size() == 3);
  CHECK(work[0] >= 0.05);
  CHECK(work[1] < 0.2);
  CHECK(work[2] >= 0.2);
}

TEST_CASE("a JSON trace contains the steps, waits, calls and tasks of each node, in threads, processes and hosts") {
  const JobFolder folder;
  const std::string place = GENERATE(from_range(places()));
  const Ended run(run_at(place, folder, {"--record", "trace.json", "jobs/record.lua", "everything"}));
  const std::string text = read_text(folder.path() / "trace.json");
  const auto events = nlohmann::json::parse(text, nullptr, false);
  INFO(text);
  REQUIRE(events.is_array());
  std::map<std::string, std::set<std::string>> tracks;  // names of nodes by the category of their events
  std::map<int64_t, std::string> names;
  std::set<int64_t> processes;
  for (const auto& event : events) {
    const std::string what = event.at("ph");
    if (what == "M" && event.at("name") == "process_name") processes.insert(event.at("pid").get<int64_t>());
    if (what == "M" && event.at("name") == "thread_name") {
      names[event.at("tid").get<int64_t>()] = event.at("args").at("name");
    }
    if (what != "X") continue;
    CHECK(event.at("dur").get<double>() >= 0);
    CHECK(event.at("ts").get<double>() < 30e6);
    const std::string category = event.at("cat");
    tracks[category].insert(names.at(event.at("tid").get<int64_t>()));
    tracks[category + " " + event.at("name").get<std::string>()].insert("there");
  }
  const std::set<std::string> ranks = {"rank 0", "rank 1", "rank 2"};
  CHECK(tracks["step"] == ranks);
  CHECK(std::includes(tracks["call"].begin(), tracks["call"].end(), ranks.begin(), ranks.end()));
  CHECK(std::includes(tracks["wait"].begin(), tracks["wait"].end(), ranks.begin(), ranks.end()));
  CHECK(!tracks["task"].empty());
  CHECK(tracks.contains("call allreduce"));
  CHECK(tracks.contains("wait wait: task"));
  CHECK(processes.size() >= (place == "threads" ? 1U : 3U));
  CHECK(run.err.find("had no effect") == std::string::npos);
}

TEST_CASE("several shards and a Lua barrier are recorded too") {
  const Folder folder;
  folder.write("rule.lua", "return function(view) return view.step <= view:min() + 1 end");
  const Ended run(folder.run({"-n", "3", "--servers", "3", "--barrier", "rule.lua", "--resample", "sticky",
                              "--record=trace.csv", "jobs/record.lua", "job"}));
  CHECK_THAT(folder.show(),
             Contains("servers 3, resample 'sticky', note nil") && Contains("barrier rule.lua, 3 workers"));
}

TEST_CASE("each run of a job is a section of its trace") {
  const Folder folder;
  const Ended run(
      folder.run({"-n", "2", "--record", "trace.csv", "jobs/record.lua", "job", "--runs", "3", "--steps", "2"}));
  const std::string shown = folder.show();
  INFO(shown);
  for (const char* index : {"1", "2", "3"}) {
    CHECK_THAT(shown,
               Contains(std::string("run ") + index + ": barrier bsp, 2 workers, 4 completed, mean step 2.00, stop"));
  }
  CHECK(count_of(shown, "joined 0.000 at 0, 2 completed") == 6);
}

TEST_CASE("a run stopped in the middle of steps records the open steps") {
  const Folder folder;
  const Ended run(folder.run({"-n", "3", "--barrier", "asp", "--seconds", "1", "--record", "trace.csv",
                              "jobs/record.lua", "job", "--steps", "0", "--stay", "3", "--seconds", "3"}));
  const std::string shown = folder.show();
  INFO(shown);
  const double stop = numbers(shown, "stop ([0-9.]+)").at(0);
  CHECK(stop >= 1);
  const std::vector<double> completed = numbers(shown, "([0-9]+) completed, [0-9]+ started");
  const std::vector<double> started = numbers(shown, "([0-9]+) started");
  REQUIRE(completed.size() == 3);
  for (size_t i = 0; i < 3; ++i) CHECK(started[i] == completed[i] + 1);
  CHECK(count_of(shown, "open nil") == 0);
}

TEST_CASE("a killed worker leaves the trace with its step open") {
  const Folder folder;
  Process run = folder.start({"-n", "3", "--isolate", "--record", "trace.csv", "jobs/record.lua", "stays"});
  ::kill(process_of(run, "stays"), SIGKILL);
  const Ended ended({run}, 20);
  const std::string shown = folder.show();
  INFO(shown);
  CHECK_THAT(shown, Contains("note nil\n") && Contains("mean step 5.00"));
  CHECK_THAT(shown, Contains("worker 1: joined 0.000 at 0, 2 completed, 3 started, ") && Contains("open 2, left 2\n"));
}

TEST_CASE("a late joiner is in the trace from then on, at the step of the slowest worker") {
  const Folder folder;
  const FreePort port;
  const Words record = {"-n", "1", "--inject", "delay=const(0.01)", "--record", "trace.csv"};
  const Words job = with(record, {"jobs/record.lua", "job", "--steps", "0", "--until_worker", "1"});
  const Words words = elastic_words(port, "1:2", job);
  Process first = folder.start(words, "worker 0 works.");
  folder.await("step,0,10,");
  Process second = folder.start(words);
  const auto status = first.wait(20);
  CHECK(second.wait(20) == 0);
  INFO(first.describe() << second.describe());
  REQUIRE(status == 0);
  const std::string shown = folder.show();
  INFO(shown);
  CHECK_THAT(shown, Contains("run 1: barrier bsp, 1 workers, ") && Contains("worker 0: joined 0.000 at 0, "));
  CHECK(numbers(shown, "worker 1: joined ([0-9.]+)").at(0) > 0.1);
  CHECK(numbers(shown, "worker 1: joined [0-9.]+ at ([0-9]+)").at(0) >= 10);
  CHECK(numbers(shown, "worker 1: .* ([0-9]+) completed").at(0) >= 1);
}

TEST_CASE("a killed run leaves its record up to a second before") {
  const Folder folder;
  Process run = folder.start(
      {"-n", "2", "--inject", "delay=const(0.05)", "--record", "trace.csv", "jobs/record.lua", "job", "--steps", "0"});
  folder.await("step,1,20,");
  run.signal(SIGKILL);
  CHECK(run.wait(20) == 128 + SIGKILL);
  CHECK_THAT(folder.show(), Contains("run 1 has no stop\n") && Contains("in lockstep true"));
}

TEST_CASE("a run of slow steps has each step in its trace before the next step ends") {
  const Folder folder;
  Process run = folder.start({"-n", "1", "--record", "trace.csv", "jobs/record.lua", "job", "--steps", "0", "--stay",
                              "2", "--seconds", "1000"});
  folder.await("step,0,1,");
  CHECK(run.running());
}

TEST_CASE("an interrupted run has all of its steps but no stop") {
  const Folder folder;
  Process run = folder.start(
      {"-n", "2", "--inject", "delay=const(0.05)", "--record", "trace.csv", "jobs/record.lua", "job", "--steps", "0"});
  folder.await("step,1,5,");
  run.signal(SIGINT);
  CHECK(run.wait(20) == 130);
  CHECK_THAT(folder.show(), Contains("note run 1 has no stop\n"));
}

TEST_CASE("an unwritable trace is refused at the start, with its name") {
  const Folder folder;
  std::filesystem::create_directory(folder.path() / "folder.csv");
  const std::string file =
      GENERATE(as<std::string>(), "missing/trace.csv", "missing/trace.json", "missing/trace.jsonl", "folder.csv");
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate");
  const Ended run(run_at(place, folder, {"--record", file, "jobs/record.lua", "job"}), 2);
  CHECK_THAT(run.err, Contains("actorhost: --record: cannot write to '" + file + "': "));
  CHECK(run.out.empty());
}

TEST_CASE("only the coordinator uses --record") {
  const Folder folder;
  const FreePort port;
  const Words meeting = {"-n", "1", "--nnodes", "2", "--rdzv-endpoint", port.endpoint(), "--record"};
  Process first = folder.start(with(meeting, {"trace.csv", "jobs/record.lua", "job"}), "info] seed");
  Process second = folder.start(with(meeting, {"missing/trace.csv", "jobs/record.lua", "job"}));
  const Ended both({first, second}, 20);
  CHECK_THAT(folder.show(), Contains("2 workers, 10 completed"));
}

TEST_CASE("a file's extension selects the kind of trace, and an unknown extension is refused") {
  const Folder folder;
  const std::string file = GENERATE(as<std::string>(), "trace.txt", "trace", "trace.CSV");
  const Ended run(folder.run({"-n", "1", "--record", file, "jobs/record.lua", "job"}), 2);
  CHECK_THAT(run.err,
             Contains("--record wants a name that ends in .csv, .json or .jsonl, or a folder that ends in /, got '" +
                      file + "'"));
  CHECK(!std::filesystem::exists(folder.path() / file));
}

TEST_CASE("a folder receives a new run for TensorBoard at each start, with a file for each node") {
  const Folder folder;
  folder.write("report.lua", R"(
    local actor = require "actor"
    for step = 1, 3 do actor.report("loss", 1 / step, step) end
  )");
  for (int start = 0; start < 2; ++start) {
    const Ended run(folder.run({"-n", "2", "--record", "runs/", "report.lua"}), 0);
  }
  size_t files = 0;
  std::set<std::filesystem::path> runs;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path() / "runs")) {
    if (!entry.is_regular_file()) continue;
    ++files;
    const std::string node = entry.path().parent_path().filename();
    CHECK((node == "worker 0" || node == "worker 1"));
    runs.insert(entry.path().parent_path().parent_path());
    const std::string bytes = read_text(entry.path());
    CHECK_THAT(bytes, Contains("brain.Event:2"));
    CHECK(count_of(bytes, "loss") == 3);
  }
  CHECK(files == 4);
  CHECK(runs.size() == 2);
}

TEST_CASE("a full disk ends the recording but not the run") {
  const Folder folder;
  const std::string file = GENERATE(as<std::string>(), "full.csv", "full.json", "full.jsonl");
  std::filesystem::create_symlink("/dev/full", folder.path() / file);
  const Ended run(folder.run({"-n", "2", "--record", file, "jobs/record.lua", "job", "--runs", "2"}));
  CHECK_THAT(run.out, Contains("run 2: 10 updates"));
  CHECK(count_of(run.err, "cannot write to '" + file + "': No space left on device") == 1);
}

TEST_CASE("a recording at the file size limit ends, but not the run") {
  const Folder folder;
  const std::string file = GENERATE(as<std::string>(), "long.csv", "long.json", "long.jsonl");
  const std::string command = "ulimit -f 1; exec " + shell_word(actorhost_binary()) + " -n 2 --record " + file +
                              " jobs/record.lua job --runs 2 --steps 200";
  const Ended run(run_program("sh", {"-c", command}, 30, folder.options()));
  CHECK_THAT(run.out, Contains("run 2: 400 updates"));
  CHECK(count_of(run.err, "cannot write to '" + file + "': File too large") == 1);
}

TEST_CASE("the help names --record") { CHECK_THAT(JobFolder().run({"--help"}).out, Contains("--record FILE")); }
