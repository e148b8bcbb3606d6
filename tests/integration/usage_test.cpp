// Bad input: each case has a message with the cause, and the right exit code.

#include <regex>

#include "tests/host/net/raw_socket.hpp"
#include "tests/integration/images.hpp"
#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

constexpr const char* kToken[] = {"0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"};

/// A server other than actorhost: it accepts connections and sends nothing.
struct Listener : RawListener {
  std::string endpoint() const { return url().substr(std::strlen("tcp://")); }
};

void cut(const std::filesystem::path& file, size_t bytes) { std::filesystem::resize_file(file, bytes); }

/// The number of the first line of `text` that contains `words`.
long line_of(const std::string& text, const std::string& words) {
  const size_t at = text.find(words);
  REQUIRE(at != std::string::npos);
  return 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
}

void overwrite(const std::filesystem::path& file, size_t at, char byte) {
  std::string text = read_text(file);
  text.at(at) = byte;
  std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
}

}  // namespace

TEST_CASE("a wrong command line exits with 2 and names the wrong word") {
  const JobFolder folder;
  folder.write("job.lua", "print 'ran'");
  const auto [words, message] = GENERATE(table<Words, std::string>({
      {Words{}, "no job given"},
      {{"missing.lua"}, "cannot read 'missing.lua': No such file"},
      {{"."}, "'.' is a folder"},
      {{"--bogus", "job.lua"}, "unknown flag '--bogus'"},
      {{"-n", "0", "job.lua"}, "--nproc-per-node=0"},
      {{"-n", "many", "job.lua"}, "--nproc-per-node=many"},
      {{"-n", "100000", "job.lua"}, "--nproc-per-node=100000 is out of range: 1 to 65536"},
      {{"--nnodes", "3", "job.lua"}, "give --rdzv-endpoint HOST:PORT"},
      {{"--nnodes", "0", "job.lua"}, "--nnodes=0"},
      {{"--nnodes", "3:1", "job.lua"}, "--nnodes=3:1: the smaller number must be first"},
      {{"--rdzv-endpoint", "here", "job.lua"}, "the port is missing"},
      {{"--rdzv-endpoint", "127.0.0.1:99999", "job.lua"}, "\"99999\" is no port"},
      {{"--servers", "0", "job.lua"}, "--servers wants a number of shards from 1 to 64, got '0'"},
      {{"--replicas", "0", "job.lua"}, "--replicas wants a number of copies from 1 to 16, got '0'"},
      {{"--seed", "-1", "job.lua"}, "--seed wants a whole number from 0 to 2^53, got '-1'"},
      {{"--seconds", "0", "job.lua"}, "--seconds wants a number of seconds above 0, got '0'"},
      {{"--rule-timeout", "0", "job.lua"}, "--rule-timeout wants a number of seconds above 0, got '0'"},
      {{"--start-timeout", "x", "job.lua"}, "--start-timeout wants a number of seconds above 0, got 'x'"},
      {{"--log-level", "loud", "job.lua"}, "--log-level wants trace, debug, info, warn, error or off, got 'loud'"},
      {{"--print", "none", "job.lua"}, "--print wants all or first, got 'none'"},
      {{"--inject", "x", "job.lua"}, "--inject wants straggler=SHARE:FACTORx"},
      {{"--inject", "straggler=2:4x", "job.lua"}, "a share from 0 to 1"},
      {{"--inject", "delay=never(1)", "job.lua"}, "--inject: "},
      {{"--resample", "often", "job.lua"}, "--resample wants event, sticky or poll:SECONDS, got 'often'"},
      {{"--threads-per-node", "0", "job.lua"}, "--threads-per-node wants a number of threads from 1 to 256, got '0'"},
      {{"--threads-per-node", "257", "job.lua"}, "from 1 to 256, got '257'"},
      {{"--threads-per-node", "two", "job.lua"}, "from 1 to 256, got 'two'"},
      {{"--threads-per-node", "-1", "job.lua"}, "from 1 to 256, got '-1'"},
      {{"--token-file", "missing", "--rdzv-endpoint", "127.0.0.1:0", "job.lua"}, "token file missing"},
      {{"agent"}, "--join is required"},
      {{"agent", "--join", "127.0.0.1"}, "--join: endpoint \"127.0.0.1\": the port is missing"},
      {{"-n"}, "--nproc-per-node wants a value"},
      {{"--seed"}, "--seed wants a value"},
      {{"--seed", "1", "--seed", "2", "job.lua"}, "--seed is given twice"},
      {{"--rdzv-endpoint", "", "job.lua"}, "--rdzv-endpoint: the address is empty"},
      {{"agent", "--join", ""}, "--join: the address is empty"},
      {{"rehearse"}, "no job given"},
  }));
  const Ended run(folder.run(words), 2);
  CHECK_THAT(run.err, Contains("actorhost: ") && Contains(message));
  CHECK(run.out.empty());
}

