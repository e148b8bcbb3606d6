// Parameter updates. Scalars are computed in double and rounded once to the element type.
#include "host/kernel/isa/isa.hpp"

namespace actorhost::kernel::AH_ISA {

void axpy(Dtype dtype, int64_t n, double alpha, const void* x, int64_t x_step, void* y, int64_t y_step) noexcept {
  by_dtype(dtype, [=]<typename T>(T) {
    const T a = static_cast<T>(alpha);
    const T* in = as<T>(x);
    T* out = as<T>(y);
    if (x_step == 1 && y_step == 1) {
      AH_INDEPENDENT
      for (int64_t i = 0; i < n; ++i) out[i] += a * in[i];
    } else {
      for (int64_t i = 0; i < n; ++i) out[i * y_step] += a * in[i * x_step];
    }
  });
}

void sgd(Dtype dtype, int64_t n, const SgdStep& step, const void* grad, void* velocity, void* weights) noexcept {
  by_dtype(dtype, [&]<typename T>(T) {
    const T lr = static_cast<T>(step.lr);
    const T mu = static_cast<T>(step.momentum);
    const T decay = static_cast<T>(step.weight_decay);
    const T* g = as<T>(grad);
    T* v = as<T>(velocity);
    T* w = as<T>(weights);
    if (step.momentum == 0) {
      AH_INDEPENDENT
      for (int64_t i = 0; i < n; ++i) w[i] -= lr * (g[i] + decay * w[i]);
      return;
    }
    const bool nesterov = step.nesterov;
    AH_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) {
      const T slope = g[i] + decay * w[i];
      const T speed = mu * v[i] + slope;
      v[i] = speed;
      w[i] -= lr * (nesterov ? slope + mu * speed : speed);
    }
  });
}

void adagrad(Dtype dtype, int64_t n, const AdagradStep& step, const void* grad, void* squares, void* weights) noexcept {
  by_dtype(dtype, [&]<typename T>(T) {
    const T lr = static_cast<T>(step.lr);
    const T epsilon = static_cast<T>(step.epsilon);
    const T decay = static_cast<T>(step.weight_decay);
    const T* g = as<T>(grad);
    T* a = as<T>(squares);
    T* w = as<T>(weights);
    AH_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) {
      const T slope = g[i] + decay * w[i];
      const T sum = a[i] + slope * slope;
      a[i] = sum;
      w[i] -= lr * slope / (square_root(sum) + epsilon);
    }
  });
}

void rmsprop(Dtype dtype, int64_t n, const RmspropStep& step, const void* grad, void* squares, void* velocity,
             void* weights) noexcept {
  by_dtype(dtype, [&]<typename T>(T) {
    const T lr = static_cast<T>(step.lr);
    const T alpha = static_cast<T>(step.alpha);
    const T rest = static_cast<T>(1 - step.alpha);
    const T epsilon = static_cast<T>(step.epsilon);
    const T mu = static_cast<T>(step.momentum);
    const T decay = static_cast<T>(step.weight_decay);
    const T* g = as<T>(grad);
    T* a = as<T>(squares);
    T* v = as<T>(velocity);
    T* w = as<T>(weights);
    if (step.momentum == 0) {
      AH_INDEPENDENT
      for (int64_t i = 0; i < n; ++i) {
        const T slope = g[i] + decay * w[i];
        const T mean = alpha * a[i] + rest * (slope * slope);
        a[i] = mean;
        w[i] -= lr * (slope / (square_root(mean) + epsilon));
      }
      return;
    }
    AH_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) {
      const T slope = g[i] + decay * w[i];
      const T mean = alpha * a[i] + rest * (slope * slope);
      const T speed = mu * v[i] + slope / (square_root(mean) + epsilon);
      a[i] = mean;
      v[i] = speed;
      w[i] -= lr * speed;
    }
  });
}

void adam(Dtype dtype, int64_t n, const AdamStep& step, const void* grad, void* mean, void* variance,
          void* weights) noexcept {
  by_dtype(dtype, [&]<typename T>(T) {
    const T rate = static_cast<T>(step.lr / step.correction1);
    const T root = static_cast<T>(1 / __builtin_sqrt(step.correction2));
    const T beta1 = static_cast<T>(step.beta1);
    const T beta2 = static_cast<T>(step.beta2);
    const T rest1 = static_cast<T>(1 - step.beta1);
    const T rest2 = static_cast<T>(1 - step.beta2);
    const T epsilon = static_cast<T>(step.epsilon);
    const T decay = static_cast<T>(step.weight_decay);
    const T keep = static_cast<T>(step.keep);
    const T* g = as<T>(grad);
    T* m = as<T>(mean);
    T* v = as<T>(variance);
    T* w = as<T>(weights);
    AH_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) {
      const T slope = g[i] + decay * w[i];
      const T first = beta1 * m[i] + rest1 * slope;
      const T second = beta2 * v[i] + rest2 * (slope * slope);
      m[i] = first;
      v[i] = second;
      w[i] = keep * w[i] - rate * first / (square_root(second) * root + epsilon);
    }
  });
}

}  // namespace actorhost::kernel::AH_ISA
