#include "host/kernel/strided.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace actorhost::kernel {

bool View::contiguous() const noexcept {
  int64_t step = 1;
  for (size_t i = shape.rank; i-- > 0;) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1 && steps[i] != step) return false;
    step *= shape[i];
  }
  return true;
}

View row_major(void* data, Dtype dtype, const Shape& shape) noexcept {
  View view{.data = data, .dtype = dtype, .shape = shape};
  int64_t step = 1;
  for (size_t i = shape.rank; i-- > 0;) {
    view.steps[i] = step;
    step *= std::max<int64_t>(shape[i], 1);
  }
  return view;
}

bool broadcast_shapes(const Shape& a, const Shape& b, Shape& out) noexcept {
  out.rank = std::max(a.rank, b.rank);
  for (size_t d = 0; d < out.rank; ++d) {
    const size_t from_end = out.rank - d;
    const int64_t x = from_end > a.rank ? 1 : a[a.rank - from_end];
    const int64_t y = from_end > b.rank ? 1 : b[b.rank - from_end];
    if (x != y && x != 1 && y != 1) return false;
    out[d] = x == 1 ? y : x;
  }
  return true;
}

bool broadcast_to(const View& a, const View& like, View& out) noexcept {
  const int missing = like.shape.rank - a.shape.rank;
  if (missing < 0) return false;
  out = a;
  out.shape.rank = like.shape.rank;
  for (int d = 0; d < like.shape.rank; ++d) {
    const auto to = static_cast<size_t>(d);
    const auto from = static_cast<size_t>(std::max(d - missing, 0));
    const bool stretched = d < missing || (a.shape[from] == 1 && like.shape[to] != 1);
    if (!stretched && a.shape[from] != like.shape[to]) return false;
    out.shape[to] = like.shape[to];
    out.steps[to] = stretched ? 0 : a.steps[from];
  }
  return true;
}

bool overlaps(const View& out, const View& in) noexcept {
  if (out.size() == 0 || in.size() == 0) return false;
  if (out.data == in.data && out.shape == in.shape && out.steps == in.steps && out.dtype == in.dtype) return false;
  auto last = [](const View& v) {
    int64_t offset = 1;
    for (size_t d = 0; d < static_cast<size_t>(v.shape.rank); ++d) offset += (v.shape[d] - 1) * v.steps[d];
    return static_cast<const char*>(v.at(offset));
  };
  return static_cast<const char*>(out.data) < last(in) && static_cast<const char*>(in.data) < last(out);
}

namespace {

// Iterates over several views together. The output determines the innermost dimension; contiguous dimensions of all
// views are joined.
template <size_t N>
struct Walk {
  int ndim = 0;
  std::array<int64_t, Shape::kMaxRank> shape = {};
  std::array<std::array<int64_t, Shape::kMaxRank>, N> steps = {};
  std::array<void*, N> data = {};
  std::array<int64_t, N> widths = {};

  explicit Walk(const std::array<const View*, N>& views) noexcept {
    std::array<int, Shape::kMaxRank> order{};
    const View& out = *views[0];
    int used = 0;
    for (int d = 0; d < out.shape.rank; ++d) {
      if (out.shape[static_cast<size_t>(d)] != 1) order[static_cast<size_t>(used++)] = d;
    }
    std::stable_sort(order.begin(), order.begin() + used, [&](int x, int y) {
      return std::abs(out.steps[static_cast<size_t>(x)]) > std::abs(out.steps[static_cast<size_t>(y)]);
    });
    for (size_t v = 0; v < N; ++v) {
      assert(views[v]->shape == out.shape);
      data[v] = views[v]->data;
      widths[v] = static_cast<int64_t>(dtype_size(views[v]->dtype));
    }
    for (int i = 0; i < used; ++i) take(views, static_cast<size_t>(order[static_cast<size_t>(i)]));
  }

  /// Calls f(n, pointers, steps) for each innermost run.
  template <typename F>
  void rows(F f) const noexcept {
    std::array<int64_t, N> inner{};
    if (ndim == 0) return f(int64_t{1}, data, inner);
    const auto last = static_cast<size_t>(ndim - 1);
    for (size_t v = 0; v < N; ++v) inner[v] = steps[v][last];
    for (size_t d = 0; d <= last; ++d) {
      if (shape[d] == 0) return;
    }
    outer(ndim - 1, [&](const std::array<void*, N>& at) { f(shape[last], at, inner); });
  }

