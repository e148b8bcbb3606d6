#pragma once
// The classic barrier rules without Lua: for the engine's simulated tests, as the yardstick of tests/bench, and to
// check the Lua rules of actor.barrier. Same definitions, same draws for the same seed.

#include <memory>

#include "host/barrier/gate.hpp"
#include "host/barrier/progress_sample.hpp"

namespace actorhost::test {

/// A worker with c completed steps passes if no worker has completed fewer than c - staleness.
class ClockRule final : public BarrierRule {
 public:
  explicit ClockRule(int staleness) : staleness_(staleness) {}
  Status decide(const Progress& progress, std::span<const Slot> requesters, double /*now*/,
                std::span<Decision> out) override {
    const int32_t* steps = progress.steps();
    const int64_t bound = int64_t{progress.min()} + staleness_;
    for (size_t k = 0; k < requesters.size(); ++k) out[k].pass = steps[requesters[k]] <= bound;
    return {};
  }
  int staleness() const override { return staleness_; }
  Watch watch() const override { return Watch::floor; }

 private:
  int staleness_;
};

/// ClockRule over a sample of beta workers.
class SampledRule final : public BarrierRule {
 public:
  SampledRule(uint32_t beta, int staleness, Resample resample, uint64_t seed)
      : sampler_(beta, resample, seed, kFirstSalt),
        staleness_(staleness),
        watch_(resample.kind == Resample::Kind::poll ? Watch::timer : Watch::event) {}
  Status decide(const Progress& progress, std::span<const Slot> requesters, double now,
                std::span<Decision> out) override {
    const int32_t* steps = progress.steps();
    const Seen all = see_all(progress);
    Seen seen;
    for (size_t k = 0; k < requesters.size(); ++k) {
      sampler_.sample(progress, requesters[k], now, all, seen);
      const bool pass = seen.held == 0 && seen.lowest >= static_cast<double>(steps[requesters[k]]) - staleness_;
      out[k] = Decision{pass, seen.recheck_seconds};
    }
    return {};
  }
  Watch watch() const override { return watch_; }

 private:
  Sampler sampler_;
  int staleness_;
  Watch watch_;
};

inline std::unique_ptr<BarrierRule> native_bsp() { return std::make_unique<ClockRule>(0); }
inline std::unique_ptr<BarrierRule> native_ssp(int staleness) { return std::make_unique<ClockRule>(staleness); }
inline std::unique_ptr<BarrierRule> native_asp() { return std::make_unique<FreeRule>(); }

inline std::unique_ptr<BarrierRule> native_pbsp(uint32_t beta, Resample resample, uint64_t seed) {
  return std::make_unique<SampledRule>(beta, 0, resample, seed);
}

inline std::unique_ptr<BarrierRule> native_pssp(uint32_t beta, int staleness, Resample resample, uint64_t seed) {
  return std::make_unique<SampledRule>(beta, staleness, resample, seed);
}

}  // namespace actorhost::test
