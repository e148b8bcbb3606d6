// The trace of --record: its file, and the traces of simulated runs.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/engine/param/trace.hpp"
#include "tests/host/data/scratch.hpp"
#include "tests/host/engine/param/param_sim.hpp"
#include "tests/test.hpp"

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// A trace in its own folder.
struct Recording {
  Scratch folder;
  std::vector<std::string> log_lines;
  Log log{LogLevel::info, [this](const LogLine& line) { log_lines.push_back(line.words()); }};
  std::string path = folder / "trace.csv";
  std::unique_ptr<ParamTrace> trace;

  explicit Recording(const ParamTrace::Keys& keys = {}) {
    auto opened = required(ParamTrace::open(path, keys, log));
    trace = std::move(*opened);
  }
  std::string text() const { return slurp(path); }
};

Error refusal(const std::string& path) {
  Log log(LogLevel::off);
  auto opened = ParamTrace::open(path, {}, log);
  CHECK(failure_of(opened).code == Code::bad_argument);
  CHECK(contains(opened.error().message, "--record: cannot write to '" + path + "': "));
  return opened.error();
}

struct Row {
  std::string event;
  NodeId id = 0;
  uint64_t step = 0;
  double time = 0;
  double released = 0;
  double compute = 0;
};

std::vector<Row> rows_of(const std::string& text) {
  std::vector<Row> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#") || line.starts_with("event,")) continue;
    std::vector<std::string> fields;
    std::istringstream parts(line);
    for (std::string part; std::getline(parts, part, ',');) fields.push_back(part.empty() ? "0" : part);
    fields.resize(6, "0");
    rows.push_back({fields[0], static_cast<NodeId>(std::stoul(fields[1])), std::stoull(fields[2]), std::stod(fields[3]),
                    std::stod(fields[4]), std::stod(fields[5])});
  }
  return rows;
}

// Checks the rows of one run, whatever happened in it.
struct Checked {
  struct Worker {
    uint64_t step = 0;
    double free = 0;  // since when it could begin a step
    bool counted = false;
    bool open = false;
    std::vector<double> released, finished;  // by step, from its first
    uint64_t first = 0;
  };
  std::map<NodeId, Worker> workers;
  uint64_t steps = 0;
  uint64_t left = 0;

  explicit Checked(const std::vector<Row>& rows) {
    REQUIRE(rows.size() >= 2);
    REQUIRE(rows.front().event == "run");
    REQUIRE(rows.back().event == "stop");
    double time = 0;
    for (const Row& row : rows) {
      REQUIRE(row.time >= time);
      time = row.time;
      if (row.event == "join") join(row);
      if (row.event == "step") step(row);
      if (row.event == "open") open(row);
      if (row.event == "leave") leave(row);
    }
  }

  void join(const Row& row) {
    Worker& worker = workers[row.id];
    REQUIRE_FALSE(worker.counted);
    REQUIRE(row.step >= worker.step);
    if (worker.released.empty()) worker.first = row.step;
    worker.counted = true;
    worker.step = row.step;
    worker.free = row.time;
  }
  void step(const Row& row) {
    Worker& worker = workers.at(row.id);
    REQUIRE(worker.counted);
    REQUIRE(row.step == worker.step + 1);
    REQUIRE(row.released >= worker.free);
    REQUIRE(row.released <= row.time);
    REQUIRE(row.compute > 0);
    REQUIRE(row.compute < row.time - row.released);
    worker.step = row.step;
    worker.free = row.time;
    worker.released.push_back(row.released);
    worker.finished.push_back(row.time);
    ++steps;
  }
  void open(const Row& row) {
    Worker& worker = workers.at(row.id);
    REQUIRE((worker.counted && !worker.open));
    REQUIRE(row.step == worker.step);
    REQUIRE(row.released >= worker.free);
    worker.open = true;
  }
  void leave(const Row& row) {
    Worker& worker = workers.at(row.id);
    REQUIRE(worker.counted);
    REQUIRE(row.step == worker.step);
    worker.counted = false;
    ++left;
  }
};

// A run of a few keys that stops after `c.step` steps; the recording's text.
std::string simulated(SimOptions options, Recording& recording, uint64_t steps, std::optional<ParamSummary>& summary) {
  const ParamKey key = key_of("w");
  options.run.trace = recording.trace.get();
  options.run.barrier = "of the test";
  {
    ParamSim sim(options);
    sim.set(key, tensor_of<double>({0}));
    sim.schedule = [key](const std::vector<NodeId>& ids) {
      Tasks tasks;
      for (const NodeId id : ids) tasks[id] = {{key, ParamFetch{}, 0}};
      return tasks;
    };
    sim.work = [key](ParamSim::Worker&, const ParamWorker::Task& task) {
      REQUIRE(task.timed);
      return Entries{{key, tensor_of<double>({1}), 0}};
    };
    sim.stop = [steps](const StopContext& c) { return c.step >= steps; };
    REQUIRE(sim.run());
    REQUIRE_FALSE(sim.error);
    summary = sim.summary;
  }
  return recording.text();
}

}  // namespace

