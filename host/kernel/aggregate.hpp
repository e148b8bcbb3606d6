#pragma once
// Loops over several vectors of the same size, for the robust aggregation of updates. float32 and float64 only. The
// same bits on each machine. Pure functions, any thread.

#include <cstdint>
#include <span>

#include "host/base/dtype.hpp"

namespace actorhost::kernel {

/// The scalar product of two vectors of n elements, in double.
double dot(Dtype dtype, uint64_t n, const void* a, const void* b) noexcept;

/// out[i]: the mean of the i-th elements of all vectors without the `trim` smallest and the `trim` greatest (Yin et
/// al., Byzantine-robust distributed learning, ICML 2018). A NaN counts as the greatest. With 2 * trim + 1 or 2 * trim
/// + 2 vectors this is the median. Requires 2 * trim < vectors.size().
void trimmed_mean(Dtype dtype, uint64_t n, std::span<const void* const> vectors, size_t trim, void* out);

}  // namespace actorhost::kernel
