#include "host/kernel/matmul.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <new>

#include "host/base/blob.hpp"

namespace actorhost::kernel {

namespace {

// A row-major copy of an operand without a step of 1.
struct Packed {
  Blob bytes;
  View view;

  Packed(Dtype dtype, const Shape& shape)
      : bytes(Blob::allocate(static_cast<size_t>(shape.elements()) * dtype_size(dtype))),
        view(row_major(bytes.data(), dtype, shape)) {}
  Packed(const Kernels& k, const View& source) : Packed(source.dtype, source.shape) { copy(k, view, source); }
};

// Whether the view is a vector with a stride, which matrix_vector does not accept.
bool has_gaps(const View& v, const Operand& as) noexcept {
  return (v.shape[0] == 1 && as.transposed && as.lead != 1) || (v.shape[1] == 1 && !as.transposed && as.lead != 1);
}

// Whether rows (or, transposed, columns) of the matrix are contiguous at a usable distance; if so, fills `out`.
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
  thread_local Blob buffer;
  if (buffer.size() < bytes) buffer = Blob::allocate(bytes);
  return buffer.data();
}

// Multiply-adds per thread below which waking a thread costs more than it saves.
constexpr double kWorkPerThread = 4e6;
// Rows or columns are split between threads at multiples of this number.
constexpr int64_t kGrain = 96;

// A large product is computed in blocks: kBlockDepth elements of the sum, kBlockColumns columns of b, which are copied
// into panels for step_product, and kBlockRows rows of a. A block of either operand fits the second-level cache.
constexpr int64_t kBlockDepth = 512;
constexpr int64_t kBlockColumns = 512;
constexpr int64_t kBlockRows = 168;
// With fewer rows, b is read in place: too few rows use a panel to make up for copying it.
constexpr int64_t kRowsForPanels = 16;
// Rows at a distance of a multiple of this number of bytes map to the same cache sets, so they are copied.
constexpr int64_t kUnluckyLead = 1024;
// Rows of b to prefetch ahead of a copy.
constexpr int64_t kRowsAhead = 8;
constexpr int64_t kCacheLine = 64;
// Elements between copied rows, so that copied rows use different cache sets.
constexpr int64_t kGap = 16;

Operand turned(const Operand& a) noexcept { return {a.data, a.lead, !a.transposed}; }

// A range of rows and columns of a product.
struct Part {
  int64_t row, rows, column, columns;
};

class BlockedProduct {
 public:
  BlockedProduct(const Kernels& k, Dtype dtype, const Operand& a, const Operand& b, int64_t depth, double alpha,
                 bool accumulate, void* c, int64_t c_lead)
      : k_(k),
        dtype_(dtype),
        a_(a),
        b_(b),
        depth_(depth),
        alpha_(alpha),
        accumulate_(accumulate),
        c_(c),
        c_lead_(c_lead),
        width_(k.step_panel(dtype)) {}

  void run(const Part& part) const {
    const int64_t panels = kBlockDepth * (std::min(part.columns, kBlockColumns) + width_ - 1) / width_ * width_;
    const int64_t rows = kBlockRows * (kBlockDepth + kGap);
    std::byte* scratch = scratch_of(static_cast<size_t>(width_ + panels + rows) * dtype_size(dtype_));
    void* const zeros = scratch;
    void* const b_block = element_at(dtype_, scratch, width_);
    void* const a_block = element_at(dtype_, scratch, width_ + panels);
    k_.fill(dtype_, width_, zeros, 1, 0);
    const int64_t end = part.column + part.columns;
    for (int64_t column = part.column; column < end; column += kBlockColumns) {
      const int64_t columns = std::min(kBlockColumns, end - column);
      for (int64_t p = 0; p < depth_ || p == 0; p += kBlockDepth) {
        const int64_t depth = std::min(kBlockDepth, depth_ - p);
        block({part.row, part.rows, column, columns}, p, depth, zeros, b_block, a_block);
      }
    }
  }

 private:
  const void* a_at(int64_t row, int64_t p) const noexcept {
    return element_at(dtype_, a_.data, a_.transposed ? p * a_.lead + row : row * a_.lead + p);
  }
  const void* b_at(int64_t p, int64_t column) const noexcept {
    return element_at(dtype_, b_.data, b_.transposed ? column * b_.lead + p : p * b_.lead + column);
  }

  // Computes elements [p, p + depth) of the sums; adds to c unless they are the first.
  void block(const Part& part, int64_t p, int64_t depth, const void* zeros, void* b_block, void* a_block) const {
    const int64_t count = (part.columns + width_ - 1) / width_;
    const bool in_place = part.rows < kRowsForPanels && !b_.transposed && alpha_ == 1;
    const int64_t whole = in_place ? part.columns / width_ : 0;  // panels that are read in place
    const int64_t lead_bytes = a_.lead * static_cast<int64_t>(dtype_size(dtype_));
    const bool copied = a_.transposed || (lead_bytes % kUnluckyLead == 0 && part.columns > 2 * width_);
    for (int64_t row = 0; row < part.rows; row += kBlockRows) {
      StepProduct product{};
      product.batch = 1;
      product.rows = std::min(kBlockRows, part.rows - row);
      product.outer = 1;
      product.inner = depth;
      product.a = a_at(part.row + row, p);
      product.a_step = a_.lead;
      product.a_inner = 1;
      if (copied) {
        copy_rows(part.row + row, product.rows, p, depth, a_block);
        product.a = a_block;
        product.a_step = kBlockDepth + kGap;
      }
      product.start = zeros;
      product.c_step = c_lead_;
      product.accumulate = accumulate_ || p > 0;
      for (int64_t i = 0; i < count; ++i) {
        const int64_t column = part.column + i * width_;
        product.columns = std::min(width_, part.columns - i * width_);
        product.b = i < whole ? b_at(p, column) : element_at(dtype_, b_block, i * depth * width_);
        product.b_inner = i < whole ? b_.lead : width_;
        if (row == 0 && i >= whole) fill_panel(p, depth, column, product.columns, const_cast<void*>(product.b));
        product.c = element_at(dtype_, c_, (part.row + row) * c_lead_ + part.column + i * width_);
        k_.step_product(dtype_, product);
      }
    }
  }

