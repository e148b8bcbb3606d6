// Data for observers of a run: histograms, series of reports, the newest lines of the log.

#include "host/base/histogram.hpp"
#include "host/base/log.hpp"
#include "host/base/series.hpp"
#include "tests/test.hpp"

TEST_CASE("a histogram counts each value in the first bucket with a bound above it") {
  Histogram seconds(kMicrosecond);
  for (const double value : {0.0, 0.5e-6, 1.5e-6, 3e-6, 1.0, 1e9, -1.0}) seconds.add(value);
  CHECK(seconds.count(0) == 3);
  CHECK(seconds.count(1) == 1);
  CHECK(seconds.count(2) == 1);
  CHECK(seconds.bound(19) < 1);
  CHECK(seconds.bound(20) >= 1);
  CHECK(seconds.count(20) == 1);
  CHECK(seconds.count(Histogram::kBuckets - 1) == 1);
  CHECK(seconds.sum() == Approx(1e9));
}

TEST_CASE("a full series retains every second point, then every fourth, and the newest of each node") {
  SeriesBook book;
  SeriesBook::Track& first = *book.track("loss", 0);
  SeriesBook::Track& second = *book.track("loss", 1);
  for (int i = 0; i < 1001; ++i) {
    first.add(-1, i, i);
    if (i < 10) second.add(i * 2, NAN, i + 0.5);
  }
  const auto points = book.read().at("loss");
  CHECK(points.size() <= SeriesBook::kPoints + 2);
  CHECK(points.size() > SeriesBook::kPoints / 4);
  for (size_t i = 1; i < points.size(); ++i) CHECK(points[i - 1].time <= points[i].time);
  CHECK(points.back().value == 1000);
  CHECK(points.back().step == 1001);
  size_t of_second = 0;
  for (const SeriesPoint& point : points) {
    of_second += point.node == 1 ? 1U : 0U;
    if (point.node == 0 && point.value < 1000) CHECK(std::fmod(point.value, 2) == 0);
  }
  CHECK(of_second >= 3);
  for (size_t i = 1; i < SeriesBook::kNames; ++i) REQUIRE(book.track("name " + std::to_string(i), 0) != nullptr);
  CHECK(book.track("one more", 0) == nullptr);
  CHECK(book.track("loss", 2) != nullptr);
}

TEST_CASE("a series of many nodes is bounded too") {
  SeriesBook book;
  for (uint32_t node = 0; node < 2000; ++node) book.track("loss", node)->add(1, 1, node);
  CHECK(book.read().at("loss").size() == 2000);  // the newest point of each node
  CHECK(SeriesBook::kPoints < 2000);
}

TEST_CASE("the log retains its newest lines and truncates long ones") {
  Log log(LogLevel::info, [](const LogLine&) {});
  for (int i = 0; i < 250; ++i) log.info("rank 1", "line " + std::to_string(i));
  log.debug("rank 1", "not enabled");
  log.warn("", std::string(5000, 'x'));
  const auto lines = log.newest();
  REQUIRE(lines.size() == Log::kRetainedLines);
  CHECK(lines.front().text == "line 51");
  CHECK(lines.front().source == "rank 1");
  CHECK(lines.front().time > 1.7e9);
  CHECK(lines.back().text.size() == Log::kRetainedBytes + 3);
  CHECK(lines.back().level == LogLevel::warn);
}