#ifndef ACTORHOST_SANITIZED  // the shadow memory of sanitizers needs the address space
TEST_CASE("a run with more nodes than the machine has threads for exits with 3 and an error") {
  const JobFolder folder;
  folder.write("job.lua", "require('actor').collective.barrier()");
  const std::string few = "ulimit -s 1000000 && ulimit -v 12000000 && exec \"$0\" \"$@\"";  // 1 GB a thread, 12 GB
  const Ended run(run_program("sh", {"-c", few, actorhost_binary(), "-n", "32", "job.lua"}, 30, folder.options()), 3);
  CHECK_THAT(run.err, Contains("this machine has no thread left for it (") && Contains("); choose a smaller -n\n"));
}
#endif

TEST_CASE("help names every variable that the program and its start script read") {
  const std::string help = JobFolder().run({"--help"}).out;
  size_t found = 0;
  for (const char* part : {"host", "bindings", "scripts"}) {
    for (const auto& file : std::filesystem::recursive_directory_iterator(source_dir() / part)) {
      const bool start_script = file.path().parent_path().filename() == "scripts" && file.path().extension() != ".md";
      if (!file.is_regular_file() || (file.path().extension() != ".cpp" && !start_script)) continue;
      const std::string text = read_text(file.path());
      static const std::regex kVariable(R"((?:"|\$\{?)(ACTORHOST_[A-Z_]*[A-Z])\b)");
      for (std::sregex_iterator at(text.begin(), text.end(), kVariable), end; at != end; ++at, ++found) {
        INFO(file.path());
        CHECK_THAT(help, Contains((*at)[1].str()));
      }
    }
  }
  CHECK(found > 10);
}

TEST_CASE("flags have two spellings, and help and version are printed to standard output") {
  const JobFolder folder;
  folder.write("job.lua", "local actor = require 'actor' print(actor.size, ...)");
  CHECK(folder.run({"run", "--nproc_per_node=2", "--start_timeout", "5", "job.lua", "-n", "7"}).out == "2\t-n\t7\n");
  CHECK_THAT(folder.run({"--help"}).out, Contains("usage: actorhost") && Contains("--rdzv-endpoint"));
  CHECK_THAT(folder.run({"--version"}).out, Contains("actorhost "));
  CHECK(folder.run({"--version"}).status == 0);
}

TEST_CASE("a job with a syntax error exits with 1, its file and line") {
  const JobFolder folder;
  folder.write("job.lua", "local x = 1\nlocal = 2\n");
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate", "hosts");
  const Ended run(run_at(place, folder, {"job.lua"}), 1);
  CHECK_THAT(run.err, Contains("job.lua:2: "));
}

TEST_CASE("compiled Lua is refused as a job") {
  const JobFolder folder;
  folder.write("job.lua", std::string("\x1bLJ\x02\x00", 5));
  const Ended run(folder.run({"job.lua"}), 1);
  CHECK_THAT(run.err, Contains("job.lua"));
}

