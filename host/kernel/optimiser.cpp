#include "host/kernel/optimiser.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

namespace actorhost::kernel {

namespace {

// Computes a power by repeated squaring: the C library's pow may differ in the last bit between CPUs.
double integer_power(double base, int64_t exponent) noexcept {
  double result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result *= base;
    base *= base;
  }
  return result;
}

double decay_factor(const Decay& decay, double t) noexcept {
  if (t < decay.warm_steps) return decay.warm_start + (1 - decay.warm_start) * t / decay.warm_steps;
  t -= decay.warm_steps;
  switch (decay.kind) {
    case DecayKind::none: return 1;
    case DecayKind::step: return integer_power(decay.rate, static_cast<int64_t>(t / decay.every));
    case DecayKind::exponential: return std::pow(decay.rate, t / decay.every);
    case DecayKind::inverse_time: return 1 / (1 + decay.rate * t / decay.every);
    case DecayKind::cosine: {
      const double done = std::min(t, decay.every) / decay.every;
      return decay.floor + (1 - decay.floor) * (1 + std::cos(M_PI * done)) / 2;
    }
  }
  return 1;
}

Status in_range(const char* name, double value, bool fine, const char* wanted) {
  if (std::isfinite(value) && fine) return {};
  return Error{Code::bad_argument, std::string(name) + " has to be " + wanted + ", not " + std::to_string(value)};
}

constexpr const char* kNames[] = {"add", "sgd", "adagrad", "adam", "rmsprop", "adamw"};

Status check_decay(const Decay& decay) {
  AH_TRY(in_range("decay.steps", decay.warm_steps, decay.warm_steps >= 0, "a number of updates"));
  AH_TRY(in_range("decay.start", decay.warm_start, decay.warm_start >= 0 && decay.warm_start <= 1,
                  "a number from 0 to 1"));
  if (decay.kind == DecayKind::none) return {};
  AH_TRY(in_range("decay.every", decay.every, decay.every > 0, "a positive number of updates"));
  if (decay.kind == DecayKind::cosine) {
    return in_range("decay.floor", decay.floor, decay.floor >= 0 && decay.floor <= 1, "a number from 0 to 1");
  }
  const bool factor = decay.kind != DecayKind::inverse_time;
  return in_range("decay.rate", decay.rate, decay.rate >= 0 && (!factor || decay.rate <= 1),
                  factor ? "a number from 0 to 1" : "a number of at least 0");
}

}  // namespace

const char* name_of(OptimiserKind kind) noexcept { return kNames[static_cast<int32_t>(kind)]; }

std::optional<OptimiserKind> optimiser_named(std::string_view name) noexcept {
  const auto* found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) return std::nullopt;
  return static_cast<OptimiserKind>(found - std::begin(kNames));
}

Status check(const OptimiserSpec& spec) {
  if (spec.kind == OptimiserKind::add) return in_range("scale", spec.scale, true, "a finite number");
  AH_TRY(in_range("lr", spec.lr, spec.lr >= 0, "a number of at least 0"));
  AH_TRY(in_range("weight_decay", spec.weight_decay, spec.weight_decay >= 0, "a number of at least 0"));
  AH_TRY(in_range("momentum", spec.momentum, spec.momentum >= 0 && spec.momentum < 1, "in [0, 1)"));
  AH_TRY(in_range("beta1", spec.beta1, spec.beta1 >= 0 && spec.beta1 < 1, "in [0, 1)"));
  AH_TRY(in_range("beta2", spec.beta2, spec.beta2 >= 0 && spec.beta2 < 1, "in [0, 1)"));
  AH_TRY(in_range("epsilon", spec.epsilon, spec.epsilon >= 0, "a number of at least 0"));
  AH_TRY(in_range("initial", spec.initial, spec.initial >= 0, "a number of at least 0"));
  AH_TRY(in_range("alpha", spec.alpha, spec.alpha >= 0 && spec.alpha < 1, "in [0, 1)"));
  return check_decay(spec.decay);
}

int state_parts(const OptimiserSpec& spec) noexcept {
  const int velocity = spec.momentum == 0 ? 0 : 1;
  switch (spec.kind) {
    case OptimiserKind::add: return 0;
    case OptimiserKind::sgd: return velocity;
    case OptimiserKind::adagrad: return 1;
    case OptimiserKind::rmsprop: return 1 + velocity;
    case OptimiserKind::adam:
    case OptimiserKind::adamw: return 2;
  }
  return 0;
}

double state_fill(const OptimiserSpec& spec) noexcept { return spec.kind == OptimiserKind::adagrad ? spec.initial : 0; }

double learning_rate(const OptimiserSpec& spec, int64_t t) noexcept {
  return spec.lr * decay_factor(spec.decay, static_cast<double>(t));
}

void apply_update(const Kernels& kernels, const OptimiserSpec& spec, Dtype dtype, int64_t n, double lr, int64_t made,
                  const void* gradient, void* const* state, void* weights) noexcept {
  const bool moves = spec.momentum != 0;
  switch (spec.kind) {
    case OptimiserKind::add: return kernels.axpy(dtype, n, spec.scale, gradient, 1, weights, 1);
    case OptimiserKind::sgd: {
      const SgdStep sgd{lr, spec.momentum, spec.weight_decay, spec.nesterov};
      return kernels.sgd(dtype, n, sgd, gradient, moves ? state[0] : nullptr, weights);
    }
    case OptimiserKind::adagrad: {
      const AdagradStep adagrad{lr, spec.epsilon, spec.weight_decay};
      return kernels.adagrad(dtype, n, adagrad, gradient, state[0], weights);
    }
    case OptimiserKind::rmsprop: {
      const RmspropStep rmsprop{lr, spec.alpha, spec.epsilon, spec.momentum, spec.weight_decay};
      return kernels.rmsprop(dtype, n, rmsprop, gradient, state[0], moves ? state[1] : nullptr, weights);
    }
    case OptimiserKind::adam:
    case OptimiserKind::adamw: {
      const bool decoupled = spec.kind == OptimiserKind::adamw;
      const AdamStep adam{.lr = lr,
                          .beta1 = spec.beta1,
                          .beta2 = spec.beta2,
                          .epsilon = spec.epsilon,
                          .weight_decay = decoupled ? 0 : spec.weight_decay,
                          .keep = decoupled ? 1 - lr * spec.weight_decay : 1,
                          .correction1 = 1 - integer_power(spec.beta1, made + 1),
                          .correction2 = 1 - integer_power(spec.beta2, made + 1)};
      return kernels.adam(dtype, n, adam, gradient, state[0], state[1], weights);
    }
  }
}

}  // namespace actorhost::kernel
