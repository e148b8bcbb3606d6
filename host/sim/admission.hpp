#pragma once
// Which nodes may go on, on virtual time: one Admission for each way to decide that. The simulation owns the clocks and
// tells the admission of every change; the admission remembers which nodes wait and names those that pass.
// `make_admission` chooses: the classic rules have forms that cost O(1) an event instead of an answer for each waiter;
// all others are asked through the gate that the parameter server uses (admission_rule.hpp). One thread; nothing waits;
// time never goes back.

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "host/cluster/progress_gate.hpp"
#include "host/cluster/progress_sample.hpp"
#include "host/sim/clocks.hpp"

namespace actorhost {

class Admission {
 public:
  /// `clocks` must outlive it.
  explicit Admission(const Clocks& clocks) : clocks_(clocks) {}
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;
  virtual ~Admission() = default;

  /// The clocks count `id` from now on; it does not wait.
  virtual void joined(NodeId id) = 0;
  /// The clocks have forgotten `id`, which may have waited.
  virtual void left(NodeId id) = 0;
  /// Whether a node asks before its first step too, as in the parameter server; else it may begin at once.
  virtual bool asks_first() const noexcept { return false; }
  /// `id`, which has joined, asks to begin its first step. Only where asks_first().
  virtual void asks(NodeId /*id*/, double /*now*/) {}
  /// `id` goes on to its next step, with a model that has seen `version` updates.
  virtual void started(NodeId /*id*/, double /*now*/, uint64_t /*version*/) {}
  /// The clocks have advanced `id`, which asks to go on.
  virtual void completed(NodeId id, double now) = 0;
  virtual void suspected(NodeId /*id*/, bool /*suspected*/) {}
  /// After each event, and at next_time(): appends those that pass now; they wait no longer. An error is final.
  virtual Status decide(double now, std::vector<NodeId>& passed) = 0;
  /// When decide has to be called even if nothing happens.
  virtual double next_time() { return std::numeric_limits<double>::infinity(); }

  uint32_t waiting() const noexcept { return waiting_; }
  /// How many answers the rule has given, or would have given if it had been asked about each waiter whenever the
  /// answer may have changed.
  uint64_t checks() const noexcept { return checks_; }

 protected:
  const Clocks& clocks_;
  uint32_t waiting_ = 0;
  uint64_t checks_ = 0;
};

/// A classic rule: a node passes when none of the nodes that it sees is more than `staleness` steps behind it.
struct NativeRule {
  static constexpr int32_t kFree = -1;  // no bound: asp
  static constexpr uint32_t kAll = std::numeric_limits<uint32_t>::max();
  int32_t staleness = 0;  // or kFree
  uint32_t beta = kAll;   // how many are seen
  Resample resample;      // of a sample
};

std::unique_ptr<Admission> make_admission(const NativeRule& rule, const Clocks& clocks, uint64_t seed);
/// Of any rule, which must outlive it.
std::unique_ptr<Admission> make_admission(BarrierRule& rule, const Clocks& clocks, bool asks_first);

}  // namespace actorhost