  /// Calls f(pointers) for each index of the dimensions 0 .. end-1, which must not be empty.
  template <typename F>
  void outer(int end, const F& f) const noexcept {
    std::array<int64_t, Shape::kMaxRank> index{};
    std::array<void*, N> at = data;
    for (;;) {
      f(at);
      auto d = static_cast<size_t>(end);
      while (d > 0 && ++index[d - 1] == shape[d - 1]) {  // past the end of this dimension: back to its start
        --d;
        index[d] = 0;
        for (size_t v = 0; v < N; ++v) advance(at, v, (1 - shape[d]) * steps[v][d]);
      }
      if (d == 0) return;
      for (size_t v = 0; v < N; ++v) advance(at, v, steps[v][d - 1]);
    }
  }

  void advance(std::array<void*, N>& at, size_t v, int64_t elements) const noexcept {
    at[v] = static_cast<char*>(at[v]) + elements * widths[v];
  }

 private:
  void take(const std::array<const View*, N>& views, size_t d) noexcept {
    const int64_t n = views[0]->shape[d];
    bool joins = ndim > 0;
    for (size_t v = 0; joins && v < N; ++v) {
      joins = steps[v][static_cast<size_t>(ndim - 1)] == n * views[v]->steps[d];
    }
    if (!joins) shape[static_cast<size_t>(ndim++)] = 1;
    const auto last = static_cast<size_t>(ndim - 1);
    shape[last] *= n;
    for (size_t v = 0; v < N; ++v) steps[v][last] = views[v]->steps[d];
  }
};

/// The float type of the same size, for copies without conversion.
Dtype carrier(Dtype dtype) noexcept {
  if (dtype == Dtype::i32) return Dtype::f32;
  return dtype == Dtype::i64 ? Dtype::f64 : dtype;
}

void copy_run(const Kernels& k, int64_t n, Dtype out_dtype, Run out, Dtype dtype, ConstRun a) noexcept {
  if (!is_floating(out_dtype) || !is_floating(dtype)) return whole_copy(out_dtype, n, out, dtype, a);
  k.copy(out_dtype, n, out.at, out.step, dtype, a.at, a.step);
}

// A transposing copy in tiles, so that both sides are read and written a cache line at a time.
void copy_tiles(const Kernels& k, const Walk<2>& walk, const View& out, const View& a) noexcept {
  constexpr int64_t kTile = 32;
  const auto row = static_cast<size_t>(walk.ndim - 2);
  const auto column = static_cast<size_t>(walk.ndim - 1);
  const bool is_turned =
      is_floating(out.dtype) && out.dtype == a.dtype && walk.steps[0][column] == 1 && walk.steps[1][row] == 1;
  walk.outer(walk.ndim - 2, [&](const std::array<void*, 2>& start) {
    for (int64_t i0 = 0; i0 < walk.shape[row]; i0 += kTile) {
      for (int64_t j0 = 0; j0 < walk.shape[column]; j0 += kTile) {
        const int64_t rows = std::min(kTile, walk.shape[row] - i0);
        const int64_t columns = std::min(kTile, walk.shape[column] - j0);
        auto at = start;
        for (size_t v = 0; v < 2; ++v) walk.advance(at, v, i0 * walk.steps[v][row] + j0 * walk.steps[v][column]);
        if (is_turned) {
          k.copy_turned(out.dtype, rows, columns, at[0], walk.steps[0][row], at[1], walk.steps[1][column]);
          continue;
        }
        for (int64_t i = 0; i < rows; ++i) {
          copy_run(k, columns, out.dtype, {at[0], walk.steps[0][column]}, a.dtype, {at[1], walk.steps[1][column]});
          for (size_t v = 0; v < 2; ++v) walk.advance(at, v, walk.steps[v][row]);
        }
      }
    }
  });
}

Reduce inner_op(Reduction op) noexcept {
  switch (op) {
    case Reduction::sum:
    case Reduction::mean: return Reduce::sum;
    case Reduction::max: return Reduce::max;
    case Reduction::min: return Reduce::min;
    default: break;
  }
  return Reduce::sum_squares;
}

double finish(Reduction op, double total, int64_t n) noexcept {
  if (op == Reduction::mean) return total / static_cast<double>(n);
  return op == Reduction::norm ? std::sqrt(total) : total;
}

double start_of(Reduce op) noexcept {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  if (op == Reduce::max) return -kInf;
  return op == Reduce::min ? kInf : 0;
}

void store(const View& like, void* at, double value) noexcept {
  if (like.dtype == Dtype::f32) {
    *static_cast<float*>(at) = static_cast<float>(value);
  } else if (like.dtype == Dtype::f64) {
    *static_cast<double*>(at) = value;
  } else {
    whole_fill(like.dtype, 1, {at, 1}, value);
  }
}

double load(const View& like, const void* at) noexcept {
  return like.dtype == Dtype::f32 ? static_cast<double>(*static_cast<const float*>(at))
                                  : *static_cast<const double*>(at);
}

// `view` without dimension `dim`.
View dropped(const View& view, int dim) noexcept {
  View rest = view;
  std::copy(view.shape.begin() + dim + 1, view.shape.end(), rest.shape.begin() + dim);
  std::copy(view.steps.begin() + dim + 1, view.steps.end(), rest.steps.begin() + dim);
  --rest.shape.rank;
  return rest;
}

}  // namespace

