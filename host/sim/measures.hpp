#pragma once
// The measures of a simulation: plain values and sums. All arithmetic has a fixed order, so the same run gives the
// same bits.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace actorhost {

/// Moments of a sample. Skew and kurtosis are the standardised third and fourth central moments (kurtosis is 3 for a
/// normal distribution); both are 0 without spread.
struct Moments {
  uint64_t count = 0;
  double mean = 0;
  double sd = 0;
  double skew = 0;
  double kurtosis = 0;
  double largest = 0;
};

/// Sums of powers around the first value. The shift preserves digits when the spread is small beside the mean.
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
  /// Moments of the values divided by `scale`.
  Moments moments(double scale = 1) const noexcept {
    Moments out;
    out.count = count_;
    if (count_ == 0) return out;
    const auto n = static_cast<double>(count_);
    const double mean = sum_ / n;
    out.mean = (shift_ + mean) / scale;
    out.largest = largest_ / scale;
    const double m2 = std::max(sum2_ / n - mean * mean, 0.0);
    out.sd = std::sqrt(m2) / scale;
    // No spread, except for rounding.
    if (m2 <= 1e-12 * (mean * mean + shift_ * shift_)) return out;
    const double m3 = sum3_ / n - 3 * mean * sum2_ / n + 2 * mean * mean * mean;
    const double m4 = sum4_ / n - 4 * mean * sum3_ / n + 6 * mean * mean * sum2_ / n - 3 * mean * mean * mean * mean;
    out.skew = m3 / (m2 * std::sqrt(m2));
    out.kurtosis = m4 / (m2 * m2);
    return out;
  }

 private:
  uint64_t count_ = 0;
  double shift_ = 0;
  double largest_ = 0;
  double sum_ = 0;
  double sum2_ = 0;
  double sum3_ = 0;
  double sum4_ = 0;
};

/// One event of a simulation, for traces.
struct SimTraceEvent {
  enum class Kind : uint8_t { join, leave, release, start, finish, apply };
  Kind kind = Kind::start;
  uint32_t node = 0;
  int32_t step = 0;  // completed steps of the node; for apply, including this step
  double time = 0;
};

struct ProgressPoint {
  double time = 0;
  double mean = 0;  // completed steps of the live nodes
  int32_t min = 0;
  int32_t max = 0;
};

struct SimResult {
  // Nodes alive at the end: their ids and the steps that they have started (their clock, plus one while they work).
  std::vector<uint32_t> ids;
  std::vector<int32_t> steps;
  double mean_step = 0;
  double sd_step = 0;  // over the nodes; divides by their number
  int32_t min_step = 0;
  int32_t max_step = 0;

  uint64_t updates = 0;   // steps completed, by all nodes that ever lived
  uint64_t checks = 0;    // decisions of the rule
  uint64_t messages = 0;  // sent, including retries
  uint64_t lost = 0;      // messages
  uint32_t joined = 0;
  uint32_t departed = 0;
  uint32_t crashed = 0;

  // Node-seconds of all nodes that ever lived.
  double busy = 0;
  double waiting = 0;                // at the barrier
  double network = 0;                // messages in flight, and the servers' queues
  double down = 0;                   // crashed and not removed yet
  std::vector<double> busy_by_node;  // of `ids`

  // Staleness of an update: the number of other updates applied between its pull and its own application. Divided by
  // the number of nodes, staleness is the progress inconsistency: the mean distance of a node from the state that the
  // puller saw.
  Moments staleness;
  Moments progress_inconsistency;
  // Measured at one pull in n + 1 with n nodes, so that nodes in lockstep take turns. The difference between the
  // updates that a serial round-robin execution would have made visible and the visible updates, divided by the nodes.
  Moments sequence_inconsistency;

  double ended = 0;          // the horizon, or earlier when all nodes have left
  double last_progress = 0;  // when a step was last started or completed
  double emptied = 0;        // when the last node left, for runs that end without nodes
  std::vector<ProgressPoint> progress;
  std::vector<SimTraceEvent> trace;
};

}  // namespace actorhost
