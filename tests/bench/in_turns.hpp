#pragma once
// Times two implementations in turns, so that both run under the same load. The times of one thread are CPU time, which
// other work disturbs little; the times of several threads are wall time.

#include <algorithm>
#include <ctime>
#include <functional>
#include <vector>

namespace actorhost {

inline double seconds_now(int threads) {
  timespec t{};
  clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Seconds of one call, over 20 ms, after a pause in which the other side's threads stop polling for work.
inline double seconds_of_call(int threads, const std::function<void()>& f) {
  const timespec pause{0, 5'000'000};
  nanosleep(&pause, nullptr);
  f();
  int calls = 0;
  const double start = seconds_now(threads);
  do {
    f();
    ++calls;
  } while (seconds_now(threads) - start < 0.02);
  return (seconds_now(threads) - start) / calls;
}

/// Seconds of each turn, and the ratios of the other side's time to ours.
struct Turns {
  std::vector<double> ours, theirs, ratios;

  /// `their` may be empty.
  Turns(int threads, int rounds, const std::function<void()>& our, const std::function<void()>& their) {
    for (int i = 0; i < rounds; ++i) {
      ours.push_back(seconds_of_call(threads, our));
      if (!their) continue;
      theirs.push_back(seconds_of_call(threads, their));
      ratios.push_back(theirs.back() / ours.back());
    }
  }
};

}  // namespace actorhost
