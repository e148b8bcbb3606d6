#include "host/base/distribution.hpp"

#include <cmath>
#include <string>

#include <catch2/catch.hpp>

using actorhost::Distribution;
using actorhost::Rng;

TEST_CASE("each distribution draws numbers with the mean it states") {
  for (const std::string text : {"0.25", "const(0.5)", "exp(2)", "gamma(3,0.5)", "uniform(1,3)", "pareto(4,1)",
                                 "lognormal(0,0.5)", "1+exp(1)", " 2 + gamma( 0.5 , 2 ) "}) {
    INFO(text);
    auto dist = Distribution::parse(text);
    REQUIRE(dist.ok());
    Rng rng(42);
    double sum = 0;
    const int n = 100000;
    for (int i = 0; i < n; ++i) sum += dist->draw(rng);
    CHECK(std::abs(sum / n - dist->mean()) < 0.03 * dist->mean() + 1e-9);
  }
}

TEST_CASE("a malformed distribution says which part is wrong") {
  const std::pair<const char*, const char*> cases[] = {
      {"", "expected a number"},        {"exp", "expected a number"},  {"exp(", "closing bracket"},
      {"exp(x)", "use exp(mean)"},      {"gamma(1)", "use gamma"},     {"gamma(1,2,3)", "use gamma"},
      {"normal(0,1)", "is none of"},    {"-1", "expected a number"},   {"exp(-1)", "out of range"},
      {"uniform(3,1)", "out of range"}, {"x+exp(1)", "before '+'"},    {"nan", "expected a number"},
      {"gamma(0,1)", "out of range"},   {"trace()", "cannot be read"}, {"trace(/nowhere/x)", "cannot be read"},
  };
  for (const auto& [text, expected] : cases) {
    INFO(text);
    auto dist = Distribution::parse(text);
    REQUIRE_FALSE(dist.ok());
    CHECK_THAT(dist.error().message, Catch::Contains(expected));
  }
}
