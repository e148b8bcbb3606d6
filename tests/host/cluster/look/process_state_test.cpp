// The sections of single nodes in a process's report: their stream of spans, and their output.

#include "host/cluster/look/process_state.hpp"

#include <nlohmann/json.hpp>

#include "tests/test.hpp"

using nlohmann::json;

namespace {

/// A process with a worker and a server.
struct StreamingProcess {
  ManualClock clock{100};
  ProcessState state{clock};
  std::shared_ptr<NodeStats> worker = state.add_node(worker_address(3), {});
  std::shared_ptr<NodeStats> server = state.add_node(server_address(0), {});

  json node(size_t index, const std::vector<std::string>& wanted) { return state.report(wanted)["nodes"][index]; }
  void put(const char* name, double begin, double end) { worker->spans()->put({name, "wait", begin, end, 0}); }
};

const char* const kStreamOf3 = "stream:worker 3";

}  // namespace

TEST_CASE("a stream has the spans of whole cells, once each, and joins short spans of a cell") {
  StreamingProcess process;
  CHECK(process.node(0, {kStreamOf3})["stream"]["list"].empty());
  CHECK(!process.node(1, {kStreamOf3}).contains("stream"));
  process.clock.advance(1);
  process.put("long", 100.5, 100.9);
  process.put("short", 100.91, 100.92);
  process.put("other", 100.92, 100.925);
  process.put("short", 100.93, 100.94);
  process.put("short", 100.96, 100.97);
  process.put("open cell", 100.98, 101.01);
  const json first = process.node(0, {kStreamOf3})["stream"];
  CHECK(first["width"] == 0.05);
  CHECK(first["first"].get<int>() >= 0);
  CHECK(first["next"] == 20);  // the present second is the begin of cell 20
  REQUIRE(first["list"].size() == 4);
  CHECK(first["list"][0][0] == "long");
  CHECK(first["list"][0][3].get<double>() == Approx(0.5));
  CHECK(first["list"][1][0] == "short");
  CHECK(first["list"][1][2] == 18);
  CHECK(first["list"][1][4].get<double>() == Approx(0.93));  // begin and the sum of two
  CHECK(first["list"][2][0] == "other");
  CHECK(first["list"][3][2] == 19);
  process.clock.advance(0.5);
  const json second = process.node(0, {kStreamOf3})["stream"];
  size_t later = 0;
  for (const json& span : second["list"]) later += span[2] >= first["next"] ? 1U : 0U;
  CHECK(later == 1);
  CHECK(second["list"].back()[0] == "open cell");
}

TEST_CASE("a stream covers no time in which no observer has watched the node") {
  StreamingProcess process;
  process.node(0, {kStreamOf3});
  process.clock.advance(60);
  const json again = process.node(0, {kStreamOf3})["stream"];
  CHECK(again["first"].get<int>() == again["next"].get<int>());
  process.clock.advance(1);
  const json next = process.node(0, {kStreamOf3})["stream"];
  CHECK(next["next"].get<int>() - next["first"].get<int>() == 19);
}

TEST_CASE("a stream of more spans than a node retains covers only the newest") {
  StreamingProcess process;
  process.node(0, {kStreamOf3});
  process.clock.advance(1);
  for (size_t i = 0; i < SpanRing::kMaxSpans + 1000; ++i) {
    const double begin = 100 + static_cast<double>(i) / 3000;
    process.put("step", begin, begin + 1.0 / 3000);
  }
  const json stream = process.node(0, {kStreamOf3})["stream"];
  CHECK(stream["first"].get<int>() == 7);  // a third of the second is lost
  CHECK(stream["list"].size() == 13);
}

TEST_CASE("the output of a node is its newest lines, shortened, and only on request") {
  StreamingProcess process;
  for (int i = 1; i <= 100; ++i) process.worker->add_output("line " + std::to_string(i));
  process.worker->add_output("\x1b[31m" + std::string(1000, 'x'));
  CHECK(!process.node(0, {}).contains("output"));
  const json node = process.node(0, {"output:worker 3"});
  REQUIRE(node["output"].size() == NodeStats::kOutputLines);
  CHECK(node["output"][0] == "line 62");
  const auto last = node["output"].back().get<std::string>();
  CHECK(last.ends_with("xxx..."));
  CHECK(last.size() < 300);
  CHECK(last.find('\x1b') == std::string::npos);
  CHECK(process.node(1, {"output:server 0"})["output"] == json::array());
}
