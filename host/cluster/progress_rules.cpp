#include "host/cluster/progress_rules.hpp"

namespace actorhost {

Status ClockRule::decide(const Progress& progress, std::span<const Slot> asking, double /*now*/,
                         std::span<Decision> out) {
  const int32_t* steps = progress.steps();
  const int64_t bound = int64_t{progress.min()} + staleness_;
  for (size_t k = 0; k < asking.size(); ++k) out[k].pass = steps[asking[k]] <= bound;
  return {};
}

Status FreeRule::decide(const Progress& /*progress*/, std::span<const Slot> asking, double /*now*/,
                        std::span<Decision> out) {
  for (size_t k = 0; k < asking.size(); ++k) out[k].pass = true;
  return {};
}

SampledRule::SampledRule(uint32_t beta, int staleness, Resample resample, uint64_t seed)
    : sampler_(beta, resample, seed, kFirstSalt),
      staleness_(staleness),
      watch_(resample.kind == Resample::Kind::poll ? Watch::timer : Watch::event) {}

Status SampledRule::decide(const Progress& progress, std::span<const Slot> asking, double now,
                           std::span<Decision> out) {
  const int32_t* steps = progress.steps();
  const Seen all = see_all(progress);
  Seen seen;
  for (size_t k = 0; k < asking.size(); ++k) {
    sampler_.look(progress, asking[k], now, all, seen);
    const bool pass = seen.held == 0 && seen.lowest >= static_cast<double>(steps[asking[k]]) - staleness_;
    out[k] = Decision{pass, seen.recheck_seconds};
  }
  return {};
}

std::unique_ptr<BarrierRule> native_bsp() { return std::make_unique<ClockRule>(0); }
std::unique_ptr<BarrierRule> native_ssp(int staleness) { return std::make_unique<ClockRule>(staleness); }
std::unique_ptr<BarrierRule> native_asp() { return std::make_unique<FreeRule>(); }

std::unique_ptr<BarrierRule> native_pbsp(uint32_t beta, Resample resample, uint64_t seed) {
  return std::make_unique<SampledRule>(beta, 0, resample, seed);
}

std::unique_ptr<BarrierRule> native_pssp(uint32_t beta, int staleness, Resample resample, uint64_t seed) {
  return std::make_unique<SampledRule>(beta, staleness, resample, seed);
}

}  // namespace actorhost
