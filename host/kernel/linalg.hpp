#pragma once
// Decompositions of matrices and derived functions, through Eigen. Compiled for baseline instructions and with fixed
// block sizes, so a result has the same bits on every x86-64 machine and for every number of threads. Every view holds
// a batch of matrices in its last two dimensions (vectors in its last dimension); all views of a call have the same
// batch and are row-major. Results do not overlap operands. Element types are float32 and float64, the same in all
// views of a call. Throws std::bad_alloc only.

#include "host/kernel/pool.hpp"
#include "host/kernel/strided.hpp"

namespace actorhost::kernel {

enum class Obstacle : int32_t { none, not_finite, singular, not_definite, no_convergence };

/// The reason for a missing result: the first failing matrix of the batch, from 0, its pivot from 0, and the value of
/// the pivot. The results are then unspecified.
struct Fault {
  Obstacle obstacle = Obstacle::none;
  int64_t matrix = 0;
  int64_t pivot = 0;
  double value = 0;
};

/// a = p l u with partial pivoting, a [m, n]: p [m, m] a permutation, l [m, k] with ones on its diagonal, u [k, n], k =
/// min(m, n).
Fault lu(const View& a, const View& p, const View& l, const View& u, ThreadPool& pool);

/// a x = b, a [n, n], b and x [n, r]. Obstacle::singular where a pivot is exactly 0.
Fault solve(const View& a, const View& b, const View& x, ThreadPool& pool);

/// For a [n, n], the determinant, its sign (-1, 0 or 1) and the logarithm of its magnitude (-inf for 0).
Fault determinant(const View& a, const View& det, const View& sign, const View& log, ThreadPool& pool);

/// a = l l^T with l lower triangular, a [n, n] symmetric; the upper triangle of a is not read. Obstacle::not_definite
/// if a pivot is not above 0.
Fault cholesky(const View& a, const View& l, ThreadPool& pool);

/// a = q r by Householder reflections, a [m, n]: q [m, k] with orthonormal columns, r [k, n] upper triangular; k is
/// min(m, n) or m, depending on the shapes of q and r.
Fault qr(const View& a, const View& q, const View& r, ThreadPool& pool);

/// a = u diag(s) vt, a [m, n]: s [k] descending, k = min(m, n), u [m, k] and vt [k, n], or [m, m] and [n, n]. If u and
/// vt have rank 0, computes only s.
Fault svd(const View& a, const View& u, const View& s, const View& vt, ThreadPool& pool);

/// a = v diag(w) v^T, a [n, n] symmetric; the upper triangle of a is not read. w [n] is ascending, and the columns of v
/// [n, n] are orthonormal. If v has rank 0, computes only w.
Fault eigh(const View& a, const View& w, const View& v, ThreadPool& pool);

}  // namespace actorhost::kernel
