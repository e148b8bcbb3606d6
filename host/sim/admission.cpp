#include "host/sim/admission.hpp"

#include <algorithm>

#include "host/sim/admission_clock.hpp"
#include "host/sim/admission_event.hpp"
#include "host/sim/admission_rule.hpp"
#include "host/sim/admission_sample.hpp"

namespace actorhost {

std::unique_ptr<Admission> make_admission(const NativeRule& rule, const Clocks& clocks, uint64_t seed) {
  if (rule.beta == NativeRule::kAll || rule.staleness == NativeRule::kFree) {
    return std::make_unique<ClockAdmission>(clocks, rule.staleness);
  }
  switch (rule.resample.kind) {
    case Resample::Kind::sticky: return std::make_unique<StickyAdmission>(clocks, rule.beta, rule.staleness, seed);
    case Resample::Kind::poll:
      return std::make_unique<PollAdmission>(clocks, rule.beta, rule.staleness,
                                             std::max(rule.resample.seconds, Waiting::kMinRecheck), seed);
    case Resample::Kind::event: break;
  }
  return std::make_unique<EventAdmission>(clocks, rule.beta, rule.staleness, seed);
}

std::unique_ptr<Admission> make_admission(BarrierRule& rule, const Clocks& clocks, bool decides_first_step) {
  return std::make_unique<RuleAdmission>(clocks, rule, decides_first_step);
}

}  // namespace actorhost
