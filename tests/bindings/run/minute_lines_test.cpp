// The log lines of a run without a terminal, after a minute without output.

#include "bindings/run/minute_lines.hpp"

#include "tests/test.hpp"

TEST_CASE("the summary of a run has its time, its workers and their steps") {
  const auto node = [](const std::string& role, int step) {
    return R"({"role": ")" + role + R"(", "step": )" + std::to_string(step) + "}";
  };
  CHECK(summary_of_state(
            R"({"nodes": [)" + node("worker", 120) + "," + node("server", 9) + "," + node("worker", 140) + "]}", 185) ==
        "in progress for 3 min on 2 workers, at steps 120 to 140");
  CHECK(summary_of_state(R"({"nodes": [)" + node("worker", 7) + "]}", 60) ==
        "in progress for 1 min on 1 worker, at step 7");
  CHECK(summary_of_state(R"({"nodes": [{"role": "worker"}]})", 60) == "in progress for 1 min on 1 worker");
  CHECK(summary_of_state("no JSON", 600) == "in progress for 10 min on 0 workers");
}
