#pragma once
// Values as halves (IEEE 754 binary16): 2 bytes an element, 11 bits of precision, so a relative error of 2^-11 at most
// from 2^-14 up to 65,504, an absolute one of 2^-25 below. Pure functions.

#include "host/base/result.hpp"
#include "host/engine/filter/bytes.hpp"
#include "host/kernel/kernels.hpp"

namespace actorhost {

/// False, and nothing is written, when a finite element would become infinite. Unless `rest` is null it is `values`
/// itself, and what the halves leave out is left there.
bool write_halves(const kernel::Kernels& k, Dtype dtype, uint64_t n, const void* values, void* rest, FilterWriter& out);

Status read_halves(const kernel::Kernels& k, FilterReader& in, Dtype dtype, uint64_t n, void* out);

}  // namespace actorhost
