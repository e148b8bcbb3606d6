#pragma once
// Values as halves (IEEE 754 binary16): 2 bytes an element, 11 bits of precision. The relative error is at most 2^-11
// from 2^-14 up to 65,504; below, the absolute error is at most 2^-25. Pure functions.

#include "host/base/result.hpp"
#include "host/engine/filter/bytes.hpp"
#include "host/kernel/kernels.hpp"

namespace actorhost {

/// False, and nothing is written, if a finite element would become infinite. `residual` is null or `values` itself; it
/// receives the rounding errors.
bool write_halves(const kernel::Kernels& k, Dtype dtype, uint64_t n, const void* values, void* residual,
                  FilterWriter& out);

Status read_halves(const kernel::Kernels& k, FilterReader& in, Dtype dtype, uint64_t n, void* out);

}  // namespace actorhost
