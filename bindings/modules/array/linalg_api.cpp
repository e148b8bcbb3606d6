#include <algorithm>

#include "bindings/modules/array/tensor_operation.hpp"
#include "host/kernel/draw.hpp"
#include "host/kernel/linalg.hpp"

namespace actorhost {

using kernel::Fault, kernel::View;
using tensor::guarded_status, tensor::kernels_of, tensor::state_of;

namespace {

int32_t status_of(ah_linalg_fault* out, const Fault& fault) noexcept {
  if (fault.obstacle == kernel::Obstacle::none) return AH_TENSOR_OK;
  *out = {fault.matrix, fault.pivot, fault.value};
  return AH_LINALG_FAULT + static_cast<int32_t>(fault.obstacle);
}

kernel::ThreadPool& pool_of(const ah_tensor* t) noexcept { return *state_of(t->context_).pool; }

// ---- Decompositions ----

int64_t rows_of(const ah_tensor* a) noexcept { return a->extent_[a->ndim_ - 2]; }
int64_t columns_of(const ah_tensor* a) noexcept { return a->extent_[a->ndim_ - 1]; }

// Allocates `out` with the batch of `a` and these sizes behind it. Returns a view without dimensions for null.
View made(ah_tensor* out, const ah_tensor* a, std::initializer_list<int64_t> sizes) {
  if (out == nullptr) return {};
  View like{.dtype = static_cast<Dtype>(a->type_)};
  for (int32_t d = 0; d < a->ndim_ - 2; ++d) like.shape[like.shape.rank++] = a->extent_[d];
  for (const int64_t size : sizes) like.shape[like.shape.rank++] = size;
  (void)tensor::prepare(a->context_, *out, like);
  return view_of(*out);
}

int32_t lu(ah_linalg_fault* fault, ah_tensor* p, ah_tensor* l, ah_tensor* u, const ah_tensor* a) noexcept {
  return guarded_status([&] {
    const int64_t k = std::min(rows_of(a), columns_of(a));
    const View order = made(p, a, {rows_of(a), rows_of(a)});
    const View lower = made(l, a, {rows_of(a), k});
    return status_of(fault, kernel::lu(view_of(*a), order, lower, made(u, a, {k, columns_of(a)}), pool_of(a)));
  });
}

int32_t solve(ah_linalg_fault* fault, ah_tensor* x, const ah_tensor* a, const ah_tensor* b) noexcept {
  return guarded_status([&] {
    const View out = made(x, a, {rows_of(b), columns_of(b)});
    return status_of(fault, kernel::solve(view_of(*a), view_of(*b), out, pool_of(a)));
  });
}

int32_t determinant(ah_linalg_fault* fault, ah_tensor* det, ah_tensor* sign, ah_tensor* log,
                    const ah_tensor* a) noexcept {
  return guarded_status([&] {
    const View value = made(det, a, {});
    const View signs = made(sign, a, {});
    return status_of(fault, kernel::determinant(view_of(*a), value, signs, made(log, a, {}), pool_of(a)));
  });
}

int32_t cholesky(ah_linalg_fault* fault, ah_tensor* l, const ah_tensor* a) noexcept {
  return guarded_status([&] {
    const View out = made(l, a, {rows_of(a), rows_of(a)});
    return status_of(fault, kernel::cholesky(view_of(*a), out, pool_of(a)));
  });
}

int32_t qr(ah_linalg_fault* fault, ah_tensor* q, ah_tensor* r, const ah_tensor* a, int32_t full) noexcept {
  return guarded_status([&] {
    const int64_t k = full != 0 ? rows_of(a) : std::min(rows_of(a), columns_of(a));
    const View columns = made(q, a, {rows_of(a), k});
    return status_of(fault, kernel::qr(view_of(*a), columns, made(r, a, {k, columns_of(a)}), pool_of(a)));
  });
}

int32_t svd(ah_linalg_fault* fault, ah_tensor* u, ah_tensor* s, ah_tensor* vt, const ah_tensor* a,
            int32_t full) noexcept {
  return guarded_status([&] {
    const int64_t k = std::min(rows_of(a), columns_of(a));
    const View left = made(u, a, {rows_of(a), full != 0 ? rows_of(a) : k});
    const View right = made(vt, a, {full != 0 ? columns_of(a) : k, columns_of(a)});
    return status_of(fault, kernel::svd(view_of(*a), left, made(s, a, {k}), right, pool_of(a)));
  });
}

int32_t eigh(ah_linalg_fault* fault, ah_tensor* w, ah_tensor* v, const ah_tensor* a) noexcept {
  return guarded_status([&] {
    const View vectors = made(v, a, {rows_of(a), rows_of(a)});
    return status_of(fault, kernel::eigh(view_of(*a), made(w, a, {rows_of(a)}), vectors, pool_of(a)));
  });
}

// ---- Random elements ----

kernel::Source take(ah_random* from, int64_t count) noexcept {
  const kernel::Source source{from->seed, from->drawn, from->stream};
  from->drawn += static_cast<uint64_t>(count);
  return source;
}

int32_t draw(ah_tensor* out, ah_random* from, int32_t distribution, double a, double b) noexcept {
  return guarded_status([&] {
    kernel::draw(kernels_of(out), take(from, out->count_), static_cast<kernel::Distribution>(distribution), a, b,
                 view_of(*out), pool_of(out));
    return AH_TENSOR_OK;
  });
}

int32_t draw_order(ah_tensor* out, ah_random* from, int64_t n) noexcept {
  return guarded_status([&] {
    kernel::draw_order(kernels_of(out), take(from, out->count_), n, view_of(*out));
    return AH_TENSOR_OK;
  });
}

int32_t draw_weighted(ah_tensor* out, ah_random* from, const ah_tensor* weights, int32_t repeated) noexcept {
  return guarded_status([&] {
    const std::span<const double> all(weights->f64_, static_cast<size_t>(weights->count_));
    const auto source = take(from, repeated != 0 ? out->count_ : weights->count_);
    const bool done = kernel::draw_weighted(kernels_of(out), source, all, repeated != 0, view_of(*out));
    return done ? AH_TENSOR_OK : AH_TENSOR_SHAPE;
  });
}

}  // namespace

const ah_linalg_api kLinalgApi = {lu, solve, determinant, cholesky, qr, svd, eigh, draw, draw_order, draw_weighted};

}  // namespace actorhost
