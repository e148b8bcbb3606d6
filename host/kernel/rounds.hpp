#pragma once
// What one partition adds to a round of an iterative algorithm: sums of the points around centroids (k-means), rank
// that pages give along their links (PageRank). Pure functions over arrays of the caller's; they add to what the result
// holds.

#include <cstddef>
#include <cstdint>

namespace actorhost::kernel {

/// Row-major float64 points [n, dims].
struct Points {
  const double* values = nullptr;
  size_t n = 0;
  size_t dims = 0;
};

/// Lloyd's step (1957; published IEEE Trans. Inf. Theory 28, 1982): adds each point to the sum of the centroid that is
/// nearest to it, the first of those that are equally near. `sums` is [k, dims + 1]: the sum of the points and their
/// number. The number of points read; below n when the next one has a NaN or infinite value: no centroid is nearest.
size_t nearest_sums(const Points& points, const double* centroids, size_t k, double* sums);

/// Pages at[i], 0 .. n-1, that link to to[begin[i]] .. to[begin[i + 1] - 1]: each gets an equal part of ranks[at[i]].
struct Links {
  const uint32_t* at = nullptr;
  const uint64_t* begin = nullptr;  // pages + 1 of them
  const uint32_t* to = nullptr;
  size_t pages = 0;
};

/// The first half of PageRank's step (Page et al. 1998): adds to `gifts`.
void link_gifts(const Links& links, const double* ranks, double* gifts);

/// The second half: ranks [n] of the sums of so many arrays of gifts [n]. What the pages have not given to others,
/// those without links, goes to all alike. Sums are made in an order of their own, the same wherever this runs.
void link_ranks(const double* const* gifts, size_t parts, size_t n, double damping, double* ranks);

}  // namespace actorhost::kernel
