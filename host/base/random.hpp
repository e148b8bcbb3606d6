#pragma once
// Seeded pseudorandom generators that give the same numbers on every machine. Rng (xoshiro256++, seeded through
// splitmix64) is for general use. StepRng is for simulations: its numbers depend only on (seed, node, step). Philox is
// for tensors that several threads fill: it can start at any position of a stream. Plain values; a generator belongs to
// one thread.

#include <array>
#include <bit>
#include <cstdint>
#include <span>

#include "host/base/variates.hpp"

namespace actorhost {

/// The random numbers of one step of one node: splitmix64 from a hash of (seed, node, step). The numbers do not depend
/// on the order of events, so a simulated node draws the same numbers under every barrier rule.
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

class Rng : public Variates<Rng> {
 public:
  /// Different streams of a seed are independent.
  explicit Rng(uint64_t seed = 0, uint64_t stream = 0) noexcept : state_{} {
    constexpr uint64_t kStep = 0x9e3779b97f4a7c15ULL;
    uint64_t s = StepRng::mix(seed + kStep) ^ (stream * 0xd1342543de82ef95ULL + 0x2545f4914f6cdd1dULL);
    for (uint64_t& word : state_) word = StepRng::mix(s += kStep);
  }

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
  /// Standard normal. Normal numbers are made in pairs: the second number of a pair is stored for the next call.
  double normal() noexcept {
    has_spare_ = !has_spare_;
    return has_spare_ ? normal_pair(spare_) : spare_;
  }
  /// Draws min(count, n) distinct numbers of 0 .. n-1 into `out`, where n is permutation.size(). Each set of numbers is
  /// equally likely. `permutation` must hold a permutation of 0 .. n-1; the call reorders it. O(count), no allocation.
  void sample(std::span<uint32_t> permutation, uint32_t count, uint32_t* out) noexcept {
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

 private:
  std::array<uint64_t, 4> state_;
  double spare_ = 0;
  bool has_spare_ = false;
};

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). For a given seed it is a
/// bijection from counters to blocks of 128 bits. A counter is (index, block, stream), so two different counters never
/// give the same block. An index has 2^32 blocks with two numbers in each.
class Philox : public Variates<Philox> {
 public:
  Philox(uint64_t seed, uint32_t stream) noexcept : seed_(seed), stream_(stream) {}

  /// The next number is the first of this index and block.
  void seek(uint64_t index, uint32_t block = 0) noexcept {
    index_ = index;
    block_ = block;
    has_second_ = false;
  }
  uint64_t next() noexcept {
    if (has_second_) {
      has_second_ = false;
      return second_;
    }
    const auto words = encrypt({low(index_), high(index_), block_++, stream_}, {low(seed_), high(seed_)});
    second_ = words[2] | static_cast<uint64_t>(words[3]) << 32;
    has_second_ = true;
    return words[0] | static_cast<uint64_t>(words[1]) << 32;
  }

  static std::array<uint32_t, 4> encrypt(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) noexcept {
    for (int round = 0; round < 10; ++round) {
      const uint64_t first = uint64_t{0xd2511f53} * counter[0];
      const uint64_t second = uint64_t{0xcd9e8d57} * counter[2];
      counter = {high(second) ^ counter[1] ^ key[0], low(second), high(first) ^ counter[3] ^ key[1], low(first)};
      key[0] += 0x9e3779b9;
      key[1] += 0xbb67ae85;
    }
    return counter;
  }

 private:
  static uint32_t low(uint64_t x) noexcept { return static_cast<uint32_t>(x); }
  static uint32_t high(uint64_t x) noexcept { return static_cast<uint32_t>(x >> 32); }

  uint64_t seed_;
  uint64_t index_ = 0;
  uint64_t second_ = 0;
  uint32_t stream_;
  uint32_t block_ = 0;
  bool has_second_ = false;
};

}  // namespace actorhost
