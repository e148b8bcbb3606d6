#include "host/data/content/shuffle.hpp"

#include <algorithm>
#include <bit>

#include "host/base/random.hpp"

namespace actorhost {

namespace {

uint64_t mixed(uint64_t x, uint64_t key) noexcept {
  x = (x ^ key) * 0x9e3779b97f4a7c15ULL;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ULL;
  return x ^ x >> 29;
}

}  // namespace

Shuffle::Shuffle(uint64_t seed, uint64_t epoch, uint64_t n) noexcept : n_(n), keys_{} {
  Rng rng(seed, epoch);
  for (uint64_t& key : keys_) key = rng.next();
  const int bits = std::max(2, static_cast<int>(std::bit_width(n - 1)));
  low_bits_ = bits / 2;
  high_bits_ = bits - low_bits_;
}

uint64_t Shuffle::operator()(uint64_t position) const noexcept {
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

}  // namespace actorhost
