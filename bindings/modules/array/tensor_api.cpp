#include "bindings/modules/array/tensor_api.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>

#include <xxhash.h>

#include "bindings/modules/array/tensor_operation.hpp"

namespace actorhost {

using kernel::View;

using tensor::guarded_status, tensor::kernels_of, tensor::state_of;

namespace {

static_assert(sizeof(Blob) <= sizeof(ah_tensor::block_) && alignof(Blob) <= alignof(uint64_t));

Blob& block(ah_tensor& t) noexcept { return *std::launder(reinterpret_cast<Blob*>(t.block_)); }

void set_geometry(ah_tensor& t, const View& view) noexcept {
  t.data_ = view.data;
  t.type_ = static_cast<int32_t>(view.dtype);
  t.ndim_ = view.shape.rank;
  t.count_ = view.size();
  std::copy(view.shape.begin(), view.shape.end(), t.extent_);
  std::copy(view.steps.begin(), view.steps.end(), t.step_);
}

void set_shape(Shape& shape, int32_t ndim, const int64_t* extent) noexcept {
  shape.rank = static_cast<uint8_t>(ndim);
  std::copy_n(extent, ndim, shape.begin());
}

// A new block for the shape and type of `like`. All blocks of tensors are made here, so that sizes cannot overflow.
// Throws TooManyElements and std::bad_alloc.
void allocate_like(ah_tensor_context* context, ah_tensor& out, const View& like) {
  if (!like.shape.is_valid()) throw tensor::TooManyElements();
  const auto size = static_cast<size_t>(like.size()) * dtype_size(like.dtype);
  context->wanted = static_cast<int64_t>(size);
  Blob bytes = Blob::allocate(size);
  context->wanted = 0;
  const View geometry = kernel::row_major(bytes.data(), like.dtype, like.shape);
  adopt(state_of(context), out, std::move(bytes), geometry);
}

// ---- Blocks ----

int32_t allocate(ah_tensor_context* context, ah_tensor* out, int32_t type, int32_t ndim,
                 const int64_t* extent) noexcept {
  return guarded_status([&] {
    View like{.dtype = static_cast<Dtype>(type)};
    set_shape(like.shape, ndim, extent);
    allocate_like(context, *out, like);
    return AH_TENSOR_OK;
  });
}

void release(ah_tensor* t) noexcept {
  if (t->context_ == nullptr) return;
  t->context_->live -= t->charge_;
  std::destroy_at(&block(*t));
  std::memset(static_cast<void*>(t), 0, sizeof *t);
}

void view(ah_tensor* out, const ah_tensor* base, int64_t offset, int32_t ndim, const int64_t* extent,
          const int64_t* step) noexcept {
  View geometry = view_of(*base);
  geometry.data = geometry.at(offset);
  set_shape(geometry.shape, ndim, extent);
  std::copy_n(step, ndim, geometry.steps.begin());
  new (out->block_) Blob(block_of(*base));
  out->context_ = base->context_;
  set_geometry(*out, geometry);
}

void move(ah_tensor* out, ah_tensor* from) noexcept {
  new (out->block_) Blob(std::move(block(*from)));
  std::destroy_at(&block(*from));
  std::memcpy(reinterpret_cast<char*>(out) + sizeof out->block_,
              reinterpret_cast<const char*>(from) + sizeof from->block_, sizeof *out - sizeof out->block_);
  std::memset(static_cast<void*>(from), 0, sizeof *from);
}

int32_t contiguous(const ah_tensor* t) noexcept { return view_of(*t).contiguous() ? 1 : 0; }

int32_t give(ah_tensor* out, ah_tensor* from) noexcept {
  const View to = view_of(*out);
  const View given = view_of(*from);
  const bool alike = to.dtype == given.dtype && to.shape == given.shape;
  const bool own =
      alike && to.contiguous() && given.contiguous() && block_of(*out).unique() && block_of(*from).unique();
  if (own) {
    std::swap(block(*out), block(*from));
    std::swap(out->data_, from->data_);
    std::swap(out->charge_, from->charge_);
    from->context_->fresh -= from->charge_;  // a block that is freed at once is not garbage
  } else if (const int32_t status = state_of(out->context_).api.copy(out, from); status != AH_TENSOR_OK) {
    return status;
  }
  release(from);
  return AH_TENSOR_OK;
}

void fill(ah_tensor* out, double value) noexcept { kernel::fill(kernels_of(out), view_of(*out), value); }

// Calls f(i) for each element of a contiguous tensor.
template <typename F>
void each(ah_tensor& t, F f) {
  kernel::with_type(static_cast<Dtype>(t.type_), [&]<typename T>(T) {
    auto* const at = static_cast<T*>(t.data_);
    for (int64_t i = 0; i < t.count_; ++i) at[i] = static_cast<T>(f(i));
  });
}

void arange(ah_tensor* out, double start, double step) noexcept {
  each(*out, [=](int64_t i) { return start + static_cast<double>(i) * step; });
}

void from_bytes(ah_tensor* out, const uint8_t* bytes, double scale, double shift) noexcept {
  kernels_of(out).from_bytes(static_cast<Dtype>(out->type_), out->count_, out->data_, bytes, scale, shift);
}

// ---- Comparing ----

int32_t is_finite(const ah_tensor* a) noexcept { return kernel::is_finite(kernels_of(a), view_of(*a)) ? 1 : 0; }

int32_t all_close(const ah_tensor* a, const ah_tensor* b, double rtol, double atol, int32_t nan_equal) noexcept {
  return kernel::all_close(kernels_of(a), view_of(*a), view_of(*b), rtol, atol, nan_equal != 0) ? 1 : 0;
}

uint64_t hash(const ah_tensor* a) noexcept {
  const View v = view_of(*a);
  const int64_t head[2] = {static_cast<int64_t>(a->type_), a->ndim_};
  const uint64_t shape =
      XXH64(a->extent_, static_cast<size_t>(a->ndim_) * sizeof(int64_t), XXH64(head, sizeof head, 0));
  return XXH64(v.data, static_cast<size_t>(v.size()) * dtype_size(v.dtype), shape);
}

// ---- Optimisers ----

int32_t optimiser_parts(const ah_optimiser* o) noexcept { return kernel::state_parts(spec_of(*o)); }

double optimiser_fill(const ah_optimiser* o) noexcept { return kernel::state_fill(spec_of(*o)); }

double learning_rate(const ah_optimiser* o, int64_t t) noexcept { return kernel::learning_rate(spec_of(*o), t); }

void optimise(const ah_optimiser* o, double lr, int64_t made, const ah_tensor* grad, ah_tensor* state1,
              ah_tensor* state2, ah_tensor* weights) noexcept {
  const auto spec = spec_of(*o);
  const auto dtype = static_cast<Dtype>(weights->type_);
  const auto at = [dtype](const ah_tensor* t, int64_t i) {
    return t == nullptr ? nullptr : kernel::element_at(dtype, t->data_, i);
  };
  kernel::in_pieces(state_of(weights->context_).pool.get(), weights->count_, [&](int64_t first, int64_t count) {
    void* const state[] = {at(state1, first), at(state2, first)};
    kernel::apply_update(kernels_of(weights), spec, dtype, count, lr, made, at(grad, first), state, at(weights, first));
  });
}

void set_threads(ah_tensor_context* context, int32_t threads) noexcept {
  state_of(context).pool = std::make_unique<kernel::ThreadPool>(threads);
  context->threads = threads;
}

}  // namespace

View view_of(const ah_tensor& t) noexcept {
  View view{.data = t.data_, .dtype = static_cast<Dtype>(t.type_)};
  set_shape(view.shape, t.ndim_, t.extent_);
  std::copy_n(t.step_, t.ndim_, view.steps.begin());
  return view;
}

kernel::OptimiserSpec spec_of(const ah_optimiser& o) noexcept {
  kernel::OptimiserSpec spec;
  spec.kind = static_cast<kernel::OptimiserKind>(o.kind);
  spec.lr = o.lr;
  spec.scale = o.scale;
  spec.momentum = o.momentum;
  spec.weight_decay = o.weight_decay;
  spec.beta1 = o.beta1;
  spec.beta2 = o.beta2;
  spec.epsilon = o.epsilon;
  spec.initial = o.initial;
  spec.alpha = o.alpha;
  spec.nesterov = o.nesterov != 0;
  spec.decay = {static_cast<kernel::DecayKind>(o.decay_kind),
                o.decay_rate,
                o.decay_every,
                o.decay_floor,
                o.warm_steps,
                o.warm_start};
  return spec;
}

const Blob& block_of(const ah_tensor& t) noexcept {
  assert(t.context_ != nullptr);
  return *std::launder(reinterpret_cast<const Blob*>(t.block_));
}

void adopt(TensorState& state, ah_tensor& out, Blob bytes, const View& geometry) noexcept {
  const auto size = static_cast<int64_t>(bytes.size());
  new (out.block_) Blob(std::move(bytes));
  out.context_ = &state.context;
  out.charge_ = size;
  state.context.live += size;
  state.context.fresh += size;
  set_geometry(out, geometry);
}

namespace tensor {

int32_t prepare(ah_tensor_context* context, ah_tensor& out, const View& like) {
  if (out.context_ == nullptr) {
    allocate_like(context, out, like);
    return AH_TENSOR_OK;
  }
  const View view = view_of(out);
  return view.shape == like.shape && view.dtype == like.dtype ? AH_TENSOR_OK : AH_TENSOR_OUT;
}

View as_type(const kernel::Kernels& k, const View& in, Dtype dtype, std::unique_ptr<Copied>& keep) {
  if (in.dtype == dtype) return in;
  keep = std::make_unique<Copied>(k, in, dtype);
  return keep->view;
}

int32_t wrong_kind(const ah_tensor& t) noexcept {
  t.context_->bad_type = t.type_;
  return AH_TENSOR_KIND;
}

int32_t check_fit(const ah_tensor& a, Dtype to) {
  if (a.type_ == static_cast<int32_t>(to) || is_floating(to) || to == Dtype::b8) return AH_TENSOR_OK;
  const View source = view_of(a);
  std::unique_ptr<Copied> keep;
  View in = source;
  if (!source.contiguous()) {
    keep = std::make_unique<Copied>(kernels_of(&a), source);
    in = keep->view;
  }
  const int64_t bad = kernel::first_unfit(to, in.dtype, in.size(), in.data);
  if (bad == in.size()) return AH_TENSOR_OK;
  a.context_->bad_row = bad + 1;
  a.context_->bad_value = kernel::number_at(in.dtype, in.at(bad));
  a.context_->bad_type = static_cast<int32_t>(to);
  return AH_TENSOR_RANGE;
}

View apart(const kernel::Kernels& k, const View& out, const View& in, std::unique_ptr<Copied>& keep) {
  if (!kernel::overlaps(out, in)) return in;
  keep = std::make_unique<Copied>(k, in);
  return keep->view;
}

}  // namespace tensor

std::shared_ptr<TensorState> make_tensor_state(int threads) {
  auto state = std::make_shared<TensorState>();
  static_assert(offsetof(TensorState, context) == 0);
  state->kernels = &kernel::kernels();
  set_threads(&state->context, threads);
  state->context.limit = 32 << 20;
  ah_tensor_api& api = state->api;
  api.context = &state->context;
  api.isa = state->kernels->isa;
  api.allocate = allocate;
  api.release = release;
  api.view = view;
  api.move = move;
  api.give = give;
  api.contiguous = contiguous;
  api.fill = fill;
  api.arange = arange;
  api.from_bytes = from_bytes;
  api.is_finite = is_finite;
  api.all_close = all_close;
  api.hash = hash;
  api.optimiser_parts = optimiser_parts;
  api.optimiser_fill = optimiser_fill;
  api.learning_rate = learning_rate;
  api.optimise = optimise;
  api.set_threads = set_threads;
  tensor::add_elementwise(api);
  tensor::add_algebra(api);
  tensor::add_indexed(api);
  return state;
}

}  // namespace actorhost
