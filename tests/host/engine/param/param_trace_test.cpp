// The trace of --record and its file.

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "host/engine/param/server.hpp"
#include "host/engine/param/trace.hpp"
#include "tests/host/barrier/progress_rules.hpp"
#include "tests/host/data/scratch.hpp"
#include "tests/host/engine/engine_values.hpp"
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

/// A parameter server with worker 0, which takes steps of a second.
class OneWorker {
 public:
  OneWorker(ParamTrace& trace, Log& log) : server_(config(trace), store_, rule_.get(), log) {
    Frame ready = message_frame(param_kind::ready, server_address(0), 0, Ready{1});
    ready.src = worker_address(0);
    server_.handle(std::move(ready), now);
  }
  /// One step. `claim`: the working time that the worker reports; without it, the push has none.
  void step(std::optional<double> claim) {
    REQUIRE(std::holds_alternative<StopRequest>(server_.next(now).value()));
    server_.answer_stop(false);
    REQUIRE(std::holds_alternative<ScheduleRequest>(server_.next(now).value()));
    REQUIRE(server_.answer_schedule({{0, {}}}, now).ok());
    now += 1;
    std::vector<Frame> frames;
    EntryPacker packer(param_kind::push, server_address(0), 0,
                       pack(PushHead{1, steps_++, false, false, claim.has_value(), claim.value_or(0)}));
    packer.finish(frames);
    frames.at(0).src = worker_address(0);
    server_.handle(std::move(frames[0]), now);
  }
  void stop() {
    REQUIRE(std::holds_alternative<StopRequest>(server_.next(now).value()));
    server_.answer_stop(true);
  }
  uint64_t updates() { return server_.controller()->updates(); }

  double now = 50;

 private:
  static ParamServer::Config config(ParamTrace& trace) {
    ParamServer::Config config{UpdateRule::native({kernel::OptimiserKind::add}), {}};
    config.run.run = 1;
    config.run.members = {0};
    config.run.trace = &trace;
    return config;
  }

  ParamStore store_;
  const std::unique_ptr<BarrierRule> rule_ = native_asp();
  ParamServer server_;
  uint64_t steps_ = 0;
};

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

TEST_CASE("false or missing working times are logged and change nothing else") {
  Recording recording;
  std::vector<std::string> lines;
  Log log(LogLevel::info, [&](const LogLine& line) { lines.push_back(line.words()); });
  OneWorker run(*recording.trace, log);
  for (const std::optional<double> claim :
       {std::optional<double>(), std::optional<double>(-1), std::optional<double>(INFINITY),
        std::optional<double>(1e300), std::optional<double>(0.25)}) {
    run.step(claim);
  }
  CHECK(run.updates() == 5);
  recording.trace->flush();
  std::vector<double> computes;
  for (const Row& row : rows_of(recording.text())) {
    if (row.event == "step") computes.push_back(row.compute);
  }
  CHECK(computes == std::vector<double>{0, 0, 1, 1, 0.25});
  REQUIRE(lines.size() == 3);  // the 1st, the 2nd and the 4th of the four
  CHECK(contains(lines[0], "record: worker 0 reports nan s of work in the 1.000000 s of its step 1"));
}

TEST_CASE("a run without a file is recorded while an observer requests its rows") {
  Log log(LogLevel::off);
  auto trace = required(ParamTrace::open("", {{"seed", "7"}}, log));
  const auto report = [&](double now) {
    nlohmann::json out;
    (*trace)->report(out, now);
    return out["recording"];
  };
  OneWorker run(**trace, log);
  run.step(0.5);
  CHECK(report(run.now) == nlohmann::json({{"from", 0}, {"text", ""}}));  // the request begins the recording
  run.step(std::nullopt);                                                 // sent before the recording began
  run.step(0.25);
  run.step(0.5);
  (*trace)->flush();
  const std::string text = report(run.now)["text"];
  CHECK(text ==
        "# actorhost trace 1\n# seed=7\n# barrier=\n# merge=\n# workers=1\nevent,id,step,time,released,compute\n"
        "run,1,,0.000000000,,\n"
        "join,0,2,1.000000000,,\n"
        "step,0,3,2.000000000,1.000000000,0.250000000\n"
        "step,0,4,3.000000000,2.000000000,0.500000000\n");

  for (int i = 0; i < 12; ++i) run.step(0.5);  // longer than a request counts
  (*trace)->flush();
  const std::string rest = report(run.now - 100)["text"];
  run.step(0.5);
  CHECK(rest.starts_with(text));
  report(run.now);
  run.step(0.5);
  run.step(0.5);
  run.stop();
  const std::string again = report(run.now)["text"];  // a new recording, from its header on
  CHECK(again.starts_with("# actorhost trace 1\n"));
  CHECK(again.ends_with("\nstop,,,2.000000000,,\n"));
  CHECK(rows_of(again).size() == 4);
}

TEST_CASE("a report has the newest whole rows, and the number of bytes before them") {
  Log log(LogLevel::off);
  auto trace = required(ParamTrace::open("", {}, log));
  (*trace)->begin_run({}, 0);
  std::string all;
  size_t before = 0;
  for (uint64_t i = 0; i < 20000; ++i) {
    (*trace)->step(0, i + 1, 0, 0, 1);
    if (i % 1000 != 0) continue;
    (*trace)->flush();
    nlohmann::json out;
    (*trace)->report(out, 1);
    const std::string text = out["recording"]["text"];
    const size_t from = out["recording"]["from"];
    REQUIRE(from >= before);
    REQUIRE(from <= all.size());  // no row is lost between two reports
    REQUIRE(text.size() <= ParamTrace::kReportedBytes);
    REQUIRE(all.substr(from) == text.substr(0, all.size() - from));
    all += text.substr(all.size() - from);
    before = from;
  }
  CHECK(before > 0);
  CHECK(rows_of(all).size() == 19002);
}
