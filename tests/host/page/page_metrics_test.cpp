#include "host/page/page_metrics.hpp"

#include <regex>

#include "tests/host/page/sample_state.hpp"
#include "tests/integration/process.hpp"
#include "tests/test.hpp"

using nlohmann::json;

namespace {

std::set<std::string> metric_names(const std::string& text) {
  std::set<std::string> out;
  static const std::regex kName("actorhost_[a-z_]+");
  for (std::sregex_iterator at(text.begin(), text.end(), kName), end; at != end; ++at) out.insert(at->str());
  return out;
}

}  // namespace

TEST_CASE("metrics have names with units, labels of their nodes, and whole histograms") {
  json state = test::sample_state(4);
  state["run"]["job"] = "a \"quoted\"\nname";
  const std::string text = metrics_text(state);
  CAPTURE(text);
  const auto has = [&](const std::string& line) { return text.find("\n" + line + "\n") != std::string::npos; };
  CHECK(has(R"(actorhost_node_steps_total{node="2",role="worker",host="alpha:4711"} 80)"));
  CHECK(has(R"(actorhost_node_wait_seconds_total{node="0",role="server",host="alpha:4711",cause="server"} 5)"));
  CHECK(has(R"(actorhost_node_up{node="1",role="worker",host="alpha:4711"} 0)"));
  CHECK(has(R"(actorhost_nodes{state="lost"} 1)"));
  CHECK(has(R"(actorhost_node_rank{node="3",role="worker",host="alpha:4711"} 3)"));
  CHECK(has(R"(actorhost_barrier_wait_seconds_total{node="3"} 2.5)"));
  CHECK(has("# TYPE actorhost_node_steps_total counter"));
  CHECK(has(R"(actorhost_step_duration_seconds_bucket{le="0.01"} 21)"));
  CHECK(has(R"(actorhost_step_duration_seconds_bucket{le="+Inf"} 326)"));
  CHECK(has("actorhost_step_duration_seconds_count 326"));
  CHECK(text.find(R"(actorhost_report{series="loss",node="0",role="worker"} 0.00666)") != std::string::npos);
  CHECK(text.find(R"(job="a \"quoted\"\nname")") != std::string::npos);
}

TEST_CASE("a server's reported values stay separate from those of the worker with its number") {
  json state = test::sample_state(1);
  state["series"] = {{"loss",
                      {{{"t", 1}, {"step", 1}, {"id", 0}, {"value", 3}},
                       {{"t", 1}, {"step", 1}, {"id", 0}, {"role", "server"}, {"value", 4}}}}};
  const std::string text = metrics_text(state);
  CHECK(text.find("actorhost_report{series=\"loss\",node=\"0\",role=\"worker\"} 3\n") != std::string::npos);
  CHECK(text.find("actorhost_report{series=\"loss\",node=\"0\",role=\"server\"} 4\n") != std::string::npos);
}

TEST_CASE("a worker's counters continue when other workers are lost and ranks change") {
  const auto steps_of = [](const json& state) {
    const std::string text = metrics_text(state);
    const size_t at = text.find("actorhost_node_steps_total{node=\"3\"");
    return text.substr(at, text.find('}', at) - at);
  };
  json state = test::sample_state(4);
  const std::string before = steps_of(state);
  state["nodes"][3]["rank"] = 2;
  CHECK(steps_of(state) == before);
}

TEST_CASE("promtool accepts the metrics without remarks") {
  const TempDir folder;
  const auto file = folder.write("metrics", metrics_text(test::sample_state(4)));
  const Finished checked = run_program(
      "sh", {"-c", "command -v promtool >/dev/null || exit 77; promtool check metrics <" + shell_word(file)}, 20);
  if (checked.status == 77) {
    WARN("test-skipped: promtool is not here (Debian's package prometheus has it)");
    return;
  }
  INFO(checked.description);
  CHECK(checked.status == 0);
  CHECK(checked.out + checked.err == "");
}

TEST_CASE("the Grafana board uses existing metrics only") {
  const json board = json::parse(read_text(source_dir() / "examples/grafana/actorhost.json"));
  const auto known = metric_names(metrics_text(test::sample_state(4)));
  size_t queries = 0;
  for (const json& panel : board.at("panels")) {
    if (!panel.contains("targets")) continue;
    for (const json& target : panel["targets"]) {
      for (const std::string& name : metric_names(target.at("expr").get<std::string>())) {
        CAPTURE(panel["title"]);
        CHECK(known.contains(name));
      }
      ++queries;
    }
  }
  CHECK(queries > 10);
}
