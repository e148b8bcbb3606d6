#include "host/page/page_view.hpp"

#include <catch2/catch.hpp>

#include "host/page/state_fields.hpp"
#include "tests/host/page/sample_state.hpp"

using namespace actorhost;
using nlohmann::json;

TEST_CASE("a message about a thousand nodes is small, and has those that need attention") {
  json state = test::sample_state(1000);
  state["nodes"][777]["state"] = "silent";
  for (int line = 0; line < 500; ++line) {
    state["log"].push_back({{"t", line}, {"level", "info"}, {"who", "rank 1"}, {"text", std::string(150, 'x')}});
    state["keys"].push_back({{"key", "k" + std::to_string(line)}, {"shape", {64, 64}}, {"updates", line}});
    state["series"]["s" + std::to_string(line)] = state["series"]["loss"];
  }
  for (const char* sort : {"id", "state", "step", "ahead", "wait", "updates", "sent", "host"}) {
    const json message = page_message(state, {512, sort});
    CHECK(json_text(message).size() < 40'000);
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
  CHECK(counted == 999);  // all but the lost one
  CHECK(page_message(state, {1'000'000, "id"})["view"]["offset"] == 960);
  CHECK(page_message(state, {0, "step"})["nodes"][0]["name"] == "rank 2");
  CHECK(page_message(state, {0, "state"})["nodes"][0]["name"] == "rank 1");
}

TEST_CASE("a message about a few nodes has all of them, with numbers that can be read") {
  const json message = page_message(test::sample_state(4), {});
  REQUIRE(message["nodes"].size() == 5);
  CHECK(message["nodes"][4]["name"] == "server 0");
  CHECK(message["notable"].empty());
  CHECK(message["nodes"][0]["since"] == 0.01235);
  CHECK(message["collective"]["missing"] == json({2}));
  CHECK(message["barrier"][0]["waiting"][0]["for"] == json({2}));
  CHECK(message["keys"]["count"] == 2);
  const json& line = message["series"]["loss"]["0"];
  CHECK(line.size() <= 200);
  CHECK(line.back() == json({300, 0.006667}));
}

TEST_CASE("a state whose fields are of other types is shown as far as it goes") {
  const json good = test::sample_state(3);
  const json others[] = {nullptr, 1, "text", json::array({1, "two", nullptr, json::array()}), json::object({{"x", 1}}),
                         -1e300};
  for (auto field = good.begin(); field != good.end(); ++field) {
    for (const json& other : others) {
      json state = good;
      state[field.key()] = other;
      CHECK(page_message(state, {}).is_object());
      state = good;
      for (json& row : state["nodes"]) row[field.key() == "run" ? "wait" : "step"] = other;
      if (field->is_array() && !field->empty()) {
        for (auto inner = (*field)[0].begin(); inner != (*field)[0].end(); ++inner)
          state[field.key()][0][inner.key()] = other;
      }
      CHECK(page_message(state, {1, "wait"}).is_object());
    }
  }
}
