#pragma once
// Values as one of 256 levels between the smallest and the largest of their block: a byte an element and two elements a
// block. The error is half a step, a 510th of the block's range, at most (and rounding); a block of equal elements is
// exact. A block with an infinite element or a NaN goes as it is: averaging it away would hide it. Pure functions.

#include "host/base/result.hpp"
#include "host/engine/filter/bytes.hpp"
#include "host/kernel/kernels.hpp"

namespace actorhost {

/// Unless `rest` is null it is `values` itself, and what the levels leave out is left there.
void write_levels(const kernel::Kernels& k, Dtype dtype, uint64_t n, uint32_t block, const void* values, void* rest,
                  FilterWriter& out);

Status read_levels(const kernel::Kernels& k, FilterReader& in, Dtype dtype, uint64_t n, void* out);

}  // namespace actorhost
