#pragma once
// Parameter updates from a description. A server applies them to its shard and `optim` applies them in a VM, with the
// same bits. An OptimiserSpec is plain data. `apply_update` works on flat arrays that the caller owns and guards: one
// thread at a time per parameter; different parameters, and parts of a parameter, are independent.
//
//   spec = {kind = adam, lr = 1e-3}
//   state = state_parts(spec) = 2 zero-filled arrays of the parameter's size
//   for t = 0, 1, ...: apply_update(kernels(), spec, dtype, n, learning_rate(spec, t), t, gradient, state, weights)

#include <cstdint>
#include <optional>
#include <string_view>

#include "host/base/result.hpp"
#include "host/kernel/kernels.hpp"

namespace actorhost::kernel {

enum class DecayKind : int32_t { none, step, exponential, inverse_time, cosine };
constexpr DecayKind last_of(DecayKind) { return DecayKind::cosine; }

/// The decay of the learning rate with the number t = 0, 1, ... of previous updates. Factor on lr:
///   step          rate ^ floor(t / every)
///   exponential   rate ^ (t / every)
///   inverse_time  1 / (1 + rate * t / every)
///   cosine        floor + (1 - floor) * (1 + cos(pi * min(t, every) / every)) / 2
/// For the first `warm_steps` updates the factor is start + (1 - start) * t / warm_steps; after them, the factor above
/// applies to t - warm_steps.
struct Decay {
  DecayKind kind = DecayKind::none;
  double rate = 1;
  double every = 1;
  double floor = 0;
  double warm_steps = 0;
  double warm_start = 0;
};

/// `add` is weights += scale * gradient, with no decay of any kind.
enum class OptimiserKind : int32_t { add, sgd, adagrad, adam, rmsprop, adamw };
constexpr OptimiserKind last_of(OptimiserKind) { return OptimiserKind::adamw; }

/// "add", "sgd", ...
const char* name_of(OptimiserKind kind) noexcept;
std::optional<OptimiserKind> optimiser_named(std::string_view name) noexcept;

struct OptimiserSpec {
  OptimiserKind kind = OptimiserKind::sgd;
  double lr = 0.01;
  double scale = 1;         // add
  double momentum = 0;      // sgd, rmsprop
  double weight_decay = 0;  // L2, added to the gradient; adamw: weights *= 1 - lr * weight_decay
  double beta1 = 0.9;       // adam, adamw
  double beta2 = 0.999;     // adam, adamw
  double epsilon = 1e-8;    // adagrad, adam, rmsprop, adamw
  double initial = 0;       // adagrad: start value of the sum of squares
  double alpha = 0.99;      // rmsprop: decay factor of the mean of squares
  bool nesterov = false;    // sgd
  Decay decay = {};
};

inline constexpr int kMaxStateParts = 2;

/// bad_argument with the field's name and value if a number is out of range or not finite.
Status check(const OptimiserSpec& spec);

/// The number of state arrays of the parameter's size: 0, 1 or 2.
int state_parts(const OptimiserSpec& spec) noexcept;

/// The initial value of the state arrays.
double state_fill(const OptimiserSpec& spec) noexcept;

/// The learning rate of update number `t` (0 is the first).
double learning_rate(const OptimiserSpec& spec, int64_t t) noexcept;

/// One update of `n` contiguous elements with the rate `lr`. `made` is the number of previous updates of these elements
/// (for Adam's bias correction); `state` points to state_parts(spec) pointers (may be null if there are none).
void apply_update(const Kernels& kernels, const OptimiserSpec& spec, Dtype dtype, int64_t n, double lr, int64_t made,
                  const void* gradient, void* const* state, void* weights) noexcept;

}  // namespace actorhost::kernel
