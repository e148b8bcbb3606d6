// Products of a matrix with a vector. They read the matrix once, so nothing is copied into panels.
#include "host/kernel/isa/isa.hpp"
#include "host/kernel/isa/reduce.hpp"

namespace actorhost::kernel::AH_ISA {

namespace {

using Index = int64_t;

// The destination of a product with a vector.
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

// The product of a matrix with a vector x, summed in the order of Kernels::reduce: entry i of the result is the dot
// product of row i and x.
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

// The same product for a matrix with contiguous columns: adds groups of columns in the element type, and the groups in
// double.
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

void matrix_vector(Dtype dtype, int64_t count, int64_t depth, double alpha, const Operand& matrix, const void* x,
                   void* out, int64_t out_step, bool accumulate) noexcept {
  by_dtype(dtype, [&]<typename T>(T) {
    const auto times = matrix.transposed ? columns_times<T> : rows_times<T>;
    times(count, depth, as<T>(matrix.data), matrix.lead, as<T>(x),
          {as<T>(out), out_step, static_cast<T>(alpha), accumulate});
  });
}

}  // namespace actorhost::kernel::AH_ISA
