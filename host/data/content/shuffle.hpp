#pragma once
// A shuffled order of 0 .. n-1 without memory: each element is computed on any machine from the seed, the epoch and the
// position. A batch of a training epoch is therefore sent as one number. A Feistel network permutes the numbers below
// the next power of two; it is applied repeatedly until the result is below n (less than two rounds on average). About
// 20 ns a position. Any thread; not for cryptography.

#include <algorithm>
#include <bit>
#include <cstdint>

#include "host/base/random.hpp"

namespace actorhost {

class Shuffle {
 public:
  /// Different seeds and epochs give unrelated orders. n > 0.
  Shuffle(uint64_t seed, uint64_t epoch, uint64_t n) noexcept : n_(n), keys_{} {
    Rng rng(seed, epoch);
    for (uint64_t& key : keys_) key = rng.next();
    const int bits = std::max(2, static_cast<int>(std::bit_width(n - 1)));
    low_bits_ = bits / 2;
    high_bits_ = bits - low_bits_;
  }
  /// The element at `position`, which must be below n.
  uint64_t operator()(uint64_t position) const noexcept {
    const uint64_t low_mask = (uint64_t{1} << low_bits_) - 1;
    const uint64_t high_mask = (uint64_t{1} << high_bits_) - 1;
    do {
      uint64_t low = position & low_mask;
      uint64_t high = position >> low_bits_;
      for (int round = 0; round < kRounds; round += 2) {
        low ^= mixed(high, keys_[round]) & low_mask;
        high ^= mixed(low, keys_[round + 1]) & high_mask;
      }
      position = high << low_bits_ | low;
    } while (position >= n_);
    return position;
  }

 private:
  static uint64_t mixed(uint64_t x, uint64_t key) noexcept {
    x = (x ^ key) * 0x9e3779b97f4a7c15ULL;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ULL;
    return x ^ x >> 29;
  }

  static constexpr int kRounds = 8;

  uint64_t n_;
  uint64_t keys_[kRounds];
  int low_bits_;
  int high_bits_;
};

}  // namespace actorhost
