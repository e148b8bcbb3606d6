#include "host/base/span_ring.hpp"

#include "tests/test.hpp"

TEST_CASE("spans are numbered, and retained from the first poll until polls stop") {
  ManualClock clock(100);
  SpanRing ring(clock);
  const auto put = [&](double begin, double end) { ring.put({"step", "step", begin, end, 1}); };
  CHECK_FALSE(ring.wanted());
  put(99, 100);
  CHECK(ring.poll().spans.empty());
  CHECK(ring.wanted());
  put(kUnknownBegin, 100);
  put(100, 101);
  put(101, 102);
  clock.set(102);
  SpanRing::Snapshot snapshot = ring.poll();
  CHECK((snapshot.first == 0 && snapshot.spans.size() == 2));
  put(102, 101.0 + SpanRing::kRetainedSeconds + 0.5);
  snapshot = ring.poll();
  CHECK((snapshot.first == 1 && snapshot.spans.size() == 2));
  for (size_t i = 0; i < SpanRing::kMaxSpans + 5; ++i) put(102, 103);
  snapshot = ring.poll();
  CHECK((snapshot.first == 8 && snapshot.spans.size() == SpanRing::kMaxSpans));
  put(103, 102 + SpanRing::kPatience);
  CHECK_FALSE(ring.wanted());
  snapshot = ring.poll();
  CHECK((snapshot.first == SpanRing::kMaxSpans + 9 && snapshot.spans.empty()));
}
