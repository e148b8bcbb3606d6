#pragma once
// The receiver of a node's timed activities, while its run is recorded (`--record FILE.json`) or an observer polls
// (`:trace`). The node's thread calls.

#include <cstdint>
#include <string>

#include "host/base/non_copyable.hpp"

namespace actorhost {

/// The begin of an activity that started before the recording or the first poll.
inline constexpr double kUnknownBegin = -1;

/// One activity of a node from `begin` to `end`, in seconds on the node's clock.
struct TimeSpan {
  std::string name;      // "allreduce"
  std::string category;  // step, wait, call or task
  double begin = 0;
  double end = 0;
  uint64_t number = 0;  // of the step or task

  static void fields(auto& m, auto&& field) { field(m.name, m.category, m.begin, m.end, m.number); }
};

class SpanSink : public Interface {
 public:
  virtual double now() const = 0;
  virtual void put(TimeSpan span) = 0;
};

}  // namespace actorhost
