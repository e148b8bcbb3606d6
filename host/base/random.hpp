#pragma once
// Seeded random numbers that are the same everywhere: xoshiro256++ seeded through splitmix64, with independent
// streams by name; and StepRng, which has no state of its own.

#include <array>
#include <bit>
#include <cstdint>
#include <span>

#include "host/base/variates.hpp"

namespace actorhost {

class Rng : public Variates<Rng> {
 public:
  /// The generator of stream `stream` of seed `seed`; different streams are independent.
  explicit Rng(uint64_t seed = 0, uint64_t stream = 0) noexcept;

  uint64_t next() noexcept {
    auto& s = state_;
    const uint64_t result = std::rotl(s[0] + s[3], 23) + s[0];
    const uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = std::rotl(s[3], 45);
    return result;
  }
  /// Standard normal; draws come in pairs, the second is kept.
  double normal() noexcept;
  /// `count` different numbers of 0 .. permutation.size()-1, each set equally likely, into out[0..count-1].
  /// `permutation` holds some permutation of 0 .. n-1 and is left as another one: O(count), no allocation.
  void sample(std::span<uint32_t> permutation, uint32_t count, uint32_t* out) noexcept;

 private:
  std::array<uint64_t, 4> state_;
  double spare_ = 0;
  bool has_spare_ = false;
};

/// The random numbers of one step of one node: a function of (seed, node, step) alone, so they depend neither on the
/// order of events nor on the barrier. splitmix64 from a hashed start.
class StepRng : public Variates<StepRng> {
 public:
  StepRng(uint64_t seed, uint64_t node, uint64_t step) noexcept
      : state_(mix(mix(seed + node * 0x9e3779b97f4a7c15ULL) + step * 0xd1342543de82ef95ULL)) {}
  uint64_t next() noexcept { return mix(state_ += 0x9e3779b97f4a7c15ULL); }

  static uint64_t mix(uint64_t z) noexcept {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

}  // namespace actorhost
