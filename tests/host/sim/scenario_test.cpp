#include "host/sim/scenario.hpp"

#include "tests/host/sim/sim_world.hpp"
#include "tests/integration/process.hpp"
#include "tests/test.hpp"

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// None of `texts` can be parsed; the message names the text and the expected form.
template <class T>
void refuses(const std::vector<std::string>& texts, const std::string& parameter, const std::string& wanted) {
  for (const std::string& text : texts) {
    INFO(text);
    const auto parsed = T::parse(text);
    CHECK(failure_of(parsed).code == Code::bad_argument);
    CHECK(failure_of(parsed).message == parameter + " wants " + wanted + ", got '" + text + "'");
  }
}

}  // namespace

TEST_CASE("stragglers are a share, a factor and an interval of change") {
  const auto fixed = required(Stragglers::parse("0.05:10x"));
  CHECK(fixed->share == 0.05);
  CHECK(fixed->factor == 10);
  CHECK(fixed->change == 0);
  const auto changing = required(Stragglers::parse("1:1.5@20.5"));
  CHECK(changing->share == 1);
  CHECK(changing->factor == 1.5);
  CHECK(changing->change == 20.5);
  CHECK(Stragglers::parse("0")->share == 0);
  refuses<Stragglers>({"", "0.1", "0.1:", "0.1:x", "1.1:2x", "-0.1:2x", "0.1:0.5x", "0.1:2x@", "0.1:2x@0", "0.1:2x@-3",
                       "0.1:2y", "a:2x", "0.1:nanx", "0.1:infx", "nan:2x", "0.1:2x@inf", " 0.1:2x", "0.1:2x:3", "x"},
                      "straggler",
                      "SHARE:FACTORx or SHARE:FACTORx@SECONDS, a share from 0 to 1 and a factor of 1 or more");
}

TEST_CASE("churn is two rates") {
  const auto churn = required(Churn::parse("0.5:2"));
  CHECK(churn->joins == 0.5);
  CHECK(churn->leaves == 2);
  refuses<Churn>({"", "1", "1:", ":1", "-1:0", "0:-1", "1:2:3", "a:b", "inf:0", "0:nan", "1 :2"}, "churn",
                 "JOIN:LEAVE, nodes that join and leave each second, 0 or more");
}

TEST_CASE("failures are a mean life and a repair time") {
  const auto failures = required(Failures::parse("100:5"));
  CHECK(failures->mean_life == 100);
  CHECK(failures->repair == 5);
  CHECK(failures->detect == 2.5);
  CHECK(Failures::parse("100")->repair == 0);
  refuses<Failures>({"", ":", "-1", "1:-1", "x", "1:x", "1:2:3", "inf", "nan:1"}, "failures",
                    "LIFE or LIFE:REPAIR, the mean seconds until a node crashes and until a new node joins");
}

TEST_CASE("a topology is an oracle, a server of 1 to 256 shards, or peers") {
  CHECK(Topology::parse("oracle")->kind == Topology::Kind::oracle);
  CHECK(Topology::parse("peers")->kind == Topology::Kind::peers);
  CHECK(Topology::parse("server")->kind == Topology::Kind::server);
  CHECK(Topology::parse("server")->shards == 1);
  CHECK(Topology::parse("server:256")->shards == 256);
  refuses<Topology>({"", "server:", "server:0", "server:257", "server:1.5", "server:-1", "server:x", "servers",
                     "Oracle", "oracle:2", "server:nan"},
                    "topology", "oracle, server:SHARDS with 1 to 256 shards, or peers");
}

TEST_CASE("a scenario reports values that cannot be simulated") {
  Replay none;
  Replay idle{.nodes = {{0, 0, {{1, 0}}}, {0, 0, {}}}};
  Replay still{.nodes = {{0, 0, {{0, 0}, {0, 0}}}}};
  const std::pair<const char*, std::function<void(Scenario&)>> cases[] = {
      {"nodes has to be from 1 to 8388608", [](Scenario& s) { s.nodes = 0; }},
      {"nodes has to be from 1 to 8388608", [](Scenario& s) { s.nodes = Scenario::kMaxNodes + 1; }},
      {"time has to be a number of seconds above 0", [](Scenario& s) { s.seconds = 0; }},
      {"time has to be a number of seconds above 0", [](Scenario& s) { s.seconds = kInfinite; }},
      {"time has to be a number of seconds above 0", [](Scenario& s) { s.seconds = kNan; }},
      {"loss has to be a share from 0 to below 1", [](Scenario& s) { s.loss = 1; }},
      {"loss has to be a share from 0 to below 1", [](Scenario& s) { s.loss = -0.1; }},
      {"loss has to be a share from 0 to below 1", [](Scenario& s) { s.loss = kNan; }},
      {"retry has to be a number of seconds above 0", [](Scenario& s) { s.retry = 0; }},
      {"retry has to be a number of seconds above 0", [](Scenario& s) { s.retry = kInfinite; }},
      {"bandwidth and bytes have to be 0 or more", [](Scenario& s) { s.topology.bandwidth = -1; }},
      {"bandwidth and bytes have to be 0 or more", [](Scenario& s) { s.topology.bytes = kNan; }},
      {"the seconds until a crash is noticed have to be above 0", [](Scenario& s) { s.failures.detect = 0; }},
      {"more than 8388608 nodes would join: lower churn or time", [](Scenario& s) { s.churn.joins = 1e6; }},
      {"more than 8388608 nodes would join: lower churn or time", [](Scenario& s) { s.failures.mean_life = 1e-4; }},
      {"work '0' takes no time: steps without end would fit into the run", [](Scenario& s) { s.work = dist("0"); }},
      {"work 'exp(0)' takes no time: steps without end would fit into the run",
       [](Scenario& s) { s.work = dist("exp(0)"); }},
      {"speed 'uniform(0,0)' takes no time: steps without end would fit into the run",
       [](Scenario& s) { s.speed = dist("uniform(0,0)"); }},
      {"the trace holds no node", [&](Scenario& s) { s.replay = &none; }},
      {"worker 1 of the trace has completed no step", [&](Scenario& s) { s.replay = &idle; }},
      {"worker 0 of the trace has completed no step", [&](Scenario& s) { s.replay = &still; }},
  };
  CHECK(scenario(100, 200, "exp(1)").check().ok());
  for (const auto& [message, spoil] : cases) {
    Scenario spoilt = scenario(100, 200, "exp(1)");
    spoil(spoilt);
    const Status status = spoilt.check();
    INFO(message);
    CHECK(failure_of(status).code == Code::bad_argument);
    CHECK(failure_of(status).message == message);
  }
}

TEST_CASE("work with an infinite mean and work of a trace can be simulated") {
  CHECK(scenario(10, 10, "pareto(0.5,1)").check().ok());
  CHECK(run(scenario(10, 50, "pareto(0.5,1)"), kBsp).updates > 0);
}

TEST_CASE("a node that draws a speed of 0 draws again, since its steps would never end") {
  const TempDir folder;
  Scenario half = scenario(20, 10.5, "1");
  half.speed = dist("trace(" + folder.write("speeds", "0\n0\n2\n").string() + ")");
  REQUIRE(half.check().ok());
  CHECK(run(half, kAsp).updates == 20 * 5);
}
