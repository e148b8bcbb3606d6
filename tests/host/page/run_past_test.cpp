// The past of a run: points from states, and their slots.

#include "host/page/run_past.hpp"

#include <nlohmann/json.hpp>

#include "host/base/outside_json.hpp"
#include "tests/host/page/sample_state.hpp"
#include "tests/test.hpp"

using nlohmann::json;

namespace {

/// The past of a run of four workers with a state each second.
struct RecordedPast {
  PastReader reader;
  RunPast past;

  /// The curve of the updates rises and falls, with a peak at second 1,234.
  void add(int seconds) {
    json state = test::sample_state(4);
    for (int t = 1; t <= seconds; ++t) {
      state["run"]["t"] = t;
      for (json& node : state["nodes"]) node["step"] = node["updates"] = 10 * t;
      PastPoint point = reader.read(state);
      for (auto& [index, value] : point.values) {
        const auto& [group, line] = reader.lines()[index];
        if (group == "updates") value = t == 1234 ? 999.0F : static_cast<float>(t % 7);
      }
      past.add(point);
    }
  }
};

/// All values of a line, in the order of their times.
std::vector<double> values_of(const json& message, const std::string& group, const std::string& line) {
  std::vector<double> out;
  for (const json& value : message["lines"][group][line]) {
    if (value.is_number()) out.push_back(value.get<double>());
    if (value.is_array()) out.insert(out.end(), value.begin(), value.end());
  }
  return out;
}

}  // namespace

TEST_CASE("a point has the progress of each worker, rates, and the processors and memory of each process") {
  PastReader reader;
  const json first = reader.values(reader.read(test::sample_state(4, 1)));
  CHECK(first["steps"] == json({{"0", 10}, {"2", 8}, {"3", 10}, {"highest", 10}, {"median", 10}, {"lowest", 8}}));
  CHECK(!first.contains("updates"));  // a rate needs two states
  const json second = reader.values(reader.read(test::sample_state(4, 3)));
  CHECK(second["steps"]["2"] == 24);
  CHECK(second["updates"]["all"] == 40);  // four workers with ten a second each, the lost one too
  CHECK(second["bytes"]["all"].get<double>() == Approx(4 * 1234567).epsilon(0.001));
  CHECK(second["cpu"]["0"] == Approx(3.1));
  CHECK(second["memory"]["0"] == 90'000'000);
}

TEST_CASE("of many workers and processes a point has only the highest, median and lowest") {
  PastReader reader;
  reader.read(test::sample_state(1000, 1));
  const json point = reader.values(reader.read(test::sample_state(1000, 2)));
  for (const char* group : {"steps", "cpu", "memory"}) CHECK(point[group].size() == 3);
  CHECK(point["steps"]["lowest"] == 16);
  CHECK(reader.lines().size() <= PastReader::kLines);
}

TEST_CASE("the past of an hour and more keeps its peaks, drops what is older, and is small") {
  RecordedPast run;
  run.add(4500);
  const json message = run.past.message(run.reader);
  const json& times = message["t"];
  CHECK(times.size() <= RunPast::kMessageSlots);
  CHECK(times.size() >= 150);
  CHECK(times[0][0].get<double>() >= 4500 - RunPast::kSeconds - RunPast::kSlotWidth);
  CHECK(times[0][0].get<double>() <= 4500 - RunPast::kSeconds + 2 * RunPast::kSlotWidth);
  CHECK(times.back()[1] == 4500);
  for (size_t i = 1; i < times.size(); ++i) CHECK(times[i][0] > times[i - 1][1]);
  const std::vector<double> updates = values_of(message, "updates", "all");
  CHECK(std::count(updates.begin(), updates.end(), 999) == 1);
  CHECK(*std::min_element(updates.begin(), updates.end()) == 0);
  const std::vector<double> steps = values_of(message, "steps", "0");
  CHECK(std::is_sorted(steps.begin(), steps.end()));
  CHECK(steps.back() == 45'000);
  CHECK(json_text(message).size() < 200'000);
}

TEST_CASE("a short past has a point for each state, and requests within a second add none") {
  RecordedPast run;
  run.add(100);
  CHECK(run.past.message(run.reader)["t"].size() == 100);
  for (const double t : {100.2, 100.4, 100.6}) run.past.add(run.reader.read(test::sample_state(4, t)));
  const json message = run.past.message(run.reader);
  CHECK(message["t"].size() == 100);
  CHECK(message["t"].back() == json({100, 100.6}));
  CHECK(message["lines"]["steps"]["0"].back() == json({1000, 1006}));
  run.past.add(run.reader.read(test::sample_state(4, 50)));  // an older state
  CHECK(run.past.message(run.reader)["t"].back() == json({100, 100.6}));
}

TEST_CASE("workers that come and go have at most as many lines as fit") {
  PastReader reader;
  RunPast past;
  json state = test::sample_state(4);
  for (int t = 1; t <= 200; ++t) {
    state["run"]["t"] = t;
    for (json& node : state["nodes"]) node["id"] = node["id"].get<int>() + 4;
    past.add(reader.read(state));
  }
  CHECK(reader.lines().size() == PastReader::kLines);
  CHECK(values_of(past.message(reader), "steps", "median").size() == 200);
}
