#pragma once
// Elements of tensors by their positions: gathering and scattering, sorting, and the nearest of rows. Positions count
// from 1; given ones are whole numbers in a tensor of any element type but b8, those found are int64. Pure functions
// over memory of the caller's, which do not overlap. Views are row-major unless said otherwise.

#include "host/kernel/strided.hpp"

namespace actorhost::kernel {

/// The first element of `index` that is no whole number of 1 .. rows, or index.size().
int64_t first_bad_position(const View& index, int64_t rows) noexcept;

/// out[.., i, ..] = from[.., index[i], ..] in dimension `dim`. Positions are right; all but `index` have one element
/// type.
void take_rows(const View& from, int dim, const View& index, const View& out) noexcept;

/// to[index[i]] += rows[i] (= with `put`), one after the other. Positions are right; all but `index` have one element
/// type.
void add_rows(const View& rows, const View& index, const View& to, bool put) noexcept;

/// out[.., i, ..] = from[.., index[.., i, ..], ..] in dimension `dim`. `from` and `out` may be any views of one element
/// type; `index` has the shape of `out`, and of `from` but for `dim`. Positions are right.
void gather(const View& from, int dim, const View& index, const View& out) noexcept;

/// to[.., index[.., i, ..], ..] = from[.., i, ..] (+= with `add`) in dimension `dim`, in the order of `index`: gather's
/// counterpart, with its rules.
void scatter(const View& from, int dim, const View& index, const View& to, bool add) noexcept;

/// How many elements are not 0.
int64_t count_nonzero(const View& a) noexcept;
/// The positions, in row-major order, of the elements of `a` that are not 0.
void nonzero(const View& a, const View& out) noexcept;

/// Sorts each run of the last dimension: `values`, unless its data is null, gets the elements, `positions`, unless its
/// data is null, where they were. Equal elements keep their order; NaN is last, `descending` too. Throws
/// std::bad_alloc.
void sort(const View& a, bool descending, const View& values, const View& positions);

/// out[i] = position of the first element of the rising `sorted` [n] that is not below values[i] (above it with
/// `right`); n + 1 where there is none. NaN is above all numbers. Both have one element type.
void search(const View& sorted, const View& values, bool right, const View& out) noexcept;

/// out[i] = position of the row of `rows` [k, d] that is nearest to points[i] [n, d] by Euclidean distance, the first
/// of those that are equally near. Gives how many points it has done: below n when the next one is near to none,
/// because a distance is NaN or infinite. Both have one element type of floats.
int64_t nearest_rows(const View& points, const View& rows, const View& out) noexcept;

}  // namespace actorhost::kernel
