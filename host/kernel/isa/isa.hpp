#pragma once
// The common header of the sources in isa/. Each source is compiled once per instruction set, with AH_ISA as its name
// (sse2, v3, v4), and defines everything in a namespace of this name. If a weak symbol (an out-of-line std:: template)
// were shared with ordinary code, the linker could pick an AVX-512 copy for all callers. So these files use nothing of
// std; tests/host/kernel/symbols_test.cpp checks the built library.

#include "host/kernel/kernels.hpp"

#ifndef AH_ISA
#error "isa/*.cpp are built by kernels.cmake only"
#endif

#if defined(__clang__)
#define AH_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define AH_INDEPENDENT _Pragma("GCC ivdep")
#endif
// The compiler vectorises no loop with a call, and does not inline large functions by itself.
#define AH_INLINE [[gnu::always_inline]] inline
#define AH_STRINGIFY_(x) #x
#define AH_STRINGIFY(x) AH_STRINGIFY_(x)

namespace actorhost::kernel::AH_ISA {

/// Calls f with a value of the C++ type of `dtype`.
template <typename F>
inline auto by_dtype(Dtype dtype, F f) noexcept {
  return dtype == Dtype::f32 ? f(float{}) : f(double{});
}

template <typename T>
inline T* as(void* p) noexcept {
  return static_cast<T*>(p);
}

template <typename T>
inline const T* as(const void* p) noexcept {
  return static_cast<const T*>(p);
}

inline float square_root(float x) noexcept { return __builtin_sqrtf(x); }
inline double square_root(double x) noexcept { return __builtin_sqrt(x); }

void unary(Unary op, Dtype dtype, int64_t n, void* out, int64_t out_step, const void* a, int64_t a_step) noexcept;
void binary(Binary op, Dtype dtype, int64_t n, void* out, int64_t out_step, const void* a, int64_t a_step,
            const void* b, int64_t b_step) noexcept;
void copy(Dtype out_dtype, int64_t n, void* out, int64_t out_step, Dtype dtype, const void* a, int64_t a_step) noexcept;
void copy_turned(Dtype dtype, int64_t rows, int64_t columns, void* out, int64_t out_lead, const void* a,
                 int64_t a_lead) noexcept;
void fill(Dtype dtype, int64_t n, void* out, int64_t out_step, double value) noexcept;
void from_bytes(Dtype dtype, int64_t n, void* out, const uint8_t* bytes, double scale, double shift) noexcept;
bool is_finite(Dtype dtype, int64_t n, const void* a, int64_t a_step) noexcept;
double reduce(Reduce op, Dtype dtype, int64_t n, const void* a, int64_t step) noexcept;
void reduce_rows(Reduce op, Dtype dtype, int64_t n, double* total, const void* a, int64_t step) noexcept;
int64_t integer_best(Dtype dtype, int64_t n, const void* a, bool smallest) noexcept;
int64_t integer_sum(Dtype dtype, int64_t n, const void* a) noexcept;
int64_t arg_max(Dtype dtype, int64_t n, const void* a, int64_t step, bool smallest) noexcept;
void arg_max_rows(Dtype dtype, int64_t n, void* best, double* at, const void* a, int64_t step, int64_t row,
                  bool smallest) noexcept;
bool all_close(int64_t n, Dtype a_dtype, const void* a, int64_t a_step, Dtype b_dtype, const void* b, int64_t b_step,
               double rtol, double atol, bool nan_equal) noexcept;
void softmax(Dtype dtype, int64_t rows, int64_t columns, void* out, int64_t out_lead, const void* a,
             int64_t a_lead) noexcept;
double cross_entropy(Dtype dtype, int64_t rows, int64_t columns, const void* scores, int64_t lead,
                     const int32_t* labels, void* grad, int64_t grad_lead, double grad_scale) noexcept;
void matrix_vector(Dtype dtype, int64_t count, int64_t depth, double alpha, const Operand& matrix, const void* x,
                   void* out, int64_t out_step, bool accumulate) noexcept;
void step_product(Dtype dtype, const StepProduct& product) noexcept;
int64_t step_panel(Dtype dtype) noexcept;
void pool_windows(Pooling pooling, Dtype dtype, const Windows& w, const void* in, void* out, uint16_t* places) noexcept;
void unpool_windows(Pooling pooling, Dtype dtype, const Windows& w, const void* out_grad, const uint16_t* places,
                    void* in_grad) noexcept;
void affine(Dtype dtype, int64_t n, void* out, const void* a, const void* a_scale, const void* b, const void* b_scale,
            const void* shift) noexcept;
void dot_rows(Dtype dtype, int64_t n, double* total, const void* a, const void* b) noexcept;
void sort_columns(Dtype dtype, int64_t columns, int64_t rows, void* data) noexcept;
void dropout(Dtype dtype, int64_t n, void* out, const void* a, uint64_t key, int64_t first, uint32_t least,
             double scale) noexcept;
void softmax_grad(Dtype dtype, int64_t rows, int64_t columns, void* out, const void* grad, const void* y) noexcept;
void axpy(Dtype dtype, int64_t n, double alpha, const void* x, int64_t x_step, void* y, int64_t y_step) noexcept;
void sgd(Dtype dtype, int64_t n, const SgdStep& step, const void* grad, void* velocity, void* weights) noexcept;
void adagrad(Dtype dtype, int64_t n, const AdagradStep& step, const void* grad, void* squares, void* weights) noexcept;
void rmsprop(Dtype dtype, int64_t n, const RmspropStep& step, const void* grad, void* squares, void* velocity,
             void* weights) noexcept;
void adam(Dtype dtype, int64_t n, const AdamStep& step, const void* grad, void* mean, void* variance,
          void* weights) noexcept;
bool to_half(Dtype dtype, int64_t n, uint16_t* out, const void* a) noexcept;
void from_half(Dtype dtype, int64_t n, void* out, const uint16_t* halves) noexcept;
bool quantise(Dtype dtype, int64_t n, uint8_t* out, void* range, const void* a) noexcept;
void dequantise(Dtype dtype, int64_t n, void* out, const void* range, const uint8_t* levels) noexcept;
void residual_of(Dtype dtype, int64_t n, void* residual, const void* sent) noexcept;
void count_magnitudes(Dtype dtype, int64_t n, uint32_t* counts, const void* a) noexcept;
void mark_magnitudes(Dtype dtype, int64_t n, uint64_t* marks, const void* a, uint64_t least) noexcept;

}  // namespace actorhost::kernel::AH_ISA
