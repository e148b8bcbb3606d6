#pragma once
// Decompositions of matrices, through Eigen, and what follows from them: for baseline instructions and with block sizes
// of its own, so a result has the same bits on every x86-64 machine and for every number of threads. Every view has the
// matrices of a batch in its last two dimensions (vectors in its last one), the same batch in all views of a call, and
// is row-major; results do not overlap operands. Element types are float32 and float64, one in all views of a call.
// Throws std::bad_alloc only.

#include "host/kernel/pool.hpp"
#include "host/kernel/strided.hpp"

namespace actorhost::kernel {

enum class Obstacle : int32_t { none, not_finite, singular, not_definite, no_convergence };

/// Why there is no result: the first matrix of the batch that has none, from 0, its pivot from 0 and the pivot's value.
/// The results hold nothing of use then.
struct Fault {
  Obstacle what = Obstacle::none;
  int64_t matrix = 0;
  int64_t pivot = 0;
  double value = 0;
};

/// a = p l u with partial pivoting, a [m, n]: p [m, m] a permutation, l [m, k] with ones on its diagonal, u [k, n], k =
/// min(m, n).
Fault lu(const View& a, const View& p, const View& l, const View& u, ThreadPool& pool);

/// a x = b, a [n, n], b and x [n, r]. Obstacle::singular where a pivot is exactly 0.
Fault solve(const View& a, const View& b, const View& x, ThreadPool& pool);

/// Of a [n, n] the determinant, its sign (-1, 0 or 1) and the logarithm of its magnitude (-inf for 0).
Fault determinant(const View& a, const View& det, const View& sign, const View& log, ThreadPool& pool);

/// a = l l^T with l lower triangular, a [n, n] symmetric, of which the upper triangle is not read.
/// Obstacle::not_definite where a pivot is not above 0.
Fault cholesky(const View& a, const View& l, ThreadPool& pool);

/// a = q r by Householder reflections, a [m, n]: q [m, k] with orthonormal columns, r [k, n] upper triangular; k is
/// min(m, n) or m, as the shapes say.
Fault qr(const View& a, const View& q, const View& r, ThreadPool& pool);

/// a = u diag(s) vt, a [m, n]: s [k] falling, k = min(m, n), u [m, k] and vt [k, n], or [m, m] and [n, n]. With u and
/// vt without dimensions only s.
Fault svd(const View& a, const View& u, const View& s, const View& vt, ThreadPool& pool);

/// a = v diag(w) v^T, a [n, n] symmetric, of which the upper triangle is not read: w [n] rising, the columns of v [n,
/// n] orthonormal. With v without dimensions only w.
Fault eigh(const View& a, const View& w, const View& v, ThreadPool& pool);

}  // namespace actorhost::kernel
