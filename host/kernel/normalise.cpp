#include "host/kernel/normalise.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "host/kernel/bands.hpp"
#include "host/kernel/strided.hpp"

namespace actorhost::kernel {

namespace {

// Elements per piece: several rows with few channels are processed side by side.
constexpr int64_t kSideBySide = 512;

int64_t rows_at_a_time(const Channels& c) noexcept {
  return std::clamp<int64_t>(kSideBySide / std::max<int64_t>(c.channels, 1), 1, std::max<int64_t>(c.rows, 1));
}

template <typename T>
T value_of(const void* values, int64_t i, T otherwise) noexcept {
  return values == nullptr ? otherwise : static_cast<const T*>(values)[i];
}

// Calls f(elements, first element) for each piece of a matrix; a piece consists of whole rows.
template <typename F>
void each_piece(const Channels& c, F f) {
  const int64_t rows = rows_at_a_time(c);
  for (int64_t row = 0; row < c.rows; row += rows) {
    f(std::min(rows, c.rows - row) * c.channels, row * c.channels);
  }
}

// The sum of each channel; add(elements, totals, first element) adds a piece.
template <typename F>
std::vector<double> channel_sums(const Channels& c, F add) {
  std::vector<double> totals(static_cast<size_t>(rows_at_a_time(c) * c.channels));
  each_piece(c, [&](int64_t n, int64_t from) { add(n, totals.data(), from); });
  for (size_t i = static_cast<size_t>(c.channels); i < totals.size(); ++i) {
    totals[i % static_cast<size_t>(c.channels)] += totals[i];
  }
  totals.resize(static_cast<size_t>(c.channels));
  return totals;
}

// value(channel) for each channel, repeated for all rows of a piece.
template <typename T, typename F>
std::vector<T> repeated(const Channels& c, F value) {
  std::vector<T> all(static_cast<size_t>(rows_at_a_time(c) * c.channels));
  for (int64_t i = 0; i < c.channels; ++i) all[static_cast<size_t>(i)] = static_cast<T>(value(i));
  for (size_t i = static_cast<size_t>(c.channels); i < all.size(); ++i)
    all[i] = all[i - static_cast<size_t>(c.channels)];
  return all;
}

// 1 / the standard deviation of each channel.
template <typename T>
double inverse_deviation(const Normalisation& by, int64_t i) noexcept {
  return 1 / std::sqrt(static_cast<double>(static_cast<const T*>(by.variance)[i]) + by.epsilon);
}

template <typename T>
double mean_of(const Normalisation& by, int64_t i) noexcept {
  return static_cast<double>(static_cast<const T*>(by.mean)[i]);
}

}  // namespace

void channel_moments(const Channels& c, const void* x, void* mean, void* variance) {
  const auto n = static_cast<double>(c.rows);
  auto sums_of = [&](Reduce op) {
    return channel_sums(c, [&](int64_t count, double* totals, int64_t from) {
      c.k.reduce_rows(op, c.dtype, count, totals, element_at(c.dtype, x, from), 1);
    });
  };
  const std::vector<double> sums = sums_of(Reduce::sum);
  const std::vector<double> squares = sums_of(Reduce::sum_squares);
  by_element(c.dtype, [&](auto type) {
    using T = decltype(type);
    for (size_t i = 0; i < sums.size(); ++i) {
      const double average = sums[i] / n;
      const double spread = squares[i] / n - average * average;
      static_cast<T*>(mean)[i] = static_cast<T>(average);
      static_cast<T*>(variance)[i] = static_cast<T>(spread < 0 ? 0 : spread);
    }
  });
}

void normalise(const Channels& c, const Normalisation& by, const void* x, void* y) {
  by_element(c.dtype, [&](auto type) {
    using T = decltype(type);
    const auto scale_of = [&](int64_t i) { return value_of<T>(by.gamma, i, 1) * inverse_deviation<T>(by, i); };
    const std::vector<T> scale = repeated<T>(c, scale_of);
    const std::vector<T> shift =
        repeated<T>(c, [&](int64_t i) { return value_of<T>(by.beta, i, 0) - mean_of<T>(by, i) * scale_of(i); });
    each_piece(c, [&](int64_t n, int64_t from) {
      c.k.affine(c.dtype, n, element_at(c.dtype, y, from), element_at(c.dtype, x, from), scale.data(), nullptr, nullptr,
                 shift.data());
    });
  });
}

void normalise_grad(const Channels& c, const Normalisation& by, bool of_batch, const void* x, const void* y_grad,
                    void* x_grad, void* gamma_grad, void* beta_grad) {
  std::vector<double> sums;      // of y_grad
  std::vector<double> products;  // of y_grad and the normalised x
  if (of_batch || gamma_grad != nullptr) {
    sums = channel_sums(c, [&](int64_t n, double* totals, int64_t from) {
      c.k.reduce_rows(Reduce::sum, c.dtype, n, totals, element_at(c.dtype, y_grad, from), 1);
    });
    products = channel_sums(c, [&](int64_t n, double* totals, int64_t from) {
      c.k.dot_rows(c.dtype, n, totals, element_at(c.dtype, y_grad, from), element_at(c.dtype, x, from));
    });
  }
  by_element(c.dtype, [&](auto type) {
    using T = decltype(type);
    const auto count = static_cast<double>(c.rows);
    for (size_t i = 0; i < products.size(); ++i) {
      const auto channel = static_cast<int64_t>(i);
      products[i] = (products[i] - mean_of<T>(by, channel) * sums[i]) * inverse_deviation<T>(by, channel);
      if (gamma_grad == nullptr) continue;
      static_cast<T*>(gamma_grad)[i] = static_cast<T>(products[i]);
      static_cast<T*>(beta_grad)[i] = static_cast<T>(sums[i]);
    }
    if (x_grad == nullptr) return;
    const auto scale_of = [&](int64_t i) { return value_of<T>(by.gamma, i, 1) * inverse_deviation<T>(by, i); };
    const auto slope_of = [&](int64_t i) {
      return of_batch ? -scale_of(i) * inverse_deviation<T>(by, i) * products[static_cast<size_t>(i)] / count : 0;
    };
    const std::vector<T> scale = repeated<T>(c, scale_of);
    const std::vector<T> slope = repeated<T>(c, slope_of);
    const std::vector<T> shift = repeated<T>(c, [&](int64_t i) {
      return of_batch ? -scale_of(i) * sums[static_cast<size_t>(i)] / count - slope_of(i) * mean_of<T>(by, i) : 0;
    });
    each_piece(c, [&](int64_t n, int64_t from) {
      const void* b = of_batch ? element_at(c.dtype, x, from) : nullptr;
      c.k.affine(c.dtype, n, element_at(c.dtype, x_grad, from), element_at(c.dtype, y_grad, from), scale.data(), b,
                 slope.data(), shift.data());
    });
  });
}

}  // namespace actorhost::kernel