TEST_CASE("a host whose port has another listener exits with 3 and names the port") {
  const JobFolder folder;
  folder.write("job.lua", "print 'ran'");
  const Listener listener;
  const bool forced = GENERATE(false, true);
  Words words = {"--nnodes", "2", "--rdzv-endpoint", listener.endpoint(), "--start-timeout", "1", "job.lua"};
  if (forced) words = with({"--node-rank", "0"}, words);
  const Ended run(folder.run(words), 3);
  CHECK_THAT(run.err, Contains("cannot listen at tcp://" + listener.endpoint() + ": address in use"));
  if (!forced) CHECK_THAT(run.err, Contains(listener.endpoint() + " does not answer as an actorhost"));
}

TEST_CASE("a host without a reply at the rendezvous exits with 3 at the deadline") {
  const JobFolder folder;
  folder.write("job.lua", "print 'ran'");
  const FreePort port;
  const std::string endpoint = port.endpoint();
  const Words meeting = {"--nnodes", "2", "--rdzv-endpoint", endpoint, "--start-timeout", "1"};
  const auto [words, message] = GENERATE_COPY(table<Words, std::string>({
      {with(meeting, {"--node-rank", "1", "job.lua"}), "no coordinator at tcp://" + endpoint + " within 1 s"},
      {with(meeting, {"job.lua"}), "1 of 2 hosts after 1 s"},
      {{"agent", "--join", endpoint, "--start-timeout", "1"}, "no coordinator at tcp://" + endpoint + " within 1 s"},
  }));
  const Ended run(folder.run(words), 3);
  CHECK_THAT(run.err, Contains(message) && Contains("--start-timeout"));
  CHECK(run.out.empty());
}

TEST_CASE("several addresses without a reply are each reported with a reason") {
  const JobFolder folder;
  folder.write("job.lua", "print 'ran'");
  const FreePort port;
  const Listener other_server;
  const Ended run(folder.run({"--nnodes", "2", "--node-rank", "1", "--rdzv-endpoint",
                              port.endpoint() + "," + other_server.endpoint(), "--start-timeout", "1", "job.lua"}),
                  3);
  CHECK_THAT(run.err, Contains(port.endpoint() + ": Connection refused") &&
                          Contains(other_server.endpoint() + " does not answer as an actorhost"));
}

TEST_CASE("a host with another token is refused") {
  const JobFolder folder;
  folder.write("job.lua", "print 'ran'");
  const FreePort port;
  std::vector<Process> hosts;
  for (size_t i = 0; i < 2; ++i) {
    const auto token = folder.write("token" + std::to_string(i), kToken[i]);
    std::filesystem::permissions(token, std::filesystem::perms::owner_read);
    hosts.push_back(folder.start({"--nnodes", "2", "--rdzv-endpoint", port.endpoint(), "--token-file", token.string(),
                                  "--start-timeout", "3", "job.lua"}));
    if (i == 0) REQUIRE(hosts[0].wait_for_output("info] seed", 20));
  }
  const Ended both({hosts[1], hosts[0]}, 10, 3);
  CHECK_THAT(hosts[1].err(), Contains("the token of " + port.endpoint() +
                                      " differs from ours; give all hosts of a run the same --token-file"));
  CHECK_THAT(hosts[0].err(), Contains("connection refused: the token of ") && Contains("1 of 2 hosts after 3 s"));
  CHECK(hosts[0].out() + hosts[1].out() == "");
}

TEST_CASE("a host with another job is refused, and both sides report it", "[deep]") {
  const JobFolder folder;
  folder.write("a/job.lua", "print 'ran'");
  folder.write("b/job.lua", "print 'another one'");
  const FreePort port;
  const Words meeting = {"--nnodes", "2", "--rdzv-endpoint", port.endpoint(), "--start-timeout", "5"};
  Process coordinator = folder.start(with(meeting, {"a/job.lua"}), "info] seed");
  Process other = folder.start(with(meeting, {"b/job.lua"}));
  const Ended both({other, coordinator}, 10, 3);
  for (const Process* host : {&coordinator, &other}) {
    CHECK_THAT(host->err(), Contains("its copy of the job differs"));
    CHECK(host->out().empty());
  }
}