void unary(const Kernels& k, Unary op, const View& out, const View& a) noexcept {
  const bool fast = has_kernel(op, a.dtype);
  Walk<2>({&out, &a}).rows([&](int64_t n, const auto& at, const auto& steps) {
    if (!fast) return whole_unary(op, a.dtype, n, {at[0], steps[0]}, {at[1], steps[1]});
    k.unary(op, a.dtype, n, at[0], steps[0], at[1], steps[1]);
  });
}

void binary(const Kernels& k, Binary op, const View& out, const View& a, const View& b) noexcept {
  const bool fast = has_kernel(op, a.dtype);
  Walk<3>({&out, &a, &b}).rows([&](int64_t n, const auto& at, const auto& steps) {
    if (!fast) return whole_binary(op, a.dtype, n, {at[0], steps[0]}, {at[1], steps[1]}, {at[2], steps[2]});
    k.binary(op, a.dtype, n, at[0], steps[0], at[1], steps[1], at[2], steps[2]);
  });
}

void choose(const View& out, const View& cond, const View& a, const View& b) noexcept {
  Walk<4>({&out, &cond, &a, &b}).rows([&](int64_t n, const auto& at, const auto& steps) {
    choose(dtype_size(out.dtype), n, {at[0], steps[0]}, {at[1], steps[1]}, {at[2], steps[2]}, {at[3], steps[3]});
  });
}

void axpy(const Kernels& k, double alpha, const View& x, const View& y) noexcept {
  Walk<2>({&y, &x}).rows([&](int64_t n, const auto& at, const auto& steps) {
    k.axpy(y.dtype, n, alpha, at[1], steps[1], at[0], steps[0]);
  });
}

void copy(const Kernels& k, const View& out, const View& a) noexcept {
  if (out.dtype == a.dtype && carrier(out.dtype) != out.dtype) {
    View to = out;
    View from = a;
    to.dtype = from.dtype = carrier(out.dtype);
    return copy(k, to, from);
  }
  const Walk<2> walk({&out, &a});
  const int d = walk.ndim;
  if (d >= 2 && out.size() > 0) {
    const auto inner = static_cast<size_t>(d - 1);
    if (std::abs(walk.steps[1][inner - 1]) < std::abs(walk.steps[1][inner])) return copy_tiles(k, walk, out, a);
  }
  walk.rows([&](int64_t n, const auto& at, const auto& steps) {
    copy_run(k, n, out.dtype, {at[0], steps[0]}, a.dtype, {at[1], steps[1]});
  });
}

void fill(const Kernels& k, const View& out, double value) noexcept {
  const bool fast = is_floating(out.dtype);
  Walk<1>({&out}).rows([&](int64_t n, const auto& at, const auto& steps) {
    if (!fast) return whole_fill(out.dtype, n, {at[0], steps[0]}, value);
    k.fill(out.dtype, n, at[0], steps[0], value);
  });
}

bool is_finite(const Kernels& k, const View& a) noexcept {
  bool finite = true;
  if (!is_floating(a.dtype)) return finite;
  Walk<1>({&a}).rows([&](int64_t n, const auto& at, const auto& steps) {
    finite = finite && k.is_finite(a.dtype, n, at[0], steps[0]);
  });
  return finite;
}

