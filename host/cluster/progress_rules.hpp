#pragma once
// The classic barrier rules without Lua: for the engine's simulated tests, as the yardstick of tests/bench,
// and to check the Lua rules of actor.barrier against. Same definitions, same draws for the same seed.

#include <memory>

#include "host/cluster/progress_gate.hpp"
#include "host/cluster/progress_sample.hpp"

namespace actorhost {

/// A worker that has completed c steps passes when nobody has completed fewer than c - staleness.
class ClockRule final : public BarrierRule {
 public:
  explicit ClockRule(int staleness) : staleness_(staleness) {}
  Status decide(const Progress& progress, std::span<const Slot> asking, double now, std::span<Decision> out) override;
  int staleness() const override { return staleness_; }
  Watch watch() const override { return Watch::floor; }

 private:
  int staleness_;
};

/// Every worker passes.
class FreeRule final : public BarrierRule {
 public:
  Status decide(const Progress& progress, std::span<const Slot> asking, double now, std::span<Decision> out) override;
  Watch watch() const override { return Watch::timer; }
};

/// ClockRule over a sample of beta workers.
class SampledRule final : public BarrierRule {
 public:
  SampledRule(uint32_t beta, int staleness, Resample resample, uint64_t seed);
  Status decide(const Progress& progress, std::span<const Slot> asking, double now, std::span<Decision> out) override;
  Watch watch() const override { return watch_; }

 private:
  Sampler sampler_;
  int staleness_;
  Watch watch_;
};

/// The salt of the first sampling rule that an evaluation meets, in C++ and in Lua.
inline constexpr uint64_t kFirstSalt = 1;

std::unique_ptr<BarrierRule> native_bsp();
std::unique_ptr<BarrierRule> native_ssp(int staleness);
std::unique_ptr<BarrierRule> native_asp();
std::unique_ptr<BarrierRule> native_pbsp(uint32_t beta, Resample resample, uint64_t seed);
std::unique_ptr<BarrierRule> native_pssp(uint32_t beta, int staleness, Resample resample, uint64_t seed);

}  // namespace actorhost
