#pragma once
// Shared parts of the kernel tests: the instruction sets of this CPU, random sizes and arrays of seeded numbers.

#include <cstdint>
#include <vector>

#include "host/base/random.hpp"
#include "host/kernel/kernels.hpp"

namespace actorhost::kernel {

/// The tables that this CPU can run; the first is the baseline.
inline std::vector<const Kernels*> tables() {
  std::vector<const Kernels*> found;
  for (Isa isa : {Isa::sse2, Isa::v3, Isa::v4}) {
    if (const Kernels* table = kernels_for(isa)) found.push_back(table);
  }
  return found;
}

/// A size from 1 to `most`, or sometimes 0.
inline int64_t often_some(Rng& rng, uint64_t most) {
  return rng.below(15) == 0 ? 0 : static_cast<int64_t>(1 + rng.below(most));
}
inline int64_t from_one(Rng& rng, uint64_t most) { return static_cast<int64_t>(1 + rng.below(most)); }

template <typename T>
constexpr Dtype dtype_of = sizeof(T) == 4 ? Dtype::f32 : Dtype::f64;

template <typename T>
std::vector<T> normals(Rng& rng, int64_t n, double scale = 1) {
  std::vector<T> values(static_cast<size_t>(n));
  for (T& x : values) x = static_cast<T>(rng.normal() * scale);
  return values;
}

}  // namespace actorhost::kernel
