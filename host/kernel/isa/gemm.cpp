// Matrix product through Eigen's packed kernel, called below its expression templates: that compiles fast, and takes
// the block sizes from here and not from the caches of the CPU, so that equal instruction sets give equal bits.
#include <Eigen/Core>

#include "host/kernel/isa/isa.hpp"

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
    if (by_rows) {
      left.data = as<T>(a.data) + from * (a.transposed ? 1 : a.lead);
      out += from * c_lead;
      m = to - from;
    } else {
      right.data = as<T>(b.data) + from * (b.transposed ? b.lead : 1);
      out += from;
      n = to - from;
    }
    gemm_of<T>(m, n, k, static_cast<T>(alpha), left, right, out, c_lead, accumulate, scratch);
  });
}

}  // namespace actorhost::kernel::AH_ISA
