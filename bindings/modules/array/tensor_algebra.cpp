// Reductions, matrix products and the softmax family of ffi_tensor.h.
#include <algorithm>
#include <cmath>
#include <vector>

#include "bindings/modules/array/tensor_operation.hpp"
#include "host/kernel/matmul.hpp"

namespace actorhost::tensor {

namespace {

// ---- Reductions ----

double reduce_all(int32_t op, const ah_tensor* a) noexcept {
  return kernel::reduce_all(kernels_of(a), static_cast<kernel::Reduction>(op), view_of(*a));
}

// Prepares `out` for a result of this type along `dim`, and calls f with its view; `dim` has size 1 there.
template <typename F>
int32_t along(ah_tensor* out, const ah_tensor* a, Dtype type, int32_t dim, int32_t keep, F f) noexcept {
  return guarded_status([&]() -> int32_t {
    const auto d = static_cast<size_t>(dim);
    View kept = view_of(*a);
    kept.dtype = type;
    kept.shape[d] = 1;
    View like = kept;
    if (keep == 0) {
      std::copy(kept.shape.begin() + dim + 1, kept.shape.end(), like.shape.begin() + dim);
      --like.shape.rank;
    }
    AH_TENSOR_TRY(prepare(a->context_, *out, like));
    const View result = view_of(*out);
    kept.data = result.data;
    kept.steps = result.steps;
    if (keep == 0) {
      std::copy_backward(result.steps.begin() + dim, result.steps.end() - 1, kept.steps.end());
      kept.steps[d] = 1;
    }
    f(kept);
    return AH_TENSOR_OK;
  });
}

int32_t reduce(int32_t op, ah_tensor* out, const ah_tensor* a, int32_t dim, int32_t keep) noexcept {
  const auto by = static_cast<kernel::Reduction>(op);
  return along(out, a, kernel::reduced_type(by, static_cast<Dtype>(a->type_)), dim, keep,
               [&](const View& to) { kernel::reduce_dim(kernels_of(a), by, view_of(*a), dim, to); });
}

int32_t arg_max(ah_tensor* out, const ah_tensor* a, int32_t dim, int32_t smallest, int32_t keep) noexcept {
  AH_TENSOR_TRY(along(out, a, Dtype::i64, dim, keep, [&](const View& to) {
    kernel::arg_max_dim(kernels_of(a), view_of(*a), dim, smallest != 0, to);
  }));
  const auto add = static_cast<int32_t>(kernel::Binary::add);
  return state_of(out->context_).api.binary_scalar(add, out, out, 1, 0);
}

int32_t running(ah_tensor* out, const ah_tensor* a, int32_t dim, int32_t product) noexcept {
  return guarded_status([&] {
    View like = view_of(*a);
    if (!is_floating(like.dtype)) like.dtype = Dtype::i64;
    const int32_t status = prepare(a->context_, *out, like);
    if (status != AH_TENSOR_OK || like.size() == 0) return status;  // an empty tensor may have many rows
    kernel::running_dim(product != 0 ? kernel::Fold::prod : kernel::Fold::sum, view_of(*a), dim, view_of(*out));
    return status;
  });
}

// ---- Matrices ----

// The operand as matrices in the last two dimensions; a vector becomes one row or one column.
View as_matrices(const ah_tensor& t, bool column, bool transpose) noexcept {
  View v = view_of(t);
  if (v.shape.rank == 1) {
    v.shape.rank = 2;
    v.shape[1] = column ? 1 : v.shape[0];
    v.steps[1] = column ? 1 : v.steps[0];
    if (!column) {
      v.shape[0] = 1;
      v.steps[0] = v.shape[1];
    }
  } else if (transpose) {
    const auto last = static_cast<size_t>(v.shape.rank - 1);
    std::swap(v.shape[last - 1], v.shape[last]);
    std::swap(v.steps[last - 1], v.steps[last]);
  }
  return v;
}

// The shape of a product: the common batch, rows and columns.
bool product_shape(const View& left, const View& right, Shape& out) noexcept {
  const auto rows = static_cast<size_t>(left.shape.rank - 2);
  const auto columns = static_cast<size_t>(right.shape.rank - 1);
  if (left.shape[rows + 1] != right.shape[columns - 1]) return false;
  Shape a = left.shape;
  Shape b = right.shape;
  a.rank -= 2;
  b.rank -= 2;
  if (!kernel::broadcast_shapes(a, b, out)) return false;
  out[out.rank++] = left.shape[rows];
  out[out.rank++] = right.shape[columns];
  return true;
}

// The operand's matrices, one for each element of the batch of `like`.
View stretched(const View& v, const Shape& like) noexcept {
  if (like.rank == 2) return v;
  View wanted{.shape = like};
  std::copy(v.shape.end() - 2, v.shape.end(), wanted.shape.end() - 2);
  View out;
  (void)kernel::broadcast_to(v, wanted, out);
  return out;
}

int32_t matmul(ah_tensor* out, const ah_tensor* a, const ah_tensor* b, int32_t transpose_a, int32_t transpose_b,
               double alpha, int32_t accumulate) noexcept {
  return guarded_status([&]() -> int32_t {
    const View left = as_matrices(*a, false, transpose_a != 0);
    const View right = as_matrices(*b, true, transpose_b != 0);
    if (!is_floating(left.dtype)) return wrong_kind(*a);
    if (left.dtype != right.dtype) return AH_TENSOR_DTYPE;
    Shape full;
    if (!product_shape(left, right, full)) return AH_TENSOR_SHAPE;
    const auto lead = static_cast<size_t>(full.rank - 2);
    View like{.dtype = left.dtype, .shape = full};
    like.shape.rank = static_cast<uint8_t>(lead);
    if (a->ndim_ > 1) like.shape[like.shape.rank++] = full[lead];
    if (b->ndim_ > 1) like.shape[like.shape.rank++] = full[lead + 1];
    const int32_t status = prepare(a->context_, *out, like);
    if (status != AH_TENSOR_OK || like.size() == 0) return status;
    View to = view_of(*out);
    const auto steps = to.steps;
    to.shape = full;
    to.steps[lead] = a->ndim_ > 1 ? steps[lead] : full[lead + 1];
    to.steps[lead + 1] = b->ndim_ > 1 ? steps[a->ndim_ > 1 ? lead + 1 : lead] : 1;
    TensorState& state = state_of(a->context_);
    std::unique_ptr<Copied> keep_left;
    std::unique_ptr<Copied> keep_right;
    auto clear_of = [&](const View& in, std::unique_ptr<Copied>& keep) {
      if (to.data != in.data && !kernel::overlaps(to, in)) return stretched(in, full);
      keep = std::make_unique<Copied>(*state.kernels, in);
      return stretched(keep->view, full);
    };
    kernel::matmul(*state.kernels, clear_of(left, keep_left), clear_of(right, keep_right), to, alpha, accumulate != 0,
                   state.pool.get());
    return status;
  });
}

// The tensor as contiguous rows of its last dimension; copies other rows into `keep`.
View rows_of(const kernel::Kernels& k, const ah_tensor& t, std::unique_ptr<Copied>& keep) {
  View v = view_of(t);
  if (v.size() == 0) return kernel::row_major(v.data, v.dtype, {0, 0});  // possibly many rows, all of them empty
  if (v.shape.rank != 2 || (v.steps[1] != 1 && v.shape[1] != 1)) {
    if (!v.contiguous()) {
      keep = std::make_unique<Copied>(k, v);
      v = keep->view;
    }
    const int64_t columns = v.shape.rank == 0 ? 1 : v.shape[v.shape.rank - size_t{1}];
    return kernel::row_major(v.data, v.dtype, {columns == 0 ? 0 : v.size() / columns, columns});
  }
  return v;
}

int32_t softmax(ah_tensor* out, const ah_tensor* a) noexcept {
  return guarded_status([&]() -> int32_t {
    const auto& k = kernels_of(a);
    if (!is_floating(static_cast<Dtype>(a->type_))) return wrong_kind(*a);
    AH_TENSOR_TRY(prepare(a->context_, *out, view_of(*a)));
    std::unique_ptr<Copied> keep;
    const View in = rows_of(k, *a, keep);
    std::unique_ptr<Copied> result;
    const View to = rows_of(k, *out, result);
    k.softmax(in.dtype, in.shape[0], in.shape[1], to.data, to.steps[0], in.data, in.steps[0]);
    if (result != nullptr) kernel::copy(k, view_of(*out), result->view);
    return AH_TENSOR_OK;
  });
}

// Reads labels 1 .. columns as indices from 0; false for any other value.
bool read_labels(const ah_tensor& labels, int64_t columns, std::vector<int32_t>& out) {
  const View view = view_of(labels);
  out.reserve(static_cast<size_t>(labels.count_));
  for (int64_t i = 0; i < labels.count_; ++i) {
    const void* at = view.at(i * view.steps[0]);
    const double label = kernel::number_at(view.dtype, at);
    if (!(label >= 1 && label <= static_cast<double>(columns)) || label != std::floor(label)) {
      labels.context_->bad_row = i + 1;
      labels.context_->bad_value = label;
      return false;
    }
    out.push_back(static_cast<int32_t>(label) - 1);
  }
  return true;
}

int32_t cross_entropy(double* loss, ah_tensor* grad, const ah_tensor* scores, const ah_tensor* labels) noexcept {
  return guarded_status([&]() -> int32_t {
    if (scores->ndim_ != 2 || labels->ndim_ != 1 || labels->count_ != scores->extent_[0]) return AH_TENSOR_SHAPE;
    if (!is_floating(static_cast<Dtype>(scores->type_))) return wrong_kind(*scores);
    const auto& k = kernels_of(scores);
    std::unique_ptr<Copied> keep;
    const View in = rows_of(k, *scores, keep);
    const int64_t rows = scores->extent_[0];
    const int64_t columns = scores->extent_[1];
    std::vector<int32_t> indices;
    if (!read_labels(*labels, columns, indices)) return AH_TENSOR_LABEL;
    View to;
    if (grad != nullptr) {
      AH_TENSOR_TRY(prepare(scores->context_, *grad, view_of(*scores)));
      to = view_of(*grad);
      if (to.steps[1] != 1 && columns != 1) return AH_TENSOR_OUT;
    }
    const double total = k.cross_entropy(in.dtype, rows, columns, in.data, in.steps[0], indices.data(), to.data,
                                         to.steps[0], 1 / static_cast<double>(rows));
    *loss = total / static_cast<double>(rows);
    return AH_TENSOR_OK;
  });
}

}  // namespace

void add_algebra(ah_tensor_api& api) noexcept {
  api.reduce_all = reduce_all;
  api.reduce = reduce;
  api.running = running;
  api.arg_max = arg_max;
  api.matmul = matmul;
  api.softmax = softmax;
  api.cross_entropy = cross_entropy;
}

}  // namespace actorhost::tensor
