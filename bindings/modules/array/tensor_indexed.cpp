// Indexed access and sorting of ffi_tensor.h.
#include <algorithm>

#include "bindings/modules/array/tensor_operation.hpp"
#include "host/kernel/indexed.hpp"

namespace actorhost::tensor {

namespace {

/// Records a position out of range or not a whole number.
int32_t check_positions(const ah_tensor& index, int64_t rows) noexcept {
  const View at = view_of(index);
  if (at.dtype == Dtype::b8) return wrong_kind(index);
  const int64_t bad = kernel::first_bad_position(at, rows);
  if (bad == at.size()) return AH_TENSOR_OK;
  index.context_->bad_row = bad + 1;
  index.context_->bad_limit = rows;
  index.context_->bad_value = kernel::number_at(at.dtype, at.at(bad));
  return AH_TENSOR_INDEX;
}

/// `in`, or a copy if it shares memory with `out`, which is written before `in` is fully read.
View clear_of(const kernel::Kernels& k, const View& out, const View& in, std::unique_ptr<Copied>& keep) {
  if (out.data != in.data && !kernel::overlaps(out, in)) return in;
  keep = std::make_unique<Copied>(k, in);
  return keep->view;
}

int32_t take_rows(ah_tensor* out, const ah_tensor* from, int32_t dim, const ah_tensor* index) noexcept {
  return guarded_status([&]() -> int32_t {
    const View source = view_of(*from);
    const auto d = static_cast<size_t>(dim);
    AH_TENSOR_TRY(check_positions(*index, source.shape[d]));
    View like = source;
    like.shape[d] = index->count_;
    AH_TENSOR_TRY(prepare(from->context_, *out, like));
    if (like.size() > 0) kernel::take_rows(source, dim, view_of(*index), view_of(*out));
    return AH_TENSOR_OK;
  });
}

int32_t add_rows(ah_tensor* to, const ah_tensor* index, const ah_tensor* rows, int32_t put) noexcept {
  return guarded_status([&]() -> int32_t {
    const View sums = view_of(*to);
    const View from = view_of(*rows);
    if (from.dtype != sums.dtype) return AH_TENSOR_DTYPE;
    const bool alike = from.shape.rank == sums.shape.rank && from.shape[0] == index->count_ &&
                       std::equal(from.shape.begin() + 1, from.shape.begin() + from.shape.rank, sums.shape.begin() + 1);
    if (!alike) return AH_TENSOR_SHAPE;
    AH_TENSOR_TRY(check_positions(*index, sums.shape[0]));
    const auto& k = kernels_of(to);
    std::unique_ptr<Copied> keep_rows;
    std::unique_ptr<Copied> keep_index;
    kernel::add_rows(clear_of(k, sums, from, keep_rows), clear_of(k, sums, view_of(*index), keep_index), sums,
                     put != 0);
    return AH_TENSOR_OK;
  });
}

/// Whether two shapes are equal except in one dimension.
bool equal_but(const Shape& a, const Shape& b, size_t dim) noexcept {
  if (a.rank != b.rank) return false;
  for (size_t d = 0; d < a.rank; ++d) {
    if (d != dim && a[d] != b[d]) return false;
  }
  return true;
}

int32_t gather(ah_tensor* out, const ah_tensor* from, int32_t dim, const ah_tensor* index) noexcept {
  return guarded_status([&]() -> int32_t {
    const View source = view_of(*from);
    const View at = view_of(*index);
    const auto d = static_cast<size_t>(dim);
    if (!equal_but(source.shape, at.shape, d)) return AH_TENSOR_SHAPE;
    AH_TENSOR_TRY(check_positions(*index, source.shape[d]));
    AH_TENSOR_TRY(prepare(from->context_, *out, {.dtype = source.dtype, .shape = at.shape}));
    kernel::gather(source, dim, at, view_of(*out));
    return AH_TENSOR_OK;
  });
}

int32_t scatter(ah_tensor* to, int32_t dim, const ah_tensor* index, const ah_tensor* from, int32_t add) noexcept {
  return guarded_status([&]() -> int32_t {
    const View target = view_of(*to);
    const View at = view_of(*index);
    const auto d = static_cast<size_t>(dim);
    const View source = view_of(*from);
    if (source.dtype != target.dtype) return AH_TENSOR_DTYPE;
    if (!equal_but(target.shape, at.shape, d) || source.shape != at.shape) return AH_TENSOR_SHAPE;
    AH_TENSOR_TRY(check_positions(*index, target.shape[d]));
    const auto& k = kernels_of(to);
    std::unique_ptr<Copied> keep;
    std::unique_ptr<Copied> keep_index;
    kernel::scatter(clear_of(k, target, source, keep), dim, clear_of(k, target, at, keep_index), target, add != 0);
    return AH_TENSOR_OK;
  });
}

int32_t nonzero(ah_tensor* out, const ah_tensor* a) noexcept {
  return guarded_status([&] {
    const View in = view_of(*a);
    const int32_t status = prepare(a->context_, *out, {.dtype = Dtype::i64, .shape = {kernel::count_nonzero(in)}});
    if (status == AH_TENSOR_OK) kernel::nonzero(in, view_of(*out));
    return status;
  });
}

int32_t sort(ah_tensor* values, ah_tensor* positions, const ah_tensor* a, int32_t descending) noexcept {
  return guarded_status([&]() -> int32_t {
    const View in = view_of(*a);
    View like = in;
    if (values != nullptr) AH_TENSOR_TRY(prepare(a->context_, *values, like));
    like.dtype = Dtype::i64;
    if (positions != nullptr) AH_TENSOR_TRY(prepare(a->context_, *positions, like));
    kernel::sort(in, descending != 0, values == nullptr ? View{} : view_of(*values),
                 positions == nullptr ? View{} : view_of(*positions));
    return AH_TENSOR_OK;
  });
}

int32_t search(ah_tensor* out, const ah_tensor* sorted, const ah_tensor* values, int32_t right) noexcept {
  return guarded_status([&]() -> int32_t {
    View like = view_of(*values);
    if (sorted->type_ != values->type_) return AH_TENSOR_DTYPE;
    like.dtype = Dtype::i64;
    const int32_t status = prepare(values->context_, *out, like);
    if (status == AH_TENSOR_OK) kernel::search(view_of(*sorted), view_of(*values), right != 0, view_of(*out));
    return status;
  });
}

int32_t nearest_rows(ah_tensor* out, const ah_tensor* points, const ah_tensor* rows) noexcept {
  return guarded_status([&]() -> int32_t {
    const View in = view_of(*points);
    const View centres = view_of(*rows);
    if (!is_floating(in.dtype)) return wrong_kind(*points);
    if (in.dtype != centres.dtype) return AH_TENSOR_DTYPE;
    if (in.shape.rank != 2 || centres.shape.rank != 2 || in.shape[1] != centres.shape[1]) return AH_TENSOR_SHAPE;
    const View like{.dtype = Dtype::i64, .shape = {in.shape[0]}};
    AH_TENSOR_TRY(prepare(points->context_, *out, like));
    const int64_t done = kernel::nearest_rows(in, centres, view_of(*out));
    points->context_->bad_row = done + 1;
    return done == in.shape[0] ? AH_TENSOR_OK : AH_TENSOR_INDEX;
  });
}

}  // namespace

void add_indexed(ah_tensor_api& api) noexcept {
  api.take_rows = take_rows;
  api.add_rows = add_rows;
  api.gather = gather;
  api.scatter = scatter;
  api.nonzero = nonzero;
  api.sort = sort;
  api.search = search;
  api.nearest_rows = nearest_rows;
}

}  // namespace actorhost::tensor
