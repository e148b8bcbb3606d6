#pragma once
// Decides which simulated nodes may start their next step; one Admission subclass for each way to decide. The
// simulation owns the clocks and reports every change to the admission. The admission stores the waiting nodes and
// returns the nodes that pass.
// `make_admission` chooses the subclass. The classic rules have forms that cost O(1) an event. All other rules decide
// about each waiting node through the parameter server's gate (admission_rule.hpp).
// Runs on virtual time, which never decreases. One thread; no call blocks.

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "host/barrier/gate.hpp"
#include "host/barrier/progress_sample.hpp"
#include "host/base/non_copyable.hpp"
#include "host/sim/clocks.hpp"

namespace actorhost {

class Admission : public Interface {
 public:
  /// `clocks` must outlive the admission.
  explicit Admission(const Clocks& clocks) : clocks_(clocks) {}

  /// The clocks count `id` from now on; `id` does not wait.
  virtual void joined(NodeId id) = 0;
  /// The clocks have removed `id`, which may have been waiting.
  virtual void left(NodeId id) = 0;
  /// Whether a node also needs permission for its first step, as in the parameter server; else it may begin at once.
  virtual bool decides_first_step() const noexcept { return false; }
  /// `id`, which has joined, requests its first step. Called only if decides_first_step().
  virtual void requested(NodeId /*id*/, double /*now*/) {}
  /// `id` starts its next step, with a model that includes `version` updates.
  virtual void started(NodeId /*id*/, double /*now*/, uint64_t /*version*/) {}
  /// The clocks have advanced `id`, which requests its next step.
  virtual void completed(NodeId id, double now) = 0;
  virtual void suspected(NodeId /*id*/, bool /*suspected*/) {}
  /// Called after each event and at next_time(). Appends the nodes that pass now; they wait no longer. An error is
  /// final.
  virtual Status decide(double now, std::vector<NodeId>& passed) = 0;
  /// When decide must be called even without an event.
  virtual double next_time() { return std::numeric_limits<double>::infinity(); }

  uint32_t waiting() const noexcept { return waiting_; }
  /// How many decisions the rule has made, or would have made if it were called for each waiting node whenever its
  /// decision may have changed.
  uint64_t checks() const noexcept { return checks_; }

 protected:
  const Clocks& clocks_;
  uint32_t waiting_ = 0;
  uint64_t checks_ = 0;
};

/// A classic rule: a node passes when no node in its sample is more than `staleness` steps behind it.
struct NativeRule {
  static constexpr int32_t kFree = -1;  // no bound: asp
  static constexpr uint32_t kAll = std::numeric_limits<uint32_t>::max();
  int32_t staleness = 0;  // or kFree
  uint32_t beta = kAll;   // sample size
  Resample resample;      // when a waiting node draws a new sample
};

std::unique_ptr<Admission> make_admission(const NativeRule& rule, const Clocks& clocks, uint64_t seed);
/// For any rule. `rule` must outlive the admission.
std::unique_ptr<Admission> make_admission(BarrierRule& rule, const Clocks& clocks, bool decides_first_step);

}  // namespace actorhost
