#include "host/base/random.hpp"

#include <bit>
#include <cmath>

namespace actorhost {

namespace {

uint64_t splitmix64(uint64_t& state) noexcept {
  uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

Rng::Rng(uint64_t seed, uint64_t stream) noexcept : state_{} {
  uint64_t s = seed;
  uint64_t mixed = splitmix64(s);
  s = mixed ^ (stream * 0xd1342543de82ef95ULL + 0x2545f4914f6cdd1dULL);
  for (uint64_t& word : state_) word = splitmix64(s);
}

uint64_t Rng::next() noexcept {
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

double Rng::uniform() noexcept { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

uint64_t Rng::below(uint64_t bound) noexcept {
  __extension__ using Wide = unsigned __int128;
  Wide product = static_cast<Wide>(next()) * bound;
  auto low = static_cast<uint64_t>(product);
  if (low < bound) {
    const uint64_t threshold = -bound % bound;
    while (low < threshold) {
      product = static_cast<Wide>(next()) * bound;
      low = static_cast<uint64_t>(product);
    }
  }
  return static_cast<uint64_t>(product >> 64);
}

double Rng::normal() noexcept {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  double u = 0;
  double v = 0;
  double r = 0;
  do {
    u = 2 * uniform() - 1;
    v = 2 * uniform() - 1;
    r = u * u + v * v;
  } while (r >= 1 || r == 0);
  const double scale = std::sqrt(-2 * std::log(r) / r);
  spare_ = v * scale;
  has_spare_ = true;
  return u * scale;
}

double Rng::exponential(double mean) noexcept { return -mean * std::log1p(-uniform()); }

double Rng::gamma(double shape, double scale) noexcept {
  if (shape < 1) {
    const double boost = std::pow(1 - uniform(), 1 / shape);
    return gamma(shape + 1, scale) * boost;
  }
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = normal();
    double v = 1 + c * x;
    if (v <= 0) continue;
    v = v * v * v;
    if (std::log(1 - uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v * scale;
  }
}

void Rng::sample(std::span<uint32_t> permutation, uint32_t count, uint32_t* out) noexcept {
  const auto n = static_cast<uint32_t>(permutation.size());
  if (count > n) count = n;
  for (uint32_t i = 0; i < count; ++i) {
    const auto j = i + static_cast<uint32_t>(below(n - i));
    const uint32_t chosen = permutation[j];
    permutation[j] = permutation[i];
    permutation[i] = chosen;
    out[i] = chosen;
  }
}

}  // namespace actorhost
