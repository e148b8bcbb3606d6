#include "host/page/page_view.hpp"

#include <nlohmann/json.hpp>

#include "host/base/outside_json.hpp"
#include "host/page/run_past.hpp"
#include "host/page/series_view.hpp"
#include "host/page/state_fields.hpp"
#include "tests/host/page/sample_state.hpp"
#include "tests/test.hpp"

using nlohmann::json;

TEST_CASE("a message about a thousand nodes is small, and includes the nodes that need attention", "[deep]") {
  json state = test::sample_state(1000);
  state["nodes"][777]["state"] = "silent";
  for (int line = 0; line < 500; ++line) {
    state["log"].push_back({{"t", line}, {"level", "info"}, {"who", "rank 1"}, {"text", std::string(150, 'x')}});
    state["keys"].push_back({{"key", "k" + std::to_string(line)}, {"shape", {64, 64}}, {"updates", line}});
    state["series"]["s" + std::to_string(line)] = state["series"]["loss"];
  }
  for (const char* sort : {"id", "state", "step", "ahead", "wait", "updates", "sent", "host"}) {
    const json message = page_message(state, {512, sort});
    CHECK(json_text(message).size() < 48'000);
    CHECK(message["nodes"].size() == kWindowNodes);
    CHECK(message["view"]["total"] == 1001);
  }
  const json message = page_message(state, {64, "id"});
  CHECK(message["nodes"][0]["name"] == "rank 64");
  REQUIRE(message["notable"].size() == 3);
  CHECK(message["notable"][0]["state"] == "lost");
  CHECK(message["notable"][1]["straggler"] == true);
  CHECK(message["notable"][2]["name"] == "rank 777");
  CHECK(message["totals"]["states"] == json({{"lost", 1}, {"computing", 1}, {"silent", 1}, {"waiting", 998}}));
  CHECK(message["totals"]["workers"] == 1000);
  CHECK(message["totals"]["steps"]["min"] == 80);
  CHECK(message["totals"]["steps"]["median"] == 100);
  int counted = 0;
  for (const json& count : message["totals"]["steps"]["counts"]) counted += count.get<int>();
  CHECK(counted == 999);  // all but the lost worker
  CHECK(page_message(state, {1'000'000, "id"})["view"]["offset"] == 960);
  CHECK(page_message(state, {0, "step"})["nodes"][0]["name"] == "rank 2");
  CHECK(page_message(state, {0, "state"})["nodes"][0]["name"] == "rank 1");
}

TEST_CASE("a message about a few nodes includes all of them, with short numbers") {
  const json message = page_message(test::sample_state(4), {});
  REQUIRE(message["nodes"].size() == 5);
  CHECK(message["nodes"][4]["name"] == "server 0");
  CHECK(message["notable"].empty());
  CHECK(message["nodes"][3]["since"] == 0.01235);
  CHECK(message["collective"]["missing"] == json({2}));
  CHECK(message["barrier"][0]["waiting"][0]["for"] == json({2}));
  CHECK(message["keys"]["count"] == 2);
  const json& line = message["series"]["names"]["loss"]["lines"]["0"];
  CHECK(line.size() <= 200);
  CHECK(line.back() == json({300, 0.006667}));
}

TEST_CASE("a message has the recent spans of the first nodes of its window, with short names and times") {
  json state = test::sample_state(100);
  for (json& node : state["nodes"]) {
    json list = json::array();
    for (int i = 0; i < 200; ++i) {
      list.push_back({i % 2 == 0 ? "wait: pull" : "step", i % 2 == 0 ? "wait" : "step", 200 + i / 10, 10 + 0.005 * i,
                      10.0012345 + 0.005 * i});
    }
    node["stream"] = {{"first", 200}, {"next", 220}, {"width", 0.05}, {"at", 11.02}, {"list", list}};
  }
  PageView view;
  CHECK(!page_message(state, view).contains("stream"));
  view.stream = true;
  const json message = page_message(state, view);
  CHECK(message["stream"]["names"] == json::array({{"wait: pull", "wait"}, {"step", "step"}}));
  REQUIRE(message["stream"]["nodes"].size() == kStreamNodes);
  const json& node = message["stream"]["nodes"][3];
  CHECK(node["id"] == 3);
  CHECK(node["at"] == 11.02);
  REQUIRE(node["spans"].size() == 100);  // the newest
  CHECK(node["spans"][99] == json({1, 19, 995, 1.235}));
  CHECK(json_text(message).size() < 72'000);
  const std::vector<std::string> sections = sections_for(message, view);
  CHECK(sections.size() == kStreamNodes);
  CHECK(sections[3] == "stream:worker 3");
}

TEST_CASE("a message about a chosen node has its newest output and its lines of the log") {
  json state = test::sample_state(4);
  for (int i = 0; i < 30; ++i) state["nodes"][2]["output"].push_back("line " + std::to_string(i));
  for (const char* who : {"rank 2", "worker 2", "rank 3"}) {
    state["log"].push_back({{"t", 3}, {"level", "info"}, {"who", who}, {"text", who}});
  }
  PageView view;
  view.node = "worker 2";
  const json detail = page_message(state, view)["detail"];
  CHECK(detail["state"] == "computing");
  CHECK(detail["rank"] == 2);
  REQUIRE(detail["output"].size() == 20);
  CHECK(detail["output"].back() == "line 29");
  REQUIRE(detail["log"].size() == 2);
  CHECK(detail["log"][1]["text"] == "worker 2");
  CHECK(sections_for(json::object(), view) == std::vector<std::string>{"output:worker 2"});
  view.node = "worker 99";
  CHECK(page_message(state, view)["detail"].is_null());
}

TEST_CASE("the time of a long run keeps its seconds, and large steps their digits") {
  json state = test::sample_state(4, 12345.67);
  const json message = page_message(state, {});
  CHECK(message["run"]["t"] == 12345.67);
  CHECK(message["totals"]["steps"]["max"] == 123456);
}

TEST_CASE("a worker's wait for the server while the barrier holds it counts as the barrier's") {
  const json message = page_message(test::sample_state(4, 8), {});
  const json& wait = message["nodes"][3]["wait"];
  CHECK(wait["barrier"] == 2);
  CHECK(wait["server"] == 1);
  CHECK(message["nodes"][4]["wait"]["server"] == 4);  // the barrier does not hold a server
  CHECK(message["totals"]["wait"]["barrier"] == 8);
  CHECK(message["totals"]["wait"]["server"] == 4);
  CHECK(message["totals"]["worker_seconds"] == 32);
}

TEST_CASE("a collective with waits of less than a second is not shown") {
  json state = test::sample_state(4);
  state["nodes"][0]["since"] = 0.9;
  CHECK(page_message(state, {})["collective"].is_null());
}

TEST_CASE("workers without steps are compared by their collectives, or by their tasks") {
  json state = test::sample_state(3);
  for (json& node : state["nodes"]) node["step"] = 0;
  json message = page_message(state, {});
  CHECK(message["totals"]["progress"] == "collectives");
  CHECK(message["nodes"][0]["progress"] == 7);
  CHECK(message["totals"]["steps"]["max"] == 7);
  state["nodes"][2]["calls"] = 6;
  CHECK(page_message(state, {0, "step"})["nodes"][0]["name"] == "rank 2");
  for (json& node : state["nodes"]) node["calls"] = 0;
  CHECK(page_message(state, {})["totals"]["progress"] == "tasks");
}

TEST_CASE("series of a few nodes have a line each, series of many nodes a span, and omitted series are counted") {
  json series;
  const auto point = [](int step, int id, const json& value) {
    return json({{"t", step}, {"step", step}, {"id", id}, {"value", value}});
  };
  for (int step = 1; step <= 100; ++step) {
    for (int id = 0; id < 12; ++id) series["loss"].push_back(point(step, id, 10 * step + id));
    series["two"].push_back(point(step, 0, step == 50 ? json() : json(step)));
    series["two"].push_back(point(step, 10, step));
  }
  series["two"].push_back({{"t", 1}, {"step", 1}, {"id", 0}, {"role", "server"}, {"value", 5}});
  json shown = thin_series(series);
  const json& loss = shown["names"]["loss"];
  CHECK(loss["nodes"] == 12);
  CHECK(loss["lines"].size() == 3);
  CHECK(loss["lines"]["lowest"][0] == json({1, 10}));
  CHECK(loss["lines"]["median"][99] == json({100, 1005}));
  CHECK(loss["lines"]["highest"].back() == json({100, 1011}));
  const json& two = shown["names"]["two"]["lines"];
  CHECK(two.size() == 3);
  CHECK(two["0"][49] == json({50, nullptr}));  // a gap
  CHECK(two["10"].size() == 100);
  CHECK(two["server 0"] == json({{1, 5}}));
  for (int i = 0; i < 20; ++i) series["s" + std::to_string(i)] = series["two"];
  shown = thin_series(series);
  CHECK(shown["names"].size() == 12);
  CHECK(shown["more"] == 10);
}

TEST_CASE("a state with fields of wrong types is shown as far as possible") {
  json good = test::sample_state(3);
  for (json& node : good["nodes"]) {
    node["stream"] = {{"first", 0}, {"next", 2}, {"width", 0.05}, {"at", 1}, {"list", {{"step", "step", 0, 0.1, 0.2}}}};
  }
  const json others[] = {nullptr, 1, "text", json::array({1, "two", nullptr, json::array()}), json::object({{"x", 1}}),
                         -1e300};
  for (auto field = good.begin(); field != good.end(); ++field) {
    for (const json& other : others) {
      json state = good;
      state[field.key()] = other;
      CHECK(page_message(state, {}).is_object());
      CHECK(PastReader().read(state).values.size() <= PastReader::kLines);
      state = good;
      for (json& row : state["nodes"]) row[field.key() == "run" ? "wait" : "step"] = other;
      if (field->is_array() && !field->empty()) {
        for (auto inner = (*field)[0].begin(); inner != (*field)[0].end(); ++inner)
          state[field.key()][0][inner.key()] = other;
      }
      CHECK(page_message(state, {1, "wait", "worker 1", true}).is_object());
      for (json& row : state["nodes"]) {
        if (row.is_object()) row["stream"] = {{"first", 0}, {"next", other}, {"list", {other, {"step", other}}}};
      }
      CHECK(page_message(state, {0, "id", "worker 1", true}).is_object());
    }
  }
}
