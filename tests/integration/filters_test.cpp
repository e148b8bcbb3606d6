// Compression filters of param.run: a least-squares job whose workers have different data. `w` is the fitted value,
// `wide` is large enough to be split over servers, `small` and `plain` are not filtered.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

struct FilterOutcome {
  double loss = 0;
  std::string hash;
  std::string out;
  double number(const std::string& name) const { return std::stod(line_after(out, name + ": ")); }
};

FilterOutcome outcome(const std::string& place, const Words& words) {
  const Ended run(run_at(place, JobFolder(), with({"--seed", "3"}, with(words, {})), 100));
  return {std::stod(line_after(run.out, "loss: ")), line_after(run.out, "hash: "), run.out};
}

}  // namespace

TEST_CASE("a job with filters reaches the same loss as without, with fewer bytes", "[deep]") {
  struct Case {
    const char* push;
    const char* pull;
    double tolerance;  // of the loss
    double push_ratio;
    double pull_ratio;
  };
  const double plain = outcome("threads", {"jobs/filters.lua"}).loss;
  CHECK(plain < 0.01);
  for (const Case& c : {Case{"none", "none", 0, 1, 1},
                        {"fp16", "", 1e-3, 1.9, 1},
                        {"int8", "", 1e-3, 3.2, 1},
                        {"topk:0.25", "", 0.02, 2.6, 1},
                        {"topk:0.25+fp16", "fp16", 0.02, 4, 1.9},
                        {"int8", "int8", 0.1, 3.2, 3.2}}) {
    INFO(c.push << " and " << c.pull);
    Words words = {"jobs/filters.lua", "--push", c.push};
    if (*c.pull != '\0') words = with(words, {"--pull", c.pull});
    const FilterOutcome found = outcome("threads", words);
    CHECK(found.loss <= plain * (1 + c.tolerance) + 1e-8);
    CHECK(found.number("small") == Approx(-30));
    if (std::string(c.push) == "none") continue;
    CHECK(found.number("push ratio") > c.push_ratio);
    CHECK(found.number("pull ratio") >= c.pull_ratio);
    // 3 workers, 200 steps, 710 floats and, in one direction, a table.
    CHECK(found.number("push before") == 3 * 200 * 710 * 4);
    CHECK(found.number("pull before") > 3 * 200 * 710 * 4);
    CHECK(found.number("push before") / found.number("push after") == Approx(found.number("push ratio")).epsilon(1e-3));
  }
}

TEST_CASE("with filters one seed gives the same bits in threads, processes and hosts", "[deep]") {
  const std::string servers = GENERATE(as<std::string>(), "1", "3");
  CAPTURE(servers);
  const Words words = {"--servers", servers,  "jobs/filters.lua", "--steps", "12",  "--wide",
                       "300000",    "--push", "topk:0.05+int8",   "--pull",  "int8"};
  const FilterOutcome threads = outcome("threads", words);
  CHECK(threads.number("push ratio") > 35);
  CHECK(threads.number("pull ratio") > 3.9);
  CHECK(outcome("isolate", words).out == threads.out);
  CHECK(outcome("hosts", words).out == threads.out);
}

TEST_CASE("a pull in Lua receives updates after the filter", "[deep]") {
  const Words words = {"--servers", "2", "jobs/filters.lua", "--steps", "10", "--wide", "300000", "--push", "fp16"};
  // Both ways do the same arithmetic, except for the order of additions.
  const FilterOutcome native = outcome("threads", words);
  const FilterOutcome lua = outcome("threads", with(words, {"--pull_in_lua"}));
  CHECK(lua.loss == Approx(native.loss).epsilon(1e-4));
  CHECK(lua.number("push after") == Approx(native.number("push after")).epsilon(0.01));
}

TEST_CASE("filters that param.run cannot use end the job with a remedy") {
  const JobFolder folder;
  const auto refused = [&](const std::string& options, const std::string& message) {
    folder.write("job.lua",
                 "require('actor').param.run { schedule = function() return {} end, push = function() return {} "
                 "end, stop = function() return true end, " +
                     options + " }");
    const Ended run(folder.run({"-n", "1", "job.lua"}), 1);
    CHECK(run.err.find(message) != std::string::npos);
  };
  refused("filter = { push = 'topk:0.1' }", "filter.push: topk and randk send parts of updates, but without pull=");
  refused("filter = { pull = 'topk:0.1' }",
          "filter.pull: with topk or randk all elements of a value but the sent would be 0");
  refused("filter = { push = 'fp17' }", "'fp17' is no filter");
  refused("filter = { both = 'fp16' }", "unknown option 'both' to param.run, filter");
  refused("filter = 'fp16'", "bad argument 'filter' to param.run: expected table, got string");
}
