#include "host/base/random.hpp"

namespace actorhost {

Rng::Rng(uint64_t seed, uint64_t stream) noexcept : state_{} {
  constexpr uint64_t kStep = 0x9e3779b97f4a7c15ULL;
  uint64_t s = StepRng::mix(seed + kStep) ^ (stream * 0xd1342543de82ef95ULL + 0x2545f4914f6cdd1dULL);
  for (uint64_t& word : state_) word = StepRng::mix(s += kStep);
}

double Rng::normal() noexcept {
  has_spare_ = !has_spare_;
  return has_spare_ ? normal_pair(spare_) : spare_;
}

void Rng::sample(std::span<uint32_t> permutation, uint32_t count, uint32_t* out) noexcept {
  const auto n = static_cast<uint32_t>(permutation.size());
  if (count > n) count = n;
  Rng rng = *this;  // a copy that the compiler keeps in registers
  uint32_t* places = permutation.data();
  for (uint32_t i = 0; i < count; ++i) {
    const auto j = i + static_cast<uint32_t>(rng.below(n - i));
    const uint32_t chosen = places[j];
    places[j] = places[i];
    places[i] = chosen;
    out[i] = chosen;
  }
  *this = rng;
}

}  // namespace actorhost