double reduce_all(const Kernels& k, Reduction op, const View& a) noexcept {
  assert(is_floating(a.dtype) && op <= Reduction::norm);
  const Reduce inner = inner_op(op);
  const Reduce join = inner == Reduce::sum_squares ? Reduce::sum : inner;
  double total = start_of(inner);
  Walk<1>({&a}).rows([&](int64_t n, const auto& at, const auto& steps) {
    const double part = k.reduce(inner, a.dtype, n, at[0], steps[0]);
    k.reduce_rows(join, Dtype::f64, 1, &total, &part, 1);
  });
  return finish(op, total, a.size());
}

namespace {

constexpr int64_t kChunk = 1024;  // columns reduced at once

// Reduces `count` columns over n rows. The first row starts at `from`; columns are `step` apart, rows row_step apart.
// Processes up to kChunk columns at a time and calls put(i, total) for each column.
template <typename F>
void reduce_columns(const Kernels& k, Reduce op, const View& from, std::array<int64_t, 2> rows, int64_t count,
                    int64_t step, F put) noexcept {
  const auto [n, row_step] = rows;
  alignas(64) std::array<double, kChunk> totals;
  const bool choice = op == Reduce::max || op == Reduce::min;  // needs no wider type
  const View totals_view = row_major(totals.data(), choice ? from.dtype : Dtype::f64, {kChunk});
  for (int64_t i0 = 0; i0 < count; i0 += kChunk) {
    const int64_t chunk = std::min(kChunk, count - i0);
    k.fill(totals_view.dtype, chunk, totals_view.data, 1, start_of(op));
    for (int64_t row = 0; row < n; ++row) {
      const void* at = from.at(i0 * step + row * row_step);
      if (choice) {
        const Binary join = op == Reduce::max ? Binary::max : Binary::min;
        k.binary(join, totals_view.dtype, chunk, totals_view.data, 1, totals_view.data, 1, at, step);
      } else {
        k.reduce_rows(op, from.dtype, chunk, totals.data(), at, step);
      }
    }
    for (int64_t i = 0; i < chunk; ++i) put(i0 + i, load(totals_view, totals_view.at(i)));
  }
}

Fold fold_op(Reduction op) noexcept {
  switch (op) {
    case Reduction::max: return Fold::max;
    case Reduction::min: return Fold::min;
    case Reduction::norm: return Fold::sum_squares;
    case Reduction::mean: return Fold::sum_for_mean;
    case Reduction::prod: return Fold::prod;
    default: return Fold::sum;
  }
}

/// reduce_dim for types and operations without a kernel: in memory order, into temporary totals.
void fold_dim(const Kernels& k, Reduction op, const View& a, int dim, const View& out) {
  const Fold by = fold_op(op);
  const Dtype type = fold_type(by, a.dtype);
  Blob bytes = Blob::allocate(static_cast<size_t>(out.size()) * dtype_size(type));
  const View totals = row_major(bytes.data(), type, out.shape);
  fold_start(by, a.dtype, totals.size(), totals.data);
  View wide = totals;
  wide.shape = a.shape;
  wide.steps[static_cast<size_t>(dim)] = 0;
  Walk<2>({&a, &wide}).rows([&](int64_t n, const auto& at, const auto& steps) {
    fold(by, a.dtype, n, {at[1], steps[1]}, {at[0], steps[0]});
  });
  if (op != Reduction::mean && op != Reduction::norm) return copy(k, out, totals);
  const int64_t count = a.shape[static_cast<size_t>(dim)];
  Walk<2>({&out, &totals}).rows([&](int64_t n, const auto& at, const auto& steps) {
    const View to{.data = at[0], .dtype = out.dtype};
    const View from{.data = at[1], .dtype = type};
    for (int64_t i = 0; i < n; ++i)
      store(to, to.at(i * steps[0]), finish(op, number_at(type, from.at(i * steps[1])), count));
  });
}

}  // namespace

Dtype reduced_type(Reduction op, Dtype dtype) noexcept {
  if (is_floating(dtype) || op == Reduction::max || op == Reduction::min) return dtype;
  return op == Reduction::mean || op == Reduction::norm ? Dtype::f32 : Dtype::i64;
}

