#pragma once
// Where a node tells what it has done when, while its run is recorded (`--record FILE.json`) or somebody looks
// (`:trace`). The node's thread calls.

#include <cstdint>
#include <string>

namespace actorhost {

/// The beginning of what had begun before somebody looked.
inline constexpr double kUnseen = -1;

/// Something that a node did from `begin` to `end`, in seconds on its clock.
struct TimeSpan {
  std::string name;      // "allreduce"
  std::string category;  // step, wait, call or task
  double begin = 0;
  double end = 0;
  uint64_t number = 0;  // of the step or task

  static void fields(auto& m, auto&& field) { field(m.name, m.category, m.begin, m.end, m.number); }
};

class SpanSink {
 public:
  SpanSink() = default;
  SpanSink(const SpanSink&) = delete;
  SpanSink& operator=(const SpanSink&) = delete;
  virtual ~SpanSink() = default;
  virtual double now() const = 0;
  virtual void put(TimeSpan span) = 0;
};

}  // namespace actorhost
