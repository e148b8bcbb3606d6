#include "host/kernel/linalg.hpp"

#include <atomic>
#include <cmath>
#include <new>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <Eigen/SVD>

namespace actorhost::kernel {

namespace {

using Eigen::Index;

// Everything is computed in float64, also for float32: this halves the compile time of Eigen, and the results have full
// float32 accuracy.
using Matrix = Eigen::MatrixXd;
using Block = Eigen::Ref<Matrix, 0, Eigen::OuterStride<>>;

// Eigen derives the block sizes of products from the cache sizes; these are set to the same values on every machine.
void fix_block_sizes() {
  static const bool once = (Eigen::setCpuCacheSizes(32 << 10, 512 << 10, 4 << 20), true);
  (void)once;
}

Index extent(const View& v, int from_end) noexcept { return v.shape[static_cast<size_t>(v.shape.rank - from_end)]; }

template <typename T>
using RowMajor = Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

// Matrix i of a batch.
Matrix matrix(const View& v, int64_t i) {
  const Index rows = extent(v, 2);
  const Index columns = extent(v, 1);
  void* at = v.at(i * rows * columns);
  if (v.dtype == Dtype::f64) return RowMajor<double>(static_cast<double*>(at), rows, columns);
  return RowMajor<float>(static_cast<float*>(at), rows, columns).cast<double>();
}

// Writes matrix i of a batch, or vector i if `m` has one column.
void put(const Matrix& m, const View& v, int64_t i) {
  void* at = v.at(i * m.size());
  if (v.dtype == Dtype::f64) {
    RowMajor<double>(static_cast<double*>(at), m.rows(), m.cols()) = m;
  } else {
    RowMajor<float>(static_cast<float*>(at), m.rows(), m.cols()) = m.cast<float>();
  }
}

// Writes the number of matrix i.
void put(double value, const View& v, int64_t i) noexcept {
  if (v.dtype == Dtype::f64) {
    static_cast<double*>(v.data)[i] = value;
  } else {
    static_cast<float*>(v.data)[i] = static_cast<float>(value);
  }
}

// Whether all results are empty; unrequested results have rank 0. The batch may then hold many matrices, without rows
// but with many columns.
template <typename... Views>
bool all_empty(const Views&... results) noexcept {
  return ((results.shape.rank == 0 || results.size() == 0) && ...);
}

// Calls f(matrix, i) for matrix i of the batch `a`, on the threads of the pool if this is worthwhile, and returns the
// first fault. f is called with finite matrices only.
template <typename F>
Fault each(const View& a, ThreadPool& pool, F f) {
  fix_block_sizes();
  const int64_t elements = extent(a, 2) * extent(a, 1);
  int64_t count = 1;
  for (size_t d = 0; d + 2 < a.shape.rank; ++d) count *= a.shape[d];
  std::vector<Fault> faults(static_cast<size_t>(count));
  std::atomic<bool> out_of_memory{false};
  auto one = [&](int64_t i) {
    try {
      Matrix m = matrix(a, i);
      Fault& fault = faults[static_cast<size_t>(i)];
      fault = m.allFinite() ? f(m, i) : Fault{.obstacle = Obstacle::not_finite};
      fault.matrix = i;
    } catch (const std::bad_alloc&) {
      out_of_memory = true;
    }
  };
  constexpr double kWorkPerTask = 1e5;  // multiply-adds, approximately
  const double work = std::pow(static_cast<double>(elements), 1.5);
  const auto group = static_cast<int64_t>(std::clamp(kWorkPerTask / std::max(work, 1.0), 1.0, 1e4));
  pool.run(static_cast<int>((count + group - 1) / group), [&](int task) {
    for (int64_t i = task * group; i < std::min(count, (task + 1) * group); ++i) one(i);
  });
  if (out_of_memory) throw std::bad_alloc();
  for (const Fault& fault : faults) {
    if (fault.obstacle != Obstacle::none) return fault;
  }
  return {};
}

constexpr Index kSmall = 16;  // columns eliminated one by one

// Row exchanges of an elimination: step i exchanges rows i and at[i].
struct Exchanges {
  std::vector<Index> at;
  bool odd = false;
  Index first_zero = -1;  // the first zero pivot

