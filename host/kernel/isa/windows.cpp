// Pooling of one image: registers of adjacent channels, then the remaining channels one by one with the same code. Only
// exact operations, and sums in one order, so every instruction set gives the same bits.
#include "host/kernel/isa/isa.hpp"

namespace actorhost::kernel::AH_ISA {

namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

// Several channels at a time: elements, integers of the same width, and positions in their stored type.
template <typename T>
struct Lanes {
  static constexpr int64_t kCount = kVectorBytes / static_cast<int64_t>(sizeof(T));
  typedef T Value __attribute__((vector_size(kVectorBytes)));
  typedef decltype(Value{} < Value{}) Index;
  typedef uint16_t Places __attribute__((vector_size(2 * kCount)));
  static Index widen(Places p) noexcept { return __builtin_convertvector(p, Index); }
  static Places narrow(Index i) noexcept { return __builtin_convertvector(i, Places); }
};

template <typename T>
struct Single {
  static constexpr int64_t kCount = 1;
  using Value = T;
  using Index = int32_t;
  using Places = uint16_t;
  static Index widen(Places p) noexcept { return p; }
  static Places narrow(Index i) noexcept { return static_cast<Places>(i); }
};

template <typename V, typename T>
inline V load(const T* from) noexcept {
  V v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}

template <typename V, typename T>
inline void store(T* to, V v) noexcept {
  __builtin_memcpy(to, &v, sizeof v);
}

// The part of a window inside the image: rows [top, bottom) and columns [left, right) of the window. `at` is the offset
// of the window's first pixel, which may be outside.
struct Window {
  int64_t top, bottom, left, right;
  int64_t at, row, pixel;
  int64_t kernel_w;

  int64_t count() const noexcept { return bottom > top && right > left ? (bottom - top) * (right - left) : 0; }

