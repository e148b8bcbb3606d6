#include "host/kernel/sparse.hpp"

#include <algorithm>
#include <vector>

namespace actorhost::kernel {

namespace {

constexpr int64_t kColumns = 32;      // columns of a product that are summed at once
constexpr double kWorkPerTask = 1e5;  // multiply-adds

template <typename T>
void multiply_row(const Csr& a, int64_t row, const T* b, int64_t n, T* out) noexcept {
  const int64_t from = a.starts[row] - 1;
  const int64_t to = a.starts[row + 1] - 1;
  const T* values = static_cast<const T*>(a.values);
  for (int64_t j0 = 0; j0 < n; j0 += kColumns) {
    const int64_t columns = std::min(kColumns, n - j0);
    double sums[kColumns] = {};
    for (int64_t i = from; i < to; ++i) {
      const T* other = b + (a.columns[i] - 1) * n + j0;
      for (int64_t j = 0; j < columns; ++j) sums[j] += static_cast<double>(values[i]) * static_cast<double>(other[j]);
    }
    for (int64_t j = 0; j < columns; ++j) out[row * n + j0 + j] = static_cast<T>(sums[j]);
  }
}

template <typename T>
int64_t gather_rows(const std::vector<int64_t>& order, const int64_t* rows, const int64_t* columns, const T* values,
                    const Csr& out) noexcept {
  T* sums = static_cast<T*>(out.values);
  int64_t row = 0;
  int64_t n = 0;
  out.starts[0] = 1;
  for (size_t i = 0; i < order.size();) {
    const auto at = static_cast<size_t>(order[i]);
    for (; row + 1 < rows[at]; ++row) out.starts[row + 1] = n + 1;
    double sum = 0;
    for (; i < order.size(); ++i) {
      const auto next = static_cast<size_t>(order[i]);
      if (rows[next] != rows[at] || columns[next] != columns[at]) break;
      sum += static_cast<double>(values[next]);
    }
    out.columns[n] = columns[at];
    sums[n++] = static_cast<T>(sum);
  }
  for (; row < out.rows; ++row) out.starts[row + 1] = n + 1;
  return n;
}

}  // namespace

void multiply(const Csr& a, const View& b, const View& out, ThreadPool& pool) {
  const int64_t n = b.shape[1];
  const double work = static_cast<double>(a.starts[a.rows] - 1 + a.rows) * static_cast<double>(n);
  const auto tasks = std::clamp<int64_t>(static_cast<int64_t>(work / kWorkPerTask), 1, std::max<int64_t>(a.rows, 1));
  pool.run(static_cast<int>(std::min<int64_t>(tasks, 1 << 20)), [&, tasks = std::min<int64_t>(tasks, 1 << 20)](int t) {
    for (int64_t row = a.rows * t / tasks; row < a.rows * (t + int64_t{1}) / tasks; ++row) {
      if (a.dtype == Dtype::f32) {
        multiply_row(a, row, static_cast<const float*>(b.data), n, static_cast<float*>(out.data));
      } else {
        multiply_row(a, row, static_cast<const double*>(b.data), n, static_cast<double*>(out.data));
      }
    }
  });
}

int64_t gather(int64_t count, const int64_t* rows, const int64_t* columns, const void* values, const Csr& out) {
  // Sorts by row, in the given order; then each row by column.
  std::vector<int64_t> ends(static_cast<size_t>(out.rows) + 1);
  for (int64_t i = 0; i < count; ++i) ++ends[static_cast<size_t>(rows[i])];
  for (size_t r = 1; r < ends.size(); ++r) ends[r] += ends[r - 1];
  std::vector<int64_t> order(static_cast<size_t>(count));
  for (int64_t i = count; i-- > 0;) order[static_cast<size_t>(--ends[static_cast<size_t>(rows[i])])] = i;
  for (size_t r = 1; r < ends.size(); ++r) {  // ends[r] is now the start of row r
    const int64_t end = r + 1 < ends.size() ? ends[r + 1] : count;
    std::stable_sort(order.begin() + ends[r], order.begin() + end,
                     [columns](int64_t i, int64_t j) { return columns[i] < columns[j]; });
  }
  if (out.dtype == Dtype::f32) return gather_rows(order, rows, columns, static_cast<const float*>(values), out);
  return gather_rows(order, rows, columns, static_cast<const double*>(values), out);
}

}  // namespace actorhost::kernel