  template <typename Rows>
  void apply(Rows&& rows, Index from, Index to, Index shift) const {
    for (Index i = from; i < to; ++i) {
      const Index other = at[static_cast<size_t>(i)];
      if (other != i) rows.row(i - shift).swap(rows.row(other - shift));
    }
  }
};

// Overwrites `a`, which begins at row and column `top` of the whole matrix, by L (below the diagonal) and U. Recurses
// on halves of the columns (Toledo 1997), so that most of the work is products.
void eliminate(Block a, Index top, Exchanges& exchanges) {
  const Index rows = a.rows();
  const Index columns = std::min(a.rows(), a.cols());
  if (columns > kSmall) {
    const Index left = columns / 2;
    const Index right = a.cols() - left;
    eliminate(a.leftCols(left), top, exchanges);
    exchanges.apply(a.rightCols(right), top, top + left, top);
    a.block(0, 0, left, left).triangularView<Eigen::UnitLower>().solveInPlace(a.topRightCorner(left, right));
    a.bottomRightCorner(rows - left, right).noalias() -=
        a.bottomLeftCorner(rows - left, left) * a.topRightCorner(left, right);
    eliminate(a.bottomRightCorner(rows - left, right), top + left, exchanges);
    exchanges.apply(a.bottomLeftCorner(rows - left, left), top + left, top + columns, top + left);
    return;
  }
  for (Index j = 0; j < columns; ++j) {
    Index pivot = 0;
    a.col(j).tail(rows - j).cwiseAbs().maxCoeff(&pivot);
    exchanges.at.push_back(top + j + pivot);
    if (pivot != 0) {
      exchanges.odd = !exchanges.odd;
      a.row(j).swap(a.row(j + pivot));
    }
    if (a(j, j) == 0) {
      if (exchanges.first_zero < 0) exchanges.first_zero = top + j;
      continue;
    }
    a.col(j).tail(rows - j - 1) /= a(j, j);
    a.bottomRightCorner(rows - j - 1, a.cols() - j - 1).noalias() -=
        a.col(j).tail(rows - j - 1) * a.row(j).tail(a.cols() - j - 1);
  }
}

Exchanges eliminate(Matrix& a) {
  Exchanges exchanges;
  exchanges.at.reserve(static_cast<size_t>(std::min(a.rows(), a.cols())));
  eliminate(a, 0, exchanges);
  return exchanges;
}

// Overwrites the lower triangle by its factor, recursively by halves. Returns the first pivot not above 0, or -1.
Index factor(Block a) {
  const Index n = a.rows();
  if (n > kSmall) {
    const Index first = n / 2;
    const Index rest = n - first;
    if (const Index bad = factor(a.topLeftCorner(first, first)); bad >= 0) return bad;
    auto below = a.bottomLeftCorner(rest, first);
    a.topLeftCorner(first, first).triangularView<Eigen::Lower>().transpose().solveInPlace<Eigen::OnTheRight>(below);
    a.bottomRightCorner(rest, rest).selfadjointView<Eigen::Lower>().rankUpdate(below, -1);
    const Index bad = factor(a.bottomRightCorner(rest, rest));
    return bad < 0 ? bad : first + bad;
  }
  for (Index j = 0; j < n; ++j) {
    const double pivot = a(j, j) - a.row(j).head(j).squaredNorm();
    if (!(pivot > 0)) {
      a(j, j) = pivot;
      return j;
    }
    a(j, j) = std::sqrt(pivot);
    auto below = a.col(j).tail(n - j - 1);
    below.noalias() -= a.bottomLeftCorner(n - j - 1, j) * a.row(j).head(j).transpose();
    below /= a(j, j);
  }
  return -1;
}

// Replaces `columns` by orthonormal columns; already orthonormal leading columns keep their values.
Matrix repaired(Matrix columns) {
  const Eigen::HouseholderQR<Block> reflections(columns);
  Matrix q = Matrix::Identity(columns.rows(), columns.cols());
  q.applyOnTheLeft(reflections.householderQ());
  for (Index j = 0; j < q.cols(); ++j) {
    if (columns(j, j) < 0) q.col(j) = -q.col(j);  // r's diagonal
  }
  return q;
}

}  // namespace

Fault lu(const View& a, const View& p, const View& l, const View& u, ThreadPool& pool) {
  if (all_empty(p, l, u)) return {};
  return each(a, pool, [&](Matrix& m, int64_t i) -> Fault {
    const Exchanges exchanges = eliminate(m);
    Matrix order = Matrix::Identity(m.rows(), m.rows());
    for (size_t step = exchanges.at.size(); step-- > 0;) {
      order.row(static_cast<Index>(step)).swap(order.row(exchanges.at[step]));
    }
    const Index k = extent(l, 1);
    put(order, p, i);
    put(m.leftCols(k).triangularView<Eigen::UnitLower>(), l, i);
    put(m.topRows(k).triangularView<Eigen::Upper>(), u, i);
    return {};
  });
}

Fault solve(const View& a, const View& b, const View& x, ThreadPool& pool) {
  if (x.size() == 0 && a.size() == 0) return {};
  return each(a, pool, [&](Matrix& m, int64_t i) -> Fault {
    const Exchanges exchanges = eliminate(m);
    if (exchanges.first_zero >= 0) return {.obstacle = Obstacle::singular, .pivot = exchanges.first_zero};
    Matrix right = matrix(b, i);
    if (right.size() == 0) return {};
    exchanges.apply(right, 0, m.rows(), 0);
    m.triangularView<Eigen::UnitLower>().solveInPlace(right);
    m.triangularView<Eigen::Upper>().solveInPlace(right);
    put(right, x, i);
    return {};
  });
}

Fault determinant(const View& a, const View& det, const View& sign, const View& log, ThreadPool& pool) {
  return each(a, pool, [&](Matrix& m, int64_t i) -> Fault {
    const Exchanges exchanges = eliminate(m);
    double product = exchanges.odd ? -1 : 1;
    double signs = product;
    double sum = 0;
    for (Index j = 0; j < m.rows(); ++j) {
      const double pivot = m(j, j);
      product *= pivot;
      signs *= (pivot > 0) - (pivot < 0);
      sum += std::log(std::abs(pivot));
    }
    put(product, det, i);
    put(signs, sign, i);
    put(sum, log, i);
    return {};
  });
}

Fault cholesky(const View& a, const View& l, ThreadPool& pool) {
  if (l.size() == 0) return {};
  return each(a, pool, [&](Matrix& m, int64_t i) -> Fault {
    if (const Index bad = factor(m); bad >= 0) {
      return {.obstacle = Obstacle::not_definite, .pivot = bad, .value = m(bad, bad)};
    }
    put(m.triangularView<Eigen::Lower>(), l, i);
    return {};
  });
}

Fault qr(const View& a, const View& q, const View& r, ThreadPool& pool) {
  if (all_empty(q, r)) return {};
  return each(a, pool, [&](Matrix& m, int64_t i) -> Fault {
    const Eigen::HouseholderQR<Block> reflections(m);  // stored in m itself
    const Index k = extent(q, 1);
    Matrix columns = Matrix::Identity(m.rows(), k);
    columns.applyOnTheLeft(reflections.householderQ());
    put(columns, q, i);
    put(m.topRows(k).triangularView<Eigen::Upper>(), r, i);
    return {};
  });
}

Fault svd(const View& a, const View& u, const View& s, const View& vt, ThreadPool& pool) {
  if (all_empty(u, s, vt)) return {};
  return each(a, pool, [&](Matrix& m, int64_t i) -> Fault {
    unsigned wanted = 0;
    if (u.shape.rank != 0) {
      wanted = extent(u, 1) == extent(s, 1) ? Eigen::ComputeThinU : Eigen::ComputeFullU;
      wanted |= extent(vt, 2) == extent(s, 1) ? Eigen::ComputeThinV : Eigen::ComputeFullV;
    }
    if (m.size() == 0) {
      if (u.shape.rank == 0) return {};
      put(Matrix::Identity(m.rows(), extent(u, 1)), u, i);
      put(Matrix::Identity(extent(vt, 2), m.cols()), vt, i);
      return {};
    }
    const Eigen::BDCSVD<Matrix> values(m, wanted);
    if (values.info() != Eigen::Success) return {.obstacle = Obstacle::no_convergence};
    put(values.singularValues(), s, i);
    if (u.shape.rank == 0) return {};
    // For singular values of 0, BDCSVD may return columns that are not orthonormal.
    const auto& all = values.singularValues();
    const bool sound = all.tail(1)(0) > all(0) * static_cast<double>(all.size()) * 1e-15;
    put(sound ? values.matrixU() : repaired(values.matrixU()), u, i);
    put((sound ? values.matrixV() : repaired(values.matrixV())).transpose(), vt, i);
    return {};
  });
}

Fault eigh(const View& a, const View& w, const View& v, ThreadPool& pool) {
  if (a.size() == 0) return {};
  return each(a, pool, [&](Matrix& m, int64_t i) -> Fault {
    const auto wanted = v.shape.rank == 0 ? Eigen::EigenvaluesOnly : Eigen::ComputeEigenvectors;
    const Eigen::SelfAdjointEigenSolver<Matrix> values(m, wanted);
    if (values.info() != Eigen::Success) return {.obstacle = Obstacle::no_convergence};
    put(values.eigenvalues(), w, i);
    if (v.shape.rank != 0) put(values.eigenvectors(), v, i);
    return {};
  });
}

}  // namespace actorhost::kernel
