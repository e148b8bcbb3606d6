// Messages with delay and loss, which queue at the shards of a parameter server.

#include "tests/host/sim/sim_world.hpp"
#include "tests/test.hpp"

namespace {

Scenario server(uint32_t nodes, double seconds, const std::string& work, uint32_t shards) {
  Scenario out = scenario(nodes, seconds, work);
  out.topology.kind = Topology::Kind::server;
  out.topology.shards = shards;
  return out;
}

}  // namespace

TEST_CASE("one node's step takes its work, a message there, the service and a message back") {
  for (const uint32_t shards : {1U, 2U, 8U}) {
    Scenario one = server(1, 100, "0.5", shards);
    one.topology.service = dist("0.25");   // the shards work in parallel
    CHECK(run(one, kBsp).updates == 133);  // at 0.75, 1.5, ... 99.75
    CHECK(run(one, kBsp).network == Approx(133 * 0.25 + 0));
    one.delay = dist("0.125");
    CHECK(run(one, kBsp).updates == 100);  // counted 0.875 after each start, the first at 0.875
    CHECK(run(one, kBsp).messages == 200 * shards);
    one.topology.bytes = 1000.0 * shards;
    one.topology.bandwidth = 4000;        // a quarter of a second each way
    CHECK(run(one, kBsp).updates == 66);  // at 1.125 and every 1.5 s from there
  }
}

TEST_CASE("a node of an oracle works, reports its step and receives permission") {
  Scenario one = scenario(1, 10, "0.5");
  one.delay = dist("0.25");
  const SimResult result = run(one, kBsp);
  CHECK(result.updates == 10);
  CHECK(result.busy == Approx(5));
  CHECK(result.network == Approx(5));
}

TEST_CASE("a shard that is never idle counts as many updates as its service allows") {
  Scenario busy = server(20, 100, "0.1", 1);
  busy.topology.service = dist("0.05");
  const SimResult result = run(busy, kAsp);
  CHECK(result.updates == Approx(20 * (100 - 0.1)).margin(2));
  // Twenty nodes circulate: time that is neither work nor service is spent in the queue.
  CHECK(result.network == Approx(20 * 100 - result.busy).epsilon(1e-9));
  Scenario idle = busy;
  idle.topology.service = dist("0.001");
  CHECK(run(idle, kAsp).updates > 10 * 1000);
}

TEST_CASE("the bandwidth of a shard bounds the updates, and shards share the bytes") {
  for (const uint32_t shards : {1U, 4U}) {
    Scenario narrow = server(20, 100, "0.01", shards);
    narrow.topology.bytes = 100;
    narrow.topology.bandwidth = 1000;
    const double each = 100.0 / shards / 1000;
    const SimResult result = run(narrow, kAsp);
    CHECK(static_cast<double>(result.updates) <= 100 / each);
    CHECK(static_cast<double>(result.updates) >= 0.98 * 100 / each);
  }
}

TEST_CASE("a lost message is sent again until it arrives: p / (1 - p) repeats on average, each costing the retry") {
  for (const double loss : {0.1, 0.5, 0.9}) {
    Scenario lossy = scenario(20, 300, "exp(0.5)");
    lossy.loss = loss;
    lossy.retry = 0.01;
    const SimResult result = run(lossy, kAsp);
    const auto first = static_cast<double>(result.messages - result.lost);
    const double repeats = static_cast<double>(result.lost) / first;
    const double error = std::sqrt(loss) / (1 - loss) / std::sqrt(first);
    INFO("loss " << loss << ", " << repeats << " repeats");
    CHECK(std::abs(repeats - loss / (1 - loss)) <= 4.5 * error);
    CHECK(result.network == Approx(static_cast<double>(result.lost) * 0.01).epsilon(0.02));
    CHECK(first >= 2 * static_cast<double>(result.updates));
    CHECK(first <= 2 * static_cast<double>(result.updates) + 20);
  }
}

TEST_CASE("delay lengthens a step without a barrier by a message each way, and one of bsp by more") {
  const Scenario near = scenario(50, 2000, "1+exp(1)");
  Scenario far = near;
  far.delay = dist("exp(0.5)");
  const auto longer = [&](const NativeRule& rule) {
    return 2000 / run(far, rule).mean_step - 2000 / run(near, rule).mean_step;
  };
  CHECK(longer(kAsp) == Approx(1).epsilon(0.02));
  CHECK(longer(kBsp) > 1.1);  // it waits for the slowest messages
}