  /// f(offset of the pixel, its position)
  template <typename F>
  [[gnu::always_inline]] void each(F f) const noexcept {
    for (int64_t y = top; y < bottom; ++y) {
      for (int64_t x = left; x < right; ++x) f(at + y * row + x * pixel, static_cast<int32_t>(y * kernel_w + x));
    }
  }
};

// A window of kSide x kSide pixels (known at compile time) completely inside the image.
template <int64_t kSide>
struct WholeWindow : Window {
  [[gnu::always_inline]] explicit WholeWindow(const Window& w) noexcept
      : Window{0, kSide, 0, kSide, w.at, w.row, w.pixel, kSide} {}
};

inline int64_t least(int64_t a, int64_t b) noexcept { return a < b ? a : b; }
inline int64_t most(int64_t a, int64_t b) noexcept { return a > b ? a : b; }

// f(window, offset of the result's pixel) for each window.
template <typename F>
[[gnu::always_inline]] inline void each_window(const Windows& w, F f) noexcept {
  const int64_t row = w.width * w.channels;
  for (int64_t y = 0; y < w.out_h; ++y) {
    const int64_t top = y * w.stride_h - w.pad_top;
    for (int64_t x = 0; x < w.out_w; ++x) {
      const int64_t left = x * w.stride_w - w.pad_left;
      const Window window = {most(0, -top),
                             least(w.kernel_h, w.height - top),
                             most(0, -left),
                             least(w.kernel_w, w.width - left),
                             top * row + left * w.channels,
                             row,
                             w.channels,
                             w.kernel_w};
      const int64_t pixel = (y * w.out_w + x) * w.channels;
      const bool whole = w.kernel_h == w.kernel_w && window.count() == w.kernel_h * w.kernel_w;
      if (whole && w.kernel_h == 2) {
        f(WholeWindow<2>(window), pixel);
      } else if (whole && w.kernel_h == 3) {
        f(WholeWindow<3>(window), pixel);
      } else {
        f(window, pixel);
      }
    }
  }
}

// f.template operator()<Lanes or Single>(channel) for all channels.
template <typename T, typename F>
[[gnu::always_inline]] inline void each_channel(int64_t channels, F f) noexcept {
  int64_t c = 0;
  for (; c + Lanes<T>::kCount <= channels; c += Lanes<T>::kCount) f(Lanes<T>{}, c);
  for (; c < channels; ++c) f(Single<T>{}, c);
}

template <typename S, typename T>
[[gnu::always_inline]] inline void max_of(const Window& w, const T* in, T* out, uint16_t* places) noexcept {
  using Value = typename S::Value;
  using Index = typename S::Index;
  if (w.count() == 0) {
    store(out, Value{});
    return store(places, typename S::Places{});
  }
  Value best = load<Value>(in + w.at + w.top * w.row + w.left * w.pixel);
  Index place = Index{} + static_cast<int32_t>(w.top * w.kernel_w + w.left);
  w.each([&](int64_t offset, int32_t number) {
    const Value x = load<Value>(in + offset);
    const auto better = (x > best) | ((x != x) & (best == best));
    best = better ? x : best;
    place = better ? Index{} + number : place;
  });
  store(out, best);
  store(places, S::narrow(place));
}

template <typename S, typename T>
[[gnu::always_inline]] inline void mean_of(const Window& w, const T* in, T* out) noexcept {
  typename S::Value sum{};
  w.each([&](int64_t offset, int32_t) { sum += load<typename S::Value>(in + offset); });
  store(out, w.count() == 0 ? sum : sum / static_cast<T>(w.count()));
}

template <typename S, typename T>
[[gnu::always_inline]] inline void spread_max(const Window& w, const T* grad, const uint16_t* places,
                                              T* in_grad) noexcept {
  using Value = typename S::Value;
  const Value g = load<Value>(grad);
  const typename S::Index place = S::widen(load<typename S::Places>(places));
  w.each([&](int64_t offset, int32_t number) {
    T* to = in_grad + offset;
    store(to, load<Value>(to) + (place == number ? g : Value{}));
  });
}

template <typename S, typename T>
[[gnu::always_inline]] inline void spread_mean(const Window& w, const T* grad, T* in_grad) noexcept {
  using Value = typename S::Value;
  const Value share = load<Value>(grad) / static_cast<T>(most(w.count(), 1));
  w.each([&](int64_t offset, int32_t) { store(in_grad + offset, load<Value>(in_grad + offset) + share); });
}

}  // namespace

void pool_windows(Pooling pooling, Dtype dtype, const Windows& w, const void* in, void* out,
                  uint16_t* places) noexcept {
  by_dtype(dtype, [&]<typename T>(T) {
    each_window(
        w, [&](const auto& window, int64_t pixel) __attribute__((always_inline)) {
          each_channel<T>(
              w.channels, [&]<typename S>(S, int64_t c) __attribute__((always_inline)) {
                if (pooling == Pooling::max)
                  return max_of<S>(window, as<T>(in) + c, as<T>(out) + pixel + c, places + pixel + c);
                mean_of<S>(window, as<T>(in) + c, as<T>(out) + pixel + c);
              });
        });
  });
}

void unpool_windows(Pooling pooling, Dtype dtype, const Windows& w, const void* out_grad, const uint16_t* places,
                    void* in_grad) noexcept {
  const int64_t size = w.height * w.width * w.channels;
  if (size == 0) return;
  __builtin_memset(in_grad, 0, static_cast<size_t>(size) * dtype_size(dtype));
  by_dtype(dtype, [&]<typename T>(T) {
    each_window(
        w, [&](const auto& window, int64_t pixel) __attribute__((always_inline)) {
          each_channel<T>(
              w.channels, [&]<typename S>(S, int64_t c) __attribute__((always_inline)) {
                const T* grad = as<T>(out_grad) + pixel + c;
                if (pooling == Pooling::max) return spread_max<S>(window, grad, places + pixel + c, as<T>(in_grad) + c);
                spread_mean<S>(window, grad, as<T>(in_grad) + c);
              });
        });
  });
}

}  // namespace actorhost::kernel::AH_ISA