TEST_CASE("a callback with a wrong return value is named with its line") {
  const auto [name, value, message] = GENERATE(table<std::string, std::string, std::string>({
      {"schedule", "number", "returned number, expected a table {[id] = {{key, value}, ...}}"},
      {"schedule", "text", "returned string, expected a table"},
      {"schedule", "nil", "returned nil, expected a table"},
      {"schedule", "nothing", "schedule gave none of the workers (0, 1) an entry"},
      {"schedule", "stranger", "returned a task for worker '9'"},
      {"schedule_local", "number", "returned number, expected an array of keys"},
      {"push", "number", "expected {{key, value}, ...}, got number"},
      {"push", "nil", "expected {{key, value}, ...}, got nil"},
      {"push", "flat", "entry 1: expected {key, value}, got string"},
      {"push", "map", "expected {{key, value}, ...}, got a table {a = ...}"},
      {"push", "fn", "entry 1 (\"a\"): value is a function"},
      {"push", "key", "entry 1, key: expected a string or number, got table"},
      {"stop", "text", "returned string, expected a boolean"},
      {"stop", "nil", "returned nil, expected a boolean (is a 'return' missing?)"},
      {"pull", "nil", "expected {{key, value}, ...}, got nil (is a 'return' missing?)"},
      {"pull", "number", "expected {{key, value}, ...}, got number"},
      {"pull", "flat", "entry 1: expected {key, value}, got string"},
      {"init", "number", "returned number, expected a table {key = value}"},
  }));
  const Ended run(JobFolder().run({"-n", "2", "jobs/usage.lua", name, value}), 1);
  CHECK_THAT(run.err, Contains(message) && Contains("usage.lua:20: "));
  if (value != "nothing") CHECK_THAT(run.err, Contains(name + " (usage.lua:8)"));
  CHECK(count_of(run.err, "stack traceback:") == 1);
}

TEST_CASE("truncated data files and files of another kind are named") {
  const JobFolder folder;
  const auto images = folder.path() / "images";
  write_images(images, 100, 50);
  const int damage = GENERATE(0, 1, 2, 3);
  const std::filesystem::path file = images / (damage == 1 ? "train-labels-idx1-ubyte" : "train-images-idx3-ubyte");
  if (damage == 0) cut(file, 1000);
  if (damage == 1) cut(file, 5);
  if (damage == 2) overwrite(file, 2, 0x0d);
  if (damage == 3) std::filesystem::remove(file);
  const auto script = source_dir() / "examples/mnist_ps.lua";
  const Ended run(folder.run({"-n", "2", script.string(), "--data", "images", "--epochs", "1"}), 1);
  const std::string place = "mnist_ps.lua:" + std::to_string(line_of(read_text(script), "data.mnist(")) + ": ";
  CHECK_THAT(run.err, Contains(file.filename().string()) && Contains(place));
  CHECK(run.out.empty());
}

TEST_CASE("arguments that the script does not read are reported") {
  const JobFolder folder;
  const auto [script, reported] = GENERATE(table<std::string, bool>({
      {"print(require('actor').size)", true},
      {"print(1)", true},
      {"print(require('actor').args[1])", false},
      {"print((...))", false},
      {"require('actor').options { n = 1 }", false},
  }));
  folder.write("job.lua", script);
  const Ended run(folder.run({"-n", "2", "job.lua", "--n", "4"}));
  const std::string warning =
      "rank 0: '--n 4' had no effect: job.lua reads no arguments; flags of actorhost go before the script";
  CHECK((run.err.find(warning) != std::string::npos) == reported);
  CHECK(count_of(run.err, "had no effect") == (reported ? 1 : 0));
}