  void copy_rows(int64_t row, int64_t rows, int64_t p, int64_t depth, void* to) const noexcept {
    constexpr int64_t kLead = kBlockDepth + kGap;
    if (a_.transposed) return k_.copy_turned(dtype_, rows, depth, to, kLead, a_at(row, p), a_.lead);
    for (int64_t i = 0; i < rows; ++i) {
      k_.copy(dtype_, depth, element_at(dtype_, to, i * kLead), 1, dtype_, a_at(row + i, p), 1);
    }
  }

  void fill_panel(int64_t p, int64_t depth, int64_t column, int64_t columns, void* to) const noexcept {
    if (columns < width_) k_.fill(dtype_, depth * width_, to, 1, 0);
    if (b_.transposed) {
      k_.copy_turned(dtype_, depth, columns, to, width_, b_at(p, column), b_.lead);
    } else {
      for (int64_t i = 0; i < depth; ++i) {
        // Rows are pages apart, beyond the reach of the hardware prefetcher.
        const auto* ahead = static_cast<const std::byte*>(b_at(p + std::min(i + kRowsAhead, depth - 1), column));
        __builtin_prefetch(ahead);
        __builtin_prefetch(ahead + kCacheLine);
        k_.copy(dtype_, columns, element_at(dtype_, to, i * width_), 1, dtype_, b_at(p + i, column), 1);
      }
    }
    if (alpha_ == 1) return;
    const auto single = static_cast<float>(alpha_);
    const void* factor = dtype_ == Dtype::f32 ? static_cast<const void*>(&single) : &alpha_;
    k_.binary(Binary::mul, dtype_, depth * width_, to, 1, to, 1, factor, 0);
  }

  const Kernels& k_;
  Dtype dtype_;
  Operand a_, b_;
  int64_t depth_;
  double alpha_;
  bool accumulate_;
  void* c_;
  int64_t c_lead_;
  int64_t width_;
};

void run(const Kernels& k, const Operand& a, const Operand& b, const View& c, int64_t depth, double alpha,
         bool accumulate, ThreadPool* pool) {
  const int64_t m = c.shape[0];
  const int64_t n = c.shape[1];
  const bool by_rows = m > n;
  const int64_t length = by_rows ? m : n;
  const double work = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(depth);
  const int64_t grains = (length + kGrain - 1) / kGrain;
  const int64_t useful = std::min<int64_t>(static_cast<int64_t>(work / kWorkPerThread), grains);
  const int64_t parts = std::clamp<int64_t>(pool == nullptr ? 1 : pool->threads(), 1, std::max<int64_t>(useful, 1));
  auto cut = [&](int64_t i) { return std::min(length, grains * i / parts * kGrain); };
  const BlockedProduct product(k, c.dtype, a, b, depth, alpha, accumulate, c.data, c.steps[0]);
  auto part = [&](int i) {
    const int64_t from = cut(i);
    const int64_t count = cut(i + 1) - from;
    if (m != 1 && n != 1) return product.run(by_rows ? Part{from, count, 0, n} : Part{0, m, from, count});
    Operand matrix = by_rows ? a : turned(b);
    if (length == 1 && matrix.transposed) matrix = {matrix.data, depth, false};  // one contiguous row
    matrix.data = element_at(c.dtype, matrix.data, from * (matrix.transposed ? 1 : matrix.lead));
    const int64_t step = by_rows ? c.steps[0] : 1;
    k.matrix_vector(c.dtype, count, depth, alpha, matrix, by_rows ? b.data : a.data, c.at(from * step), step,
                    accumulate);
  };
  if (pool == nullptr || parts == 1) return part(0);
  pool->run(static_cast<int>(parts), part);
}

// The cost of copying, in elements: panels of b, transposed rows of a.
int64_t copies(int64_t m, int64_t n, int64_t depth, const Operand& a, const Operand& b) noexcept {
  return depth * n * (b.transposed ? 2 : 1) + (a.transposed ? 2 * m * depth : 0);
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

// All rows of a row-major batch as one matrix.
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
  // Products that are too small for several threads are grouped into tasks.
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
  const auto [m, n] = std::pair(c.shape[0], c.shape[1]);
  const int64_t depth = a.shape[1];
  const int64_t turning = 4 * m * n;
  if (!accumulate && m > 1 && n > 1 &&
      copies(n, m, depth, turned(right), turned(left)) + turning < copies(m, n, depth, left, right)) {
    const Packed other(c.dtype, {n, m});
    run(k, turned(right), turned(left), other.view, depth, alpha, false, pool);
    return copy(k, result, transposed(other.view));
  }
  run(k, left, right, result, depth, alpha, accumulate, pool);
}

}  // namespace actorhost::kernel