TEST_CASE("a trace is a header and a row for each event, in seconds since the first run began") {
  Recording recording({{"seed", "7"}, {"job", "two\nlines"}});
  ParamTrace& trace = *recording.trace;
  trace.begin_run({{"barrier", "ssp:4"}}, 100.5);
  trace.join(0, 0, 100.5);
  trace.join(12, 3, 100.75);
  CHECK(trace.step(0, 1, 100.6, 0.0625, 101));
  trace.leave(12, 3, 101.000001);
  trace.open_step(0, 1, 101.25, 101.5);
  trace.stop(101.5);
  trace.begin_run({{"barrier", "bsp"}}, 102);
  trace.flush();
  CHECK(recording.text() ==
        "# actorhost trace 1\n"
        "# seed=7\n"
        "# job=two?lines\n"
        "# barrier=ssp:4\n"
        "event,id,step,time,released,compute\n"
        "run,1,,0.000000000,,\n"
        "join,0,0,0.000000000,,\n"
        "join,12,3,0.250000000,,\n"
        "step,0,1,0.500000000,0.100000000,0.062500000\n"
        "leave,12,3,0.500001000,,\n"
        "open,0,1,1.000000000,0.750000000,\n"
        "stop,,,1.000000000,,\n"
        "run,2,,1.500000000,,\n"
        "# barrier=bsp\n");
}

TEST_CASE("an impossible working time is detected and the nearest possible time is written") {
  Recording recording;
  ParamTrace& trace = *recording.trace;
  trace.begin_run({}, 0);
  const auto written = [&](double seconds, bool possible) {
    CHECK(trace.step(0, 1, 1, seconds, 3) == possible);
    trace.flush();
    return rows_of(recording.text()).back().compute;
  };
  CHECK(written(0, true) == 0);
  CHECK(written(1.5, true) == 1.5);
  CHECK(written(2, true) == 2);
  CHECK(written(2.0005, true) == 2);  // clocks that run at different rates
  CHECK(written(2.1, false) == 2);
  CHECK(written(1e300, false) == 2);
  CHECK(written(INFINITY, false) == 2);
  CHECK(written(-INFINITY, false) == 0);
  CHECK(written(-0.5, false) == 0);
  CHECK(written(kNaN, false) == 0);
}

TEST_CASE("rows are in the file half a second after the first row, at a stop, and when there are many") {
  Recording recording;
  ParamTrace& trace = *recording.trace;
  CHECK(trace.next_time() == kForever);
  trace.begin_run({}, 10);
  trace.join(0, 0, 10.25);
  CHECK(trace.next_time() == 10.5);
  trace.poll(10.4);
  CHECK(recording.text().empty());
  trace.poll(10.5);
  CHECK(rows_of(recording.text()).size() == 2);
  CHECK(trace.next_time() == kForever);
  for (uint64_t i = 0; i < 2000; ++i) trace.step(0, i + 1, 10.5, 0, 10.6);
  CHECK(recording.text().size() >= ParamTrace::kFlushBytes);
  trace.stop(10.7);
  CHECK(rows_of(recording.text()).size() == 2003);
}

TEST_CASE("a full disk is logged once and ends the recording") {
  std::vector<std::string> lines;
  Log log(LogLevel::info, [&](const LogLine& line) { lines.push_back(line.words()); });
  auto trace = required(ParamTrace::open("/dev/full", {}, log));
  (*trace)->begin_run({}, 0);
  (*trace)->stop(1);
  for (int i = 0; i < 3; ++i) {
    (*trace)->begin_run({}, 2);
    CHECK((*trace)->step(0, 1, 2, kNaN, 3));
    (*trace)->stop(3);
  }
  CHECK((*trace)->next_time() == kForever);
  REQUIRE(lines.size() == 1);
  CHECK(contains(lines[0], "cannot write to '/dev/full': No space left on device"));
}

TEST_CASE("a file that cannot be written is refused with its name") {
  const Scratch folder;
  CHECK(contains(refusal(folder.path()).message, "Is a directory"));
  CHECK(contains(refusal(folder / "missing/trace.csv").message, "No such file or directory"));
  const std::string pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(contains(refusal(pipe).message, "it is a pipe"));
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  CHECK(contains(refusal(pipe).message, "it is a pipe"));
  ::close(reader);
}

TEST_CASE("an existing file is emptied and written in place") {
  const Scratch folder;
  Log log(LogLevel::off);
  const std::string path = folder.file("old.csv", std::string(100000, 'x'));
  const std::string other_name = folder / "link.csv";
  REQUIRE(::link(path.c_str(), other_name.c_str()) == 0);
  auto trace = required(ParamTrace::open(path, {}, log));
  (*trace)->begin_run({}, 5);
  (*trace)->stop(6);
  CHECK(rows_of(slurp(other_name)).size() == 2);
  CHECK(slurp(path).size() < 200);
}

