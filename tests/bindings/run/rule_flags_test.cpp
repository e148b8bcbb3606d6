// The rule file in --barrier.
#include "bindings/run/rule_flags.hpp"

#include <utility>

#include "tests/test.hpp"

TEST_CASE("the rule file in --barrier is found, also within other rules") {
  const std::pair<const char*, const char*> specs[] = {
      {"", ""},
      {"bsp", ""},
      {"pssp:10:4@sticky", ""},
      {"rule.lua", "rule.lua"},
      {"rule.lua:halfway", "rule.lua"},
      {"/tmp/my.lua/rules.v2.lua:x", "/tmp/my.lua/rules.v2.lua"},
      {"delay_bounded:1:rule.lua", "rule.lua"},
      {"delay_bounded:1:rule.lua:x", "rule.lua"},
      {"delay_bounded:0.5:sample:10:rules/mine.lua:x@sticky", "rules/mine.lua"},
      {"sample:10:rule.lua@poll:0.5", "rule.lua"},
      {"delay_bounded:2:ssp:4", ""},
  };
  for (const auto& [spec, file] : specs) {
    INFO(spec);
    const auto found = required(rule_file_of("barrier", spec));
    CHECK(*found == file);
  }
}

TEST_CASE("a --barrier around a rule file is checked without the file") {
  const std::pair<const char*, const char*> specs[] = {
      {"delay_bounded:x:rule.lua", "seconds has to be"},
      {"sample:-1:rule.lua", "beta has to be"},
      {"delay_bound:1:rule.lu", "there is no rule 'delay_bound'; did you mean delay_bounded?"},
      {"ssp", "it is written ssp:S"},
  };
  for (const auto& [spec, message] : specs) {
    INFO(spec);
    const auto found = rule_file_of("barrier", spec);
    CHECK(failure_of(found).code == Code::bad_argument);
    CHECK_THAT(failure_of(found).message, Catch::StartsWith("--barrier '") && Catch::Contains(message));
  }
}

TEST_CASE("the flag --merge is checked as --barrier is") {
  CHECK(*required(rule_file_of("merge", "rules/mine.lua:newest")) == "rules/mine.lua");
  CHECK(*required(rule_file_of("merge", "drop:2")) == "");
  const auto found = rule_file_of("merge", "dorp:2");
  CHECK_THAT(failure_of(found).message, Catch::StartsWith("--merge 'dorp:2'") && Catch::Contains("did you mean drop?"));
}
