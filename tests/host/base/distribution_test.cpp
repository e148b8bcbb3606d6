#include "host/base/distribution.hpp"

#include "tests/integration/process.hpp"
#include "tests/test.hpp"

namespace {

/// A file with this text, which lives as long as the object.
class TraceFile {
 public:
  explicit TraceFile(const std::string& text) : path_(dir_.write("trace", text)) {}
  std::string path() const { return path_.string(); }
  std::string spec() const { return "trace(" + path() + ")"; }

 private:
  const TempDir dir_;
  const std::filesystem::path path_;
};

std::set<double> drawn(const Distribution& dist) {
  Rng rng(3);
  std::set<double> out;
  for (int i = 0; i < 1000; ++i) out.insert(dist.draw(rng));
  return out;
}

}  // namespace

TEST_CASE("the draws of each distribution have its stated mean") {
  for (const std::string text : {"0.25", "const(0.5)", "exp(2)", "gamma(3,0.5)", "uniform(1,3)", "pareto(4,1)",
                                 "lognormal(0,0.5)", "1+exp(1)", " 2 + gamma( 0.5 , 2 ) "}) {
    INFO(text);
    auto dist = required(Distribution::parse(text));
    Rng rng(42);
    double sum = 0;
    const int n = 100000;
    for (int i = 0; i < n; ++i) sum += dist->draw(rng);
    CHECK(std::abs(sum / n - dist->mean()) < 0.03 * dist->mean() + 1e-9);
  }
}

TEST_CASE("the error of a malformed distribution names the wrong part") {
  const std::pair<const char*, const char*> cases[] = {
      {"", "expected a number"},        {"exp", "expected a number"},  {"exp(", "closing bracket"},
      {"exp(x)", "use exp(mean)"},      {"gamma(1)", "use gamma"},     {"gamma(1,2,3)", "use gamma"},
      {"normal(0,1)", "is none of"},    {"-1", "expected a number"},   {"exp(-1)", "out of range"},
      {"uniform(3,1)", "out of range"}, {"x+exp(1)", "before '+'"},    {"nan", "expected a number"},
      {"gamma(0,1)", "out of range"},   {"trace()", "cannot be read"}, {"trace(/nowhere/x)", "cannot be read"},
  };
  for (const auto& [text, expected] : cases) {
    INFO(text);
    CHECK_THAT(failure_of(Distribution::parse(text)).message, Catch::Contains(expected));
  }
}

TEST_CASE("a trace draws all numbers of its file equally often and has their mean") {
  const TraceFile file("1\n2.5\n\n# a comment\n  4e-1  # after a number\n0\n");
  auto dist = required(Distribution::parse(file.spec()));
  CHECK(drawn(*dist) == std::set<double>{0, 0.4, 1, 2.5});
  CHECK(dist->mean() == Approx(3.9 / 4));
  CHECK_FALSE(dist->zero());
  CHECK(dist->text() == file.spec());
  auto shifted = required(Distribution::parse("10+" + file.spec()));
  CHECK(drawn(*shifted) == std::set<double>{10, 10.4, 11, 12.5});
  CHECK(shifted->mean() == Approx(10 + 3.9 / 4));
}

TEST_CASE("a trace accepts the line ends of any system, and a missing last one") {
  for (const std::string text : {"1\r\n2 \r\n# x\r\n\r\n3\r\n", "1\n2\n3", "1\r\n2\r\n3"}) {
    const TraceFile file(text);
    auto dist = required(Distribution::parse(file.spec()));
    CHECK(drawn(*dist) == std::set<double>{1, 2, 3});
  }
}

TEST_CASE("a recorded trace draws from the compute column of its step rows") {
  const TraceFile file(
      "# actorhost trace 1\nkind,id,a,b,c\njoin,0,0,0.5\nstep,0,1,0.7,0.8,0.25\nstep,1,1,0.9,1.0,0.5\r\nleave,0,1,2\n"
      "step,0,2,1.2,1.3,0.75\n");
  auto dist = required(Distribution::parse(file.spec()));
  CHECK(drawn(*dist) == std::set<double>{0.25, 0.5, 0.75});
}

TEST_CASE("copies of a trace draw the same numbers after the file is deleted") {
  Distribution copy;
  {
    const TraceFile file("1\n2\n");
    auto dist = required(Distribution::parse(file.spec()));
    copy = *dist;
  }
  CHECK(drawn(copy) == std::set<double>{1, 2});
}

TEST_CASE("the error of a malformed trace names the line") {
  const std::pair<const char*, const char*> cases[] = {
      {"1\n2\nthree\n", ":3: expected a number of seconds, 0 or more, got 'three'"},
      {"# x\n\n-1\n", ":3: expected a number of seconds, 0 or more, got '-1'"},
      {"1 2\n", ":1: expected a number of seconds, 0 or more, got '1 2'"},
      {"1\ninf\n", ":2: expected a number of seconds, 0 or more, got 'inf'"},
      {"nan\r\n", ":1: expected a number of seconds, 0 or more, got 'nan'"},
      {"# actorhost trace 1\nstep,0,1,0.7,0.8,0.25\nstep,0,2,0.7,0.8,\n", ":3: expected a number of seconds"},
      {"# actorhost trace 1\nstep,0,1,0.7,0.8,x\n", ":2: expected a number of seconds, 0 or more, got 'x'"},
      {"", "holds no number of seconds"},
      {"# nothing\n\n", "holds no number of seconds"},
      {"# actorhost trace 1\njoin,0,0,1\n", "holds no number of seconds"},
  };
  for (const auto& [text, expected] : cases) {
    const TraceFile file(text);
    INFO(text);
    auto dist = Distribution::parse(file.spec());
    CHECK(failure_of(dist).code == actorhost::Code::bad_argument);
    CHECK_THAT(failure_of(dist).message, Catch::Contains(expected) && Catch::Contains(file.path()));
  }
}