void reduce_dim(const Kernels& k, Reduction op, const View& a, int dim, const View& out) {
  if (!is_floating(a.dtype) || op == Reduction::prod) return fold_dim(k, op, a, dim, out);
  const Reduce inner = inner_op(op);
  const int64_t n = a.shape[static_cast<size_t>(dim)];
  const int64_t step = a.steps[static_cast<size_t>(dim)];
  const View rest = dropped(a, dim);
  const View result = dropped(out, dim);
  Walk<2>({&result, &rest}).rows([&](int64_t count, const auto& at, const auto& steps) {
    const View from{.data = at[1], .dtype = a.dtype};
    const View to{.data = at[0], .dtype = out.dtype};
    const auto put = [&, to_step = steps[0]](int64_t i, double total) {
      store(to, to.at(i * to_step), finish(op, total, n));
    };
    if (count > 1 && std::abs(steps[1]) < std::abs(step))
      return reduce_columns(k, inner, from, {n, step}, count, steps[1], put);
    for (int64_t i = 0; i < count; ++i) put(i, k.reduce(inner, a.dtype, n, from.at(i * steps[1]), step));
  });
}

void arg_max_dim(const Kernels& k, const View& a, int dim, bool smallest, const View& out) noexcept {
  const int64_t n = a.shape[static_cast<size_t>(dim)];
  const int64_t step = a.steps[static_cast<size_t>(dim)];
  assert(n > 0);
  const View rest = dropped(a, dim);
  const View result = dropped(out, dim);
  Walk<2>({&result, &rest}).rows([&](int64_t count, const auto& at, const auto& steps) {
    const View from{.data = at[1], .dtype = a.dtype};
    const View to{.data = at[0], .dtype = out.dtype};
    if (!is_floating(a.dtype)) {
      for (int64_t i = 0; i < count; ++i) {
        const int64_t best = whole_arg_max(a.dtype, n, {from.at(i * steps[1]), step}, smallest);
        store(to, to.at(i * steps[0]), static_cast<double>(best));
      }
      return;
    }
    if (count > 1 && std::abs(steps[1]) < std::abs(step)) {
      alignas(64) std::array<double, kChunk> best;
      alignas(64) std::array<double, kChunk> where;
      for (int64_t i0 = 0; i0 < count; i0 += kChunk) {
        const int64_t chunk = std::min(kChunk, count - i0);
        for (int64_t row = 0; row < n; ++row) {
          k.arg_max_rows(a.dtype, chunk, best.data(), where.data(), from.at(i0 * steps[1] + row * step), steps[1], row,
                         smallest);
        }
        whole_copy(out.dtype, chunk, {to.at(i0 * steps[0]), steps[0]}, Dtype::f64, {where.data(), 1});
      }
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      const int64_t best = k.arg_max(a.dtype, n, from.at(i * steps[1]), step, smallest);
      store(to, to.at(i * steps[0]), static_cast<double>(best));
    }
  });
}

void running_dim(Fold op, const View& a, int dim, const View& out) noexcept {
  const auto d = static_cast<size_t>(dim);
  const View rest = dropped(a, dim);
  const View result = dropped(out, dim);
  Walk<2>({&result, &rest}).rows([&](int64_t count, const auto& at, const auto& steps) {
    const View from{.data = at[1], .dtype = a.dtype};
    const View to{.data = at[0], .dtype = out.dtype};
    for (int64_t i = 0; i < count; ++i)
      running(op, a.dtype, a.shape[d], {to.at(i * steps[0]), out.steps[d]}, {from.at(i * steps[1]), a.steps[d]});
  });
}

bool all_close(const Kernels& k, const View& a, const View& b, double rtol, double atol, bool nan_equal) noexcept {
  bool close = true;
  const bool fast = is_floating(a.dtype) && is_floating(b.dtype);
  Walk<2>({&a, &b}).rows([&](int64_t n, const auto& at, const auto& steps) {
    if (!fast) {
      close = close && whole_all_close(n, a.dtype, {at[0], steps[0]}, b.dtype, {at[1], steps[1]}, rtol, atol);
      return;
    }
    close = close && k.all_close(n, a.dtype, at[0], steps[0], b.dtype, at[1], steps[1], rtol, atol, nan_equal);
  });
  return close;
}

}  // namespace actorhost::kernel
