#include "host/base/span_ring.hpp"

#include <catch2/catch.hpp>

using namespace actorhost;

TEST_CASE("spans are numbered, and retained from the first poll until polls stop") {
  ManualClock clock(100);
  SpanRing ring(clock);
  const auto put = [&](double begin, double end) { ring.put({"step", "step", begin, end, 1}); };
  CHECK_FALSE(ring.wanted());
  put(99, 100);
  CHECK(ring.look().spans.empty());
  CHECK(ring.wanted());
  put(kUnseen, 100);
  put(100, 101);
  put(101, 102);
  clock.set(102);
  SpanRing::Look look = ring.look();
  CHECK((look.first == 0 && look.spans.size() == 2));
  put(102, 101.0 + SpanRing::kKeptSeconds + 0.5);
  look = ring.look();
  CHECK((look.first == 1 && look.spans.size() == 2));
  for (size_t i = 0; i < SpanRing::kMost + 5; ++i) put(102, 103);
  look = ring.look();
  CHECK((look.first == 8 && look.spans.size() == SpanRing::kMost));
  put(103, 102 + SpanRing::kPatience);
  CHECK_FALSE(ring.wanted());
  look = ring.look();
  CHECK((look.first == SpanRing::kMost + 9 && look.spans.empty()));
}
