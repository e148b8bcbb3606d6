#pragma once
// Values as signs: a bit an element and one scale, the mean magnitude. It decodes to scale * sign; 0 has the sign +.
// Made for error feedback. Pure functions. Source: Karimireddy et al., Error feedback fixes SignSGD, ICML 2019 (a scale
// for each tensor; here for each piece).

#include "host/base/dtype.hpp"
#include "host/base/result.hpp"
#include "host/engine/filter/bytes.hpp"

namespace actorhost {

/// `residual` is null or `values` itself; it receives the errors. Writes nothing and returns false if an element is
/// infinite or NaN, or the scale is.
bool write_signs(Dtype dtype, uint64_t n, const void* values, void* residual, FilterWriter& out);

Status read_signs(FilterReader& in, Dtype dtype, uint64_t n, void* out);

}  // namespace actorhost
