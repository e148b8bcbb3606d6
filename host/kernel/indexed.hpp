#pragma once
// Rows of tensors by their positions: gathering, adding to, and finding the nearest. Positions count from 1 and are
// whole numbers in a float tensor. A row is what lies behind one index of the first dimension; all views are row-major.
// Pure functions over memory of the caller's, which do not overlap.

#include "host/kernel/strided.hpp"

namespace actorhost::kernel {

/// The first element of `index` that is no whole number of 1 .. rows, or index.size().
int64_t first_bad_position(const View& index, int64_t rows) noexcept;

/// out[i] = from[index[i]]. Positions are right; all but `index` have one element type.
void take_rows(const View& from, const View& index, const View& out) noexcept;

/// to[index[i]] += rows[i], one after the other. Positions are right; all but `index` have one element type.
void add_rows(const View& rows, const View& index, const View& to) noexcept;

/// out[i] = position of the row of `rows` [k, d] that is nearest to points[i] [n, d] by Euclidean distance, the first
/// of those that are equally near. Gives how many points it has done: below n when the next one is near to none,
/// because a distance is NaN or infinite. All have one element type.
int64_t nearest_rows(const View& points, const View& rows, const View& out) noexcept;

}  // namespace actorhost::kernel
