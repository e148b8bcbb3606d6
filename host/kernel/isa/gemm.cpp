// Matrix product through Eigen's packed kernel, called below its expression templates: this compiles fast, and the
// block sizes are given here instead of being taken from the CPU's caches, so that equal instruction sets give equal
// bits. The kernel packs what it reads, which would double the work of a product with a vector: separate loops do
// those.
#include <Eigen/Core>

#include "host/kernel/isa/isa.hpp"
#include "host/kernel/isa/reduce.hpp"

namespace actorhost::kernel::AH_ISA {

namespace {

using Index = int64_t;

template <typename T>
class Blocking : public Eigen::internal::level3_blocking<T, T> {
 public:
  using Traits = Eigen::internal::gebp_traits<T, T>;

  // Eigen's result is column-major, so rows here are the columns of our row-major c.
  Blocking(Index rows, Index columns, Index depth) noexcept {
    this->m_kc = depth < kDepth ? depth : kDepth;
    this->m_mc = rows < kRows ? rows : kRows;
    this->m_nc = columns < kColumns ? columns : kColumns;
  }

  void place(void* scratch) noexcept {
    this->m_blockA = static_cast<T*>(scratch);
    this->m_blockB = this->m_blockA + lhs_size();
  }

  size_t bytes() const noexcept { return static_cast<size_t>(lhs_size() + this->m_kc * this->m_nc) * sizeof(T); }

 private:
  static constexpr Index kDepth = 256;
  static constexpr Index kRows = 384 * 4 / static_cast<Index>(sizeof(T));
  static constexpr Index kColumns = 1024;
  static_assert(kRows % kGemmGrain == 0 && kGemmGrain % Traits::mr == 0 && kGemmGrain % Traits::nr == 0);

  Index lhs_size() const noexcept { return (this->m_kc * this->m_mc + 15) / 16 * 16; }
};

template <typename T, int BOrder, int AOrder>
void product(Index rows, Index columns, Index depth, T alpha, const T* b, Index b_lead, const T* a, Index a_lead, T* c,
             Index c_lead, void* scratch) noexcept {
  using Product =
      Eigen::internal::general_matrix_matrix_product<Index, T, BOrder, false, T, AOrder, false, Eigen::ColMajor, 1>;
  Blocking<T> blocking(rows, columns, depth);
  blocking.place(scratch);
  Product::run(rows, columns, depth, b, b_lead, a, a_lead, c, 1, c_lead, alpha, blocking, nullptr);
}

template <typename T>
void gemm_of(Index m, Index n, Index k, T alpha, const Operand& a, const Operand& b, T* c, Index c_lead,
             bool accumulate, void* scratch) noexcept {
  if (!accumulate) {
    for (Index i = 0; i < m; ++i) __builtin_memset(c + i * c_lead, 0, static_cast<size_t>(n) * sizeof(T));
  }
  if (m == 0 || n == 0 || k == 0) return;
  constexpr int kPlain = Eigen::ColMajor;
  constexpr int kTurned = Eigen::RowMajor;
  // c^T = b^T a^T in column-major terms; a row-major operand that is not transposed is its column-major transpose.
  auto run = b.transposed ? (a.transposed ? product<T, kTurned, kTurned> : product<T, kTurned, kPlain>)
                          : (a.transposed ? product<T, kPlain, kTurned> : product<T, kPlain, kPlain>);
  run(n, m, k, alpha, as<T>(b.data), b.lead, as<T>(a.data), a.lead, c, c_lead, scratch);
}

// Takes the result of a product with a vector.
template <typename T>
struct Sums {
  T* at;
  Index step;
  T alpha;
  bool accumulate;

  void put(Index i, double total) const noexcept {
    const T value = alpha * static_cast<T>(total);
    at[i * step] = accumulate ? at[i * step] + value : value;
  }
};

// The product of a matrix with a vector x, summed in the order of Kernels::reduce: entry i of the result is the sum of
// row i, times x.
template <typename T>
void rows_times(Index count, Index depth, const T* rows, Index lead, const T* x, const Sums<T>& sums) noexcept {
  for (Index i = 0; i < count; ++i) {
    const T* row = rows + i * lead;
    double total = 0;
    for (Index from = 0; from < depth; from += kBlock) {
      const Index n = depth - from < kBlock ? depth - from : kBlock;
      total += static_cast<double>(reduce_block<Add, T>(n, [=](Index j) { return row[from + j] * x[from + j]; }));
    }
    sums.put(i, total);
  }
}

// The same product when the entries of a column lie together and those of a row apart: adds columns, some of them in
// the element type, and these sums in double.
template <typename T>
void columns_times(Index count, Index depth, const T* columns, Index lead, const T* x, const Sums<T>& sums) noexcept {
  constexpr Index kPiece = 1024;
  constexpr Index kSome = 256;
  T part[kPiece];
  double total[kPiece];
  for (Index at = 0; at < count; at += kPiece) {
    const Index n = count - at < kPiece ? count - at : kPiece;
    for (Index i = 0; i < n; ++i) total[i] = 0;
    for (Index from = 0; from < depth; from += kSome) {
      const Index to = depth - from < kSome ? depth : from + kSome;
      for (Index i = 0; i < n; ++i) part[i] = 0;
      Index j = from;
      for (; j + 4 <= to; j += 4) {
        const T* c = columns + j * lead + at;
        for (Index i = 0; i < n; ++i) {
          part[i] = (((part[i] + c[i] * x[j]) + c[lead + i] * x[j + 1]) + c[2 * lead + i] * x[j + 2]) +
                    c[3 * lead + i] * x[j + 3];
        }
      }
      for (; j < to; ++j) {
        for (Index i = 0; i < n; ++i) part[i] += columns[j * lead + at + i] * x[j];
      }
      for (Index i = 0; i < n; ++i) total[i] += static_cast<double>(part[i]);
    }
    for (Index i = 0; i < n; ++i) sums.put(at + i, total[i]);
  }
}

}  // namespace

size_t gemm_scratch(Dtype dtype, int64_t m, int64_t n, int64_t k) noexcept {
  return by_dtype(dtype, [=]<typename T>(T) { return Blocking<T>(n, m, k).bytes(); });
}

void gemm(Dtype dtype, int64_t m, int64_t n, int64_t k, double alpha, const Operand& a, const Operand& b, void* c,
          int64_t c_lead, bool accumulate, bool by_rows, int64_t from, int64_t to, void* scratch) noexcept {
  by_dtype(dtype, [&]<typename T>(T) {
    Operand left = a;
    Operand right = b;
    T* out = as<T>(c);
    const bool is_row = m == 1;
    const bool is_column = n == 1;
    if (by_rows) {
      left.data = as<T>(a.data) + from * (a.transposed ? 1 : a.lead);
      out += from * c_lead;
      m = to - from;
    } else {
      right.data = as<T>(b.data) + from * (b.transposed ? b.lead : 1);
      out += from;
      n = to - from;
    }
    const T factor = static_cast<T>(alpha);
    if (is_column) {
      const auto times = left.transposed ? columns_times<T> : rows_times<T>;
      times(m, k, as<T>(left.data), left.lead, as<T>(right.data), {out, c_lead, factor, accumulate});
    } else if (is_row) {
      const auto times = right.transposed ? rows_times<T> : columns_times<T>;
      times(n, k, as<T>(right.data), right.lead, as<T>(left.data), {out, 1, factor, accumulate});
    } else {
      gemm_of<T>(m, n, k, factor, left, right, out, c_lead, accumulate, scratch);
    }
  });
}

}  // namespace actorhost::kernel::AH_ISA
