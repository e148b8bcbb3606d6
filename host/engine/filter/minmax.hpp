#pragma once
// Values as 256 levels between the smallest and the largest element of their block: a byte an element and two elements
// a block. The error is at most half a step, which is a 510th of the block's range (and rounding). A block of equal
// elements is exact. A block with an infinite element or a NaN is sent raw, because averaging would hide them. Pure
// functions.

#include "host/base/result.hpp"
#include "host/engine/filter/bytes.hpp"
#include "host/kernel/kernels.hpp"

namespace actorhost {

/// `residual` is null or `values` itself; it receives the errors of the levels.
void write_levels(const kernel::Kernels& k, Dtype dtype, uint64_t n, uint32_t block, const void* values, void* residual,
                  FilterWriter& out);

Status read_levels(const kernel::Kernels& k, FilterReader& in, Dtype dtype, uint64_t n, void* out);

}  // namespace actorhost
