#pragma once
// A shuffled order of 0 .. n-1 that needs no memory: each position is computed by itself, on any machine, from the
// seed, the epoch and the position. So a batch of a training epoch travels as one number. A Feistel network permutes
// the next power of two and is walked on until the result is below n (less than two rounds on average), about 20 ns a
// position. Any thread; not for cryptography.

#include <cstdint>

namespace actorhost {

class Shuffle {
 public:
  /// Different seeds and epochs give unrelated orders. n > 0.
  Shuffle(uint64_t seed, uint64_t epoch, uint64_t n) noexcept;
  /// The element at `position`, which has to be below n.
  uint64_t operator()(uint64_t position) const noexcept;

 private:
  static constexpr int kRounds = 8;

  uint64_t n_;
  uint64_t keys_[kRounds];
  int low_bits_;
  int high_bits_;
};

}  // namespace actorhost
