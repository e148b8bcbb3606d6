#pragma once
// Seeded random numbers that are the same everywhere: xoshiro256++ seeded through splitmix64, with independent
// streams by name. No distribution of the standard library is used, since those differ between implementations.

#include <array>
#include <cstdint>
#include <span>

namespace actorhost {

class Rng {
 public:
  /// The generator of stream `stream` of seed `seed`; different streams are independent.
  explicit Rng(uint64_t seed = 0, uint64_t stream = 0) noexcept;

  uint64_t next() noexcept;
  /// Uniform in [0, 1), 53 bits.
  double uniform() noexcept;
  /// Uniform in 0 .. bound-1 without bias (Lemire 2019); bound > 0.
  uint64_t below(uint64_t bound) noexcept;
  /// Standard normal (polar method; draws come in pairs, the second is kept).
  double normal() noexcept;
  /// Exponential with the given mean.
  double exponential(double mean = 1) noexcept;
  /// Gamma(shape, scale), shape > 0 (Marsaglia and Tsang 2000).
  double gamma(double shape, double scale) noexcept;
  /// `count` different numbers of 0 .. permutation.size()-1, each set equally likely, into out[0..count-1].
  /// `permutation` holds some permutation of 0 .. n-1 and is left as another one: O(count), no allocation.
  void sample(std::span<uint32_t> permutation, uint32_t count, uint32_t* out) noexcept;

 private:
  std::array<uint64_t, 4> state_;
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace actorhost
