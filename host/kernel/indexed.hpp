#pragma once
// Elements of tensors by position: gathering and scattering, sorting, and nearest rows. Positions count from 1. Input
// positions are integers in a tensor of any element type but b8; output positions are int64. Pure functions over the
// caller's memory, which must not overlap. Views are row-major unless stated otherwise.

#include "host/kernel/strided.hpp"

namespace actorhost::kernel {

/// The index of the first element of `index` that is not an integer of 1 .. rows, or index.size().
int64_t first_bad_position(const View& index, int64_t rows) noexcept;

/// out[.., i, ..] = from[.., index[i], ..] in dimension `dim`. The positions must be valid; all views but `index` have
/// one element type.
void take_rows(const View& from, int dim, const View& index, const View& out) noexcept;

/// to[index[i]] += rows[i] (= with `put`), in order of i. The positions must be valid; all views but `index` have one
/// element type.
void add_rows(const View& rows, const View& index, const View& to, bool put) noexcept;

/// out[.., i, ..] = from[.., index[.., i, ..], ..] in dimension `dim`. `from` and `out` may be any views of one element
/// type; `index` has the shape of `out`, and of `from` except in `dim`. The positions must be valid.
void gather(const View& from, int dim, const View& index, const View& out) noexcept;

/// to[.., index[.., i, ..], ..] = from[.., i, ..] (+= with `add`) in dimension `dim`, in the order of `index`. The
/// counterpart of gather, with the same requirements.
void scatter(const View& from, int dim, const View& index, const View& to, bool add) noexcept;

/// The number of nonzero elements.
int64_t count_nonzero(const View& a) noexcept;
/// The positions of the nonzero elements of `a`, in row-major order.
void nonzero(const View& a, const View& out) noexcept;

/// Sorts each run of the last dimension. `values` receives the elements and `positions` their original positions;
/// either is skipped if its data is null. The sort is stable; NaN is last, also with `descending`. Throws
/// std::bad_alloc.
void sort(const View& a, bool descending, const View& values, const View& positions);

/// out[i] = position of the first element of the ascending `sorted` [n] that is not below values[i] (above it with
/// `right`), or n + 1. NaN is above all numbers. Both have one element type.
void search(const View& sorted, const View& values, bool right, const View& out) noexcept;

/// out[i] = position of the row of `rows` [k, d] nearest to points[i] [n, d] by Euclidean distance, the first among
/// equally near rows. Returns the number of completed points: below n if the next point has no nearest row, because a
/// distance is NaN or infinite. Both have one floating-point element type.
int64_t nearest_rows(const View& points, const View& rows, const View& out) noexcept;

}  // namespace actorhost::kernel
