#pragma once
// What a simulation measures. Plain values and sums; all arithmetic in a fixed order, so the same run gives the same
// bits.

#include <cstdint>
#include <vector>

namespace actorhost {

/// Of a sample: skew and kurtosis are the standardised third and fourth central moments (3 for a normal); 0 without
/// spread.
struct Moments {
  uint64_t count = 0;
  double mean = 0;
  double sd = 0;
  double skew = 0;
  double kurtosis = 0;
  double largest = 0;
};

/// Sums of powers around the first value, which keeps digits where the spread is small beside the mean.
class MomentSums {
 public:
  void add(double value) noexcept {
    if (count_++ == 0) shift_ = largest_ = value;
    if (value > largest_) largest_ = value;
    const double d = value - shift_;
    const double d2 = d * d;
    sum_ += d;
    sum2_ += d2;
    sum3_ += d2 * d;
    sum4_ += d2 * d2;
  }
  /// Of the values divided by `scale`.
  Moments moments(double scale = 1) const noexcept;

 private:
  uint64_t count_ = 0;
  double shift_ = 0;
  double largest_ = 0;
  double sum_ = 0;
  double sum2_ = 0;
  double sum3_ = 0;
  double sum4_ = 0;
};

/// One moment of a simulation, for traces.
struct SimTraceEvent {
  enum class Kind : uint8_t { join, leave, release, start, finish, apply };
  Kind kind = Kind::start;
  uint32_t node = 0;
  int32_t step = 0;  // completed steps of the node; of apply, with this one
  double time = 0;
};

struct ProgressPoint {
  double time = 0;
  double mean = 0;  // completed steps of the live nodes
  int32_t min = 0;
  int32_t max = 0;
};

struct SimResult {
  // Of the nodes that live at the end: steps that they have started (their clock, and one more while they work).
  std::vector<uint32_t> ids;
  std::vector<int32_t> steps;
  double mean_step = 0;
  double sd_step = 0;  // over the nodes, dividing by their number
  int32_t min_step = 0;
  int32_t max_step = 0;

  uint64_t updates = 0;   // steps completed, by all nodes that ever lived
  uint64_t checks = 0;    // answers of the rule
  uint64_t messages = 0;  // sent, repeated ones included
  uint64_t lost = 0;      // messages
  uint32_t joined = 0;
  uint32_t departed = 0;
  uint32_t crashed = 0;

  // Node-seconds of all nodes that ever lived.
  double busy = 0;
  double waiting = 0;                // at the barrier
  double network = 0;                // messages under way, and the servers' queues
  double down = 0;                   // crashed and not missed yet
  std::vector<double> busy_by_node;  // of `ids`

  // Per update: how many others were applied between its pull and itself; the same divided by the nodes is the progress
  // inconsistency, the mean over nodes of how far each is from where the puller saw it.
  Moments staleness;
  Moments progress_inconsistency;
  // Per pull (one in n + 1 with n nodes, so that each has its turn where all go in step): size of the difference
  // between the updates that a serial round-robin execution would have made visible and those that are, divided by the
  // nodes.
  Moments sequence_inconsistency;

  double ended = 0;          // the horizon, or earlier when all nodes have left
  double last_progress = 0;  // when a step was last started or completed
  double emptied = 0;        // when the last node was gone; of runs that end without any
  std::vector<ProgressPoint> progress;
  std::vector<SimTraceEvent> trace;
};

}  // namespace actorhost
