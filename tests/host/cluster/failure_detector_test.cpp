#include "host/cluster/failure_detector.hpp"

#include "tests/test.hpp"

namespace {

using Processes = std::vector<ProcessId>;
constexpr DetectorTimes kTimes{0.5, 1.25, 2.5};

bool silent(const FailureDetector::Verdict& verdict) {
  return verdict.suspected.empty() && verdict.cleared.empty() && verdict.dead.empty();
}

}  // namespace

TEST_CASE("a process that sends regularly is never suspected") {
  FailureDetector detector(kTimes);
  detector.watch(1, 0);
  for (double now = 0.25; now < 100; now += 0.25) {
    detector.record_heartbeat(1, now - 0.5);
    CHECK(silent(detector.check(now)));
  }
}

TEST_CASE("silence makes a process suspected once, and dead once") {
  FailureDetector detector(kTimes);
  detector.watch(1, 10);
  CHECK(silent(detector.check(11.2)));
  CHECK(detector.check(11.25).suspected == Processes{1});
  CHECK(detector.suspected(1));
  CHECK(silent(detector.check(11.5)));
  CHECK(silent(detector.check(12.4)));
  CHECK(detector.check(12.5).dead == Processes{1});
  CHECK_FALSE(detector.suspected(1));
  CHECK(silent(detector.check(100)));
}

TEST_CASE("a suspected process that sends again is alive again") {
  FailureDetector detector(kTimes);
  detector.watch(1, 0);
  CHECK(detector.check(1.5).suspected == Processes{1});
  detector.record_heartbeat(1, 1.6);
  CHECK(detector.check(1.75).cleared == Processes{1});
  CHECK_FALSE(detector.suspected(1));
  CHECK(silent(detector.check(2.75)));
  CHECK(detector.check(3.0).suspected == Processes{1});
  CHECK(detector.check(4.2).dead == Processes{1});
}

TEST_CASE("an old heartbeat that is reported late does not replace a newer one") {
  FailureDetector detector(kTimes);
  detector.watch(1, 0);
  detector.record_heartbeat(1, 5);
  detector.record_heartbeat(1, 1);
  CHECK(silent(detector.check(6)));
}

TEST_CASE("each process is judged by its own silence") {
  FailureDetector detector(kTimes);
  for (ProcessId p : {1, 2, 3}) detector.watch(p, 0);
  detector.record_heartbeat(2, 2);
  detector.record_heartbeat(3, 1);
  const auto verdict = detector.check(2.5);
  CHECK(verdict.dead == Processes{1});
  CHECK(verdict.suspected == Processes{3});
}

TEST_CASE("a process that did not run itself does not suspect all others") {
  FailureDetector detector(kTimes);
  for (ProcessId p : {1, 2}) detector.watch(p, 0);
  detector.record_heartbeat(1, 0.9);
  detector.record_heartbeat(2, 0.4);
  CHECK(silent(detector.check(1)));
  // This process was stopped for 100 seconds; the others' frames are still in the sockets.
  CHECK(silent(detector.check(101, 99.75)));
  detector.record_heartbeat(2, 101.2);
  const auto later = detector.check(102.1);
  CHECK(later.suspected == Processes{1});
  CHECK(later.dead.empty());
  CHECK(detector.check(103.5).dead == Processes{1});
}

TEST_CASE("lateness does not move a heartbeat into the future") {
  FailureDetector detector(kTimes);
  detector.watch(1, 10);
  CHECK(silent(detector.check(10.1, 50)));
  CHECK(detector.check(12.6).dead == Processes{1});
}

TEST_CASE("a forgotten or unknown process is not judged") {
  FailureDetector detector(kTimes);
  detector.watch(1, 0);
  detector.forget(1);
  detector.record_heartbeat(2, 0);
  CHECK(silent(detector.check(1000)));
  CHECK_FALSE(detector.suspected(2));
}

TEST_CASE("a partition of 2.4 s loses no process, although TCP retransmits only when its back-off is over") {
  constexpr double kTick = 0.25;  // between heartbeats, and between checks
  constexpr double kFirst = 0.2;  // TCP's least time-out; a tail loss probe may precede it, after the same time
  for (const double probe : {0.0, kFirst}) {
    for (double start = 10; start < 10 + kTick; start += 0.01) {
      FailureDetector detector;
      detector.watch(1, 10);
      const double lost = start == 10 ? 10 : 10 + kTick;  // the first heartbeat in the partition
      double after = kFirst;
      double again = lost + probe + after;
      while (again < start + 2.4) again += after *= 2;
      INFO("a partition from " << start << " on, heard again at " << again);
      for (double now = 10 + kTick; now < again; now += kTick) CHECK(detector.check(now).dead.empty());
      detector.record_heartbeat(1, again);
      CHECK(detector.check(again).dead.empty());
    }
  }
}