TEST_CASE("replayed steps take the recorded work and network time, and are drawn at random after the last") {
  Replay replay;
  replay.nodes.resize(2);
  replay.nodes[0].steps = {{1, 0.5}, {2, 0.25}};
  replay.nodes[1].steps = {{4, 0}};
  Scenario recorded = scenario(2, 12, "0");
  recorded.replay = &replay;
  recorded.trace = true;
  const SimResult result = run(recorded, kAsp);
  std::vector<double> applied;
  double started = 0;
  for (const SimTraceEvent& event : result.trace) {
    if (event.node != 0) continue;
    if (event.kind == SimTraceEvent::Kind::apply) applied.push_back(event.time);
    if (event.kind == SimTraceEvent::Kind::start) started = event.time;
    if (event.kind != SimTraceEvent::Kind::finish) continue;
    const double work = event.time - started;
    CHECK((work == 1 || work == 2));
  }
  REQUIRE(applied.size() > 3);
  CHECK(applied[0] == 1.5);
  CHECK(applied[1] == 3.75);
  for (size_t i = 2; i < applied.size(); ++i) {
    const double step = applied[i] - applied[i - 1];
    CHECK((step == 1.5 || step == 2.25));
  }
  CHECK(std::count_if(result.trace.begin(), result.trace.end(),
                      [](const SimTraceEvent& e) { return e.node == 1 && e.kind == SimTraceEvent::Kind::apply; }) == 3);
}

TEST_CASE("a replay by time has slow phases that last as long under every rule") {
  Replay replay;
  replay.nodes.resize(1);
  replay.period = 20;
  for (int k = 0; k < 20; ++k) replay.nodes[0].steps.push_back({0.25, 0.25, 0.5 * k});
  for (int k = 0; k < 5; ++k) replay.nodes[0].steps.push_back({1.5, 0.5, 10 + 2.0 * k});
  replay.nodes.push_back({0, 0, {{3, 0}}});  // under BSP the first node makes a step in three seconds
  for (const NativeRule& rule : {kAsp, kBsp}) {
    for (const double offset : {0.0, 10.0}) {
      replay.offset = offset;
      Scenario recorded = scenario(2, 400, "0");
      recorded.replay = &replay;
      recorded.trace = true;
      double started = 0;
      int fast = 0;
      int slow = 0;
      const SimResult result = run(recorded, rule);
      for (const SimTraceEvent& event : result.trace) {
        if (event.node != 0) continue;
        if (event.kind == SimTraceEvent::Kind::start) started = event.time;
        if (event.kind != SimTraceEvent::Kind::finish) continue;
        const double phase = std::fmod(started + offset, 20);
        if (phase > 1 && phase < 9) {
          ++fast;
          CHECK(event.time - started == Approx(0.25));
        } else if (phase > 14 && phase < 16) {
          ++slow;
          CHECK(event.time - started == Approx(1.5));
        }
      }
      CHECK(fast > 20);
      CHECK(slow > 5);
    }
  }
}

TEST_CASE("a replayed node joins and leaves at the recorded times, and takes its own steps") {
  Replay replay;
  replay.nodes.resize(4);
  replay.nodes[0] = {0, 0, {{2, 0}}};
  replay.nodes[1] = {0, 6, {{3, 0}}};
  replay.nodes[2] = {3, 0, {{0.5, 0}}};
  replay.nodes[3] = {5, 7.5, {{1, 0}}};
  Scenario recorded = scenario(4, 10.25, "0");
  recorded.replay = &replay;
  recorded.trace = true;
  const SimResult result = run(recorded, kAsp);
  std::vector<std::string> lives(4);
  std::vector<double> starts(4);
  std::vector<double> steps(4);
  for (const SimTraceEvent& event : result.trace) {
    REQUIRE(event.node < 4);
    const std::string time = std::to_string(event.time).substr(0, 3);
    switch (event.kind) {
      case SimTraceEvent::Kind::join: lives[event.node] += time; break;
      case SimTraceEvent::Kind::leave: lives[event.node] += " to " + time; break;
      case SimTraceEvent::Kind::start: starts[event.node] = event.time; break;
      case SimTraceEvent::Kind::finish: steps[event.node] = event.time - starts[event.node]; break;
      case SimTraceEvent::Kind::release:
      case SimTraceEvent::Kind::apply: break;
    }
  }
  CHECK(lives == std::vector<std::string>{"0.0", "0.0 to 6.0", "3.0", "5.0 to 7.5"});
  CHECK(steps == std::vector<double>{2, 3, 0.5, 1});
  CHECK(result.joined == 2);
  CHECK(result.departed == 2);
}

TEST_CASE("a recorded leaver that has crashed before does not leave a second time") {
  Replay replay;
  for (int i = 0; i < 10; ++i) replay.nodes.push_back({0, 50, {{1, 0}}});
  Scenario recorded = scenario(10, 100, "0");
  recorded.replay = &replay;
  recorded.failures = {20, 0, 1};
  for (const NativeRule& rule : {kBsp, pbsp(2), pbsp(2, kSticky)}) {
    const SimResult result = run(recorded, rule);
    CHECK(result.crashed > 5);
    CHECK(result.departed + result.crashed <= 11);  // at most one was down at 50 s
    CHECK(result.ids.empty());
  }
}