TEST_CASE("in the trace of a BSP run no step begins before all workers have completed the previous step") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    Recording recording;
    std::optional<ParamSummary> summary;
    SimOptions options{
        .seed = seed, .shards = static_cast<uint32_t>(1 + seed % 3), .workers = static_cast<uint32_t>(2 + seed % 5)};
    const Checked checked(rows_of(simulated(options, recording, 6, summary)));
    REQUIRE(checked.workers.size() == options.workers);
    CHECK(checked.steps == summary->updates);
    for (size_t step = 1; step < 6; ++step) {
      double all_done = 0;
      for (const auto& [id, worker] : checked.workers) all_done = std::max(all_done, worker.finished.at(step - 1));
      for (const auto& [id, worker] : checked.workers) REQUIRE(worker.released.at(step) >= all_done);
    }
    for (const auto& [id, worker] : checked.workers) CHECK_FALSE(worker.open);
    CHECK(contains(recording.text(), "# barrier=of the test\n# workers=" + std::to_string(options.workers) + "\n"));
  }
}

TEST_CASE("the trace of an ASP run shows the steps in progress at the stop, and later pushes") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    Recording recording;
    std::optional<ParamSummary> summary;
    const Checked checked(
        rows_of(simulated({.seed = seed, .workers = 5, .rule = [] { return native_asp(); }}, recording, 4, summary)));
    const auto open = static_cast<uint64_t>(
        std::count_if(checked.workers.begin(), checked.workers.end(), [](const auto& w) { return w.second.open; }));
    CHECK(open >= 1);
    CHECK(checked.steps + open == summary->updates);
  }
}

TEST_CASE("the trace has workers that fail and join at any moment") {
  uint64_t left = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    Recording recording;
    std::optional<ParamSummary> summary;
    SimOptions options{.seed = seed, .workers = 4, .deaths = 2, .joins = 2, .busy_seconds = 10};
    if (seed % 2 == 0) options.rule = [] { return native_ssp(2); };
    const Checked checked(rows_of(simulated(options, recording, 10, summary)));
    REQUIRE(checked.left <= summary->lost);  // some fail while the last pushes arrive
    left += checked.left;
  }
  CHECK(left > 30);
}

TEST_CASE("a worker without work is not counted in the trace until it gets work") {
  Recording recording;
  SimOptions options{.workers = 3};
  options.run.trace = recording.trace.get();
  int round = 0;
  {
    ParamSim sim(options);
    sim.set(key_of("w"), tensor_of<double>({0}));
    sim.schedule = [&](const std::vector<NodeId>& ids) {
      Tasks tasks;
      ++round;
      for (const NodeId id : ids) {
        if (id != 2 || round % 4 == 0) tasks[id] = {{key_of("w"), ParamFetch{}, 0}};
      }
      return tasks;
    };
    sim.work = [](ParamSim::Worker&, const ParamWorker::Task&) {
      return Entries{{key_of("w"), tensor_of<double>({1}), 0}};
    };
    sim.stop = [](const StopContext& c) { return c.step >= 12; };
    REQUIRE(sim.run());
  }
  const Checked checked(rows_of(recording.text()));
  CHECK(checked.left >= 3);
  CHECK(checked.workers.at(2).finished.size() >= 2);
  CHECK(checked.workers.at(2).finished.size() < 12);
  CHECK(checked.workers.at(0).finished.size() == 12);
}

TEST_CASE("false or missing working times are logged and change nothing else") {
  Recording recording;
  std::vector<std::string> lines;
  Log log(LogLevel::info, [&](const LogLine& line) { lines.push_back(line.words()); });
  ParamStore store;
  const std::unique_ptr<BarrierRule> rule = native_asp();
  ParamServer::Config config{UpdateRule::native({kernel::OptimiserKind::add}), {}};
  config.run.run = 1;
  config.run.members = {0};
  config.run.trace = recording.trace.get();
  ParamServer server(config, store, rule.get(), log);
  double now = 50;
  Frame ready = message_frame(param_kind::ready, server_address(0), 0, Ready{1});
  ready.src = worker_address(0);
  server.handle(std::move(ready), now);
  const std::vector<double> claims = {kNaN, -1, INFINITY, 1e300, 0.25};
  for (uint64_t step = 0; step < claims.size(); ++step) {
    REQUIRE(std::holds_alternative<StopRequest>(server.next(now).value()));
    server.answer_stop(false);
    REQUIRE(std::holds_alternative<ScheduleRequest>(server.next(now).value()));
    REQUIRE(server.answer_schedule({{0, {}}}, now).ok());
    now += 1;
    const PushHead head{1, step, false, false, step != 0, claims[step]};  // the first has no time at all
    std::vector<Frame> frames;
    EntryPacker packer(param_kind::push, server_address(0), 0, pack(head));
    packer.finish(frames);
    frames.at(0).src = worker_address(0);
    server.handle(std::move(frames[0]), now);
  }
  CHECK(server.controller()->updates() == claims.size());
  recording.trace->flush();
  std::vector<double> computes;
  for (const Row& row : rows_of(recording.text())) {
    if (row.event == "step") computes.push_back(row.compute);
  }
  CHECK(computes == std::vector<double>{0, 0, 1, 1, 0.25});
  REQUIRE(lines.size() == 3);  // the 1st, the 2nd and the 4th of the four
  CHECK(contains(lines[0], "record: worker 0 reports nan s of work in the 1.000000 s of its step 1"));
}
