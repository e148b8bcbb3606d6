#pragma once
// A shuffled order of 0 .. n-1 without memory: each element is computed on any machine from the seed, the epoch and the
// position. A batch of a training epoch is therefore sent as one number. A Feistel network permutes the numbers below
// the next power of two; it is applied repeatedly until the result is below n (less than two rounds on average). About
// 20 ns a position. Any thread; not for cryptography.

#include <cstdint>

namespace actorhost {

class Shuffle {
 public:
  /// Different seeds and epochs give unrelated orders. n > 0.
  Shuffle(uint64_t seed, uint64_t epoch, uint64_t n) noexcept;
  /// The element at `position`, which must be below n.
  uint64_t operator()(uint64_t position) const noexcept;

 private:
  static constexpr int kRounds = 8;

  uint64_t n_;
  uint64_t keys_[kRounds];
  int low_bits_;
  int high_bits_;
};

}  // namespace actorhost
