#include "host/kernel/matmul.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <new>

#include "host/base/blob.hpp"

namespace actorhost::kernel {

namespace {

// A copy in row-major order, for operands that gemm cannot address.
struct Packed {
  Blob bytes;
  View view;

  Packed(const Kernels& k, const View& source)
      : bytes(Blob::allocate(static_cast<size_t>(source.size()) * dtype_size(source.dtype))),
        view(row_major(bytes.data(), source.dtype, source.shape)) {
    copy(k, view, source);
  }
};

// A vector whose elements lie apart, which gemm does not take.
bool has_gaps(const View& v, const Operand& as) noexcept {
  return (v.shape[0] == 1 && as.transposed && as.lead != 1) || (v.shape[1] == 1 && !as.transposed && as.lead != 1);
}

// Whether rows (or, transposed, columns) of the matrix are contiguous, with a usable distance between them.
bool operand(const View& v, Operand& out) noexcept {
  const auto [rows, columns] = std::pair(v.shape[0], v.shape[1]);
  const auto [row_step, column_step] = std::pair(v.steps[0], v.steps[1]);
  if ((column_step == 1 || columns == 1) && (row_step >= columns || rows == 1)) {
    out = {v.data, rows == 1 ? columns : row_step, false};
    return true;
  }
  if ((row_step == 1 || rows == 1) && (column_step >= rows || columns == 1)) {
    out = {v.data, columns == 1 ? rows : column_step, true};
    return true;
  }
  return false;
}

View transposed(const View& v) noexcept {
  View t = v;
  std::swap(t.shape[0], t.shape[1]);
  std::swap(t.steps[0], t.steps[1]);
  return t;
}

std::byte* scratch_of(size_t bytes) {
  thread_local Blob kept;
  if (kept.size() < bytes) kept = Blob::allocate(bytes);
  return kept.data();
}

// A thread needs at least so many multiply-adds, or waking it costs more than it saves.
constexpr double kWorkPerThread = 4e6;

void run(const Kernels& k, const Operand& a, const Operand& b, const View& c, int64_t depth, double alpha,
         bool accumulate, ThreadPool* pool) {
  const int64_t m = c.shape[0];
  const int64_t n = c.shape[1];
  const bool by_rows = m > n;
  const int64_t length = by_rows ? m : n;
  const double work = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(depth);
  const int64_t useful =
      std::min<int64_t>(static_cast<int64_t>(work / kWorkPerThread), (length + kGemmGrain - 1) / kGemmGrain);
  const int64_t parts = std::clamp<int64_t>(pool == nullptr ? 1 : pool->threads(), 1, std::max<int64_t>(useful, 1));
  const int64_t grains = (length + kGemmGrain - 1) / kGemmGrain;
  auto cut = [&](int64_t i) { return std::min(length, grains * i / parts * kGemmGrain); };
  auto part = [&](int i) {
    const int64_t from = cut(i);
    const int64_t to = cut(i + 1);
    std::byte* scratch = scratch_of(k.gemm_scratch(c.dtype, by_rows ? to - from : m, by_rows ? n : to - from, depth));
    k.gemm(c.dtype, m, n, depth, alpha, a, b, c.data, c.steps[0], accumulate, by_rows, from, to, scratch);
  };
  if (pool == nullptr || parts == 1) return part(0);
  pool->run(static_cast<int>(parts), part);
}

// Matrix i of a batch.
View matrix(const View& v, int64_t i) noexcept {
  const auto lead = static_cast<size_t>(v.shape.rank - 2);
  int64_t offset = 0;
  for (size_t d = lead; d-- > 0; i /= v.shape[d]) offset += i % v.shape[d] * v.steps[d];
  View m{.data = v.at(offset), .dtype = v.dtype, .shape = {v.shape[lead], v.shape[lead + 1]}};
  m.steps = {v.steps[lead], v.steps[lead + 1]};
  return m;
}

// All rows of a batch that is row-major.
View all_rows(const View& v) noexcept {
  const int64_t columns = v.shape[v.shape.rank - size_t{1}];
  return row_major(v.data, v.dtype, {v.size() / columns, columns});
}

void multiply_batch(const Kernels& k, const View& a, const View& b, const View& c, double alpha, bool accumulate,
                    ThreadPool* pool) {
  const auto lead = static_cast<size_t>(c.shape.rank - 2);
  const bool one_right = std::all_of(b.steps.begin(), b.steps.begin() + lead, [](int64_t step) { return step == 0; });
  if (one_right && a.size() > 0 && a.contiguous() && c.contiguous())
    return matmul(k, all_rows(a), matrix(b, 0), all_rows(c), alpha, accumulate, pool);
  const int64_t count = c.size() / (c.shape[lead] * c.shape[lead + 1]);
  const double work = static_cast<double>(c.shape[lead] * c.shape[lead + 1]) * static_cast<double>(a.shape[lead + 1]);
  // Products that are too small for several threads: some of them to each.
  const bool spread = pool != nullptr && work < 2 * kWorkPerThread;
  const auto group = spread ? static_cast<int64_t>(std::min(kWorkPerThread / std::max(work, 1.0) + 1, 1e6)) : count;
  std::atomic<bool> out_of_memory{false};
  auto task = [&](int g) {
    try {
      for (int64_t i = g * group; i < std::min(count, (g + 1) * group); ++i) {
        matmul(k, matrix(a, i), matrix(b, i), matrix(c, i), alpha, accumulate, spread ? nullptr : pool);
      }
    } catch (const std::bad_alloc&) {
      out_of_memory = true;
    }
  };
  if (spread) {
    pool->run(static_cast<int>((count + group - 1) / group), task);
  } else {
    task(0);
  }
  if (out_of_memory) throw std::bad_alloc();
}

}  // namespace

void matmul(const Kernels& k, const View& a, const View& b, const View& c, double alpha, bool accumulate,
            ThreadPool* pool) {
  if (c.size() == 0) return;
  if (c.shape.rank > 2) return multiply_batch(k, a, b, c, alpha, accumulate, pool);
  assert(a.shape.rank == 2 && b.shape.rank == 2 && c.shape.rank == 2 && a.shape[1] == b.shape[0]);
  assert(c.shape[0] == a.shape[0] && c.shape[1] == b.shape[1]);
  Operand target{};
  if (!operand(c, target)) {
    const Packed out(k, c);
    matmul(k, a, b, out.view, alpha, accumulate, pool);
    return copy(k, c, out.view);
  }
  if (target.transposed) return matmul(k, transposed(b), transposed(a), transposed(c), alpha, accumulate, pool);
  View result = c;
  result.steps[0] = target.lead;
  Operand left{};
  Operand right{};
  if (!operand(a, left) || (a.shape[0] == 1 && has_gaps(a, left))) {
    const Packed copy_of_a(k, a);
    return matmul(k, copy_of_a.view, b, c, alpha, accumulate, pool);
  }
  if (!operand(b, right) || (b.shape[1] == 1 && has_gaps(b, right))) {
    const Packed copy_of_b(k, b);
    return matmul(k, a, copy_of_b.view, c, alpha, accumulate, pool);
  }
  run(k, left, right, result, a.shape[1], alpha, accumulate, pool);
}

}  // namespace actorhost::kernel
