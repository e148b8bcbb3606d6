#pragma once
#include <stdint.h>

#include "host/base/dtype.hpp"       /* Dtype */
#include "host/kernel/kernels.hpp"   /* Unary, Binary */
#include "host/kernel/optimiser.hpp" /* DecayKind, OptimiserKind */
#include "host/kernel/strided.hpp"   /* Reduction */
/* FFI text "ffi/tensor": tensors as C values, and their operations. Plain C for ffi.cdef, which skips lines that start
   with '#'. A tensor is in Lua memory; its elements are a block of bytes (host/base/blob.hpp) shared by its views.
   All-zero bytes are an empty tensor. Operations check shapes and element types and return a status. They allocate an
   empty `out`; any other `out` must have the result's shape. No operation calls Lua. */

/* Status of an operation. */
enum {
  AH_TENSOR_OK = 0,
  AH_TENSOR_SHAPE = 1,  /* the operands' shapes don't fit */
  AH_TENSOR_DTYPE = 2,  /* the operands' element types differ */
  AH_TENSOR_MEMORY = 3, /* out of memory */
  AH_TENSOR_OUT = 4,    /* `out` has another shape or element type than the result */
  AH_TENSOR_LABEL = 5,  /* a label is not a whole number of 1 .. columns: see context->bad_row, bad_value */
  AH_TENSOR_INDEX = 6,  /* a position is not a whole number of 1 .. context->bad_limit: see bad_row, bad_value */
  AH_TENSOR_KIND = 7,   /* the operation does not support this element type: context->bad_type */
  AH_TENSOR_RANGE = 8,  /* context->bad_type cannot represent bad_value, element bad_row (0: the given number) */
  AH_TENSOR_ZERO = 9,   /* element bad_row of the divisor is 0 */
  AH_TENSOR_POWER = 10, /* element bad_row of a whole exponent is bad_value, below 0 */
  AH_TENSOR_SIZE = 11   /* the result would have too many elements, or a negative size */
};

/* State shared by the tensors of one Lua state, which owns it. */
typedef struct ah_tensor_context {
  int64_t live;    /* bytes of the tensors' blocks, without views */
  int64_t fresh;   /* bytes allocated since Lua last set it to 0 */
  int64_t limit;   /* Lua collects garbage when `fresh` exceeds it */
  int64_t wanted;  /* bytes of the result that memory ran out for; 0: not a result */
  int64_t bad_row; /* from 1 */
  int64_t bad_limit;
  double bad_value;
  int32_t bad_type;
  int32_t threads; /* for large kernels; set_threads changes it */
} ah_tensor_context;

typedef struct ah_tensor {
  uint64_t block_[5]; /* a Blob, constructed in place when context_ is set */
  ah_tensor_context* context_;
  union {
    void* data_; /* the first element */
    float* f32_;
    double* f64_;
    int32_t* i32_;
    int64_t* i64_;
    uint8_t* u8_;
    bool* b8_;
  };
  int64_t count_;  /* elements */
  int64_t charge_; /* bytes counted in context_->live */
  int32_t type_;   /* a Dtype */
  int32_t ndim_;
  int64_t extent_[8];
  int64_t step_[8]; /* in elements */
} ah_tensor;

/* An optimiser: OptimiserSpec of host/kernel/optimiser.hpp. */
typedef struct ah_optimiser {
  double lr, scale, momentum, weight_decay, beta1, beta2, epsilon, initial, alpha;
  double decay_rate, decay_every, decay_floor, warm_steps, warm_start;
  int32_t kind, decay_kind, nesterov;
} ah_optimiser;

typedef struct ah_tensor_api {
  ah_tensor_context* context;
  const char* isa; /* of the kernels in use */

  /* Allocates uninitialised elements. */
  int32_t (*allocate)(ah_tensor_context* context, ah_tensor* out, int32_t type, int32_t ndim, const int64_t* extent);
  void (*release)(ah_tensor* t);
  /* `out` shares the block of `base`, with the same element type and the given geometry. */
  void (*view)(ah_tensor* out, const ah_tensor* base, int64_t offset, int32_t ndim, const int64_t* extent,
               const int64_t* step);
  /* `out` takes over the block; `from` is then empty. */
  void (*move)(ah_tensor* out, ah_tensor* from);
  /* Moves the elements of `from` into `out`, of the same shape, and empties `from`, unless it fails. Moves the block if
     `out` is the only holder of its own block; otherwise copies. */
  int32_t (*give)(ah_tensor* out, ah_tensor* from);
  int32_t (*contiguous)(const ah_tensor* t);

  /* Operands of two element types are converted to a type for both (bool, uint8, int32, int64, then the float type of
     the other operand); float32 with float64 is AH_TENSOR_DTYPE. Comparisons and tests give bool. */
  int32_t (*unary)(int32_t op, ah_tensor* out, const ah_tensor* a);
  int32_t (*binary)(int32_t op, ah_tensor* out, const ah_tensor* a, const ah_tensor* b);
  /* a op value, or value op a when `swapped`. */
  int32_t (*binary_scalar)(int32_t op, ah_tensor* out, const ah_tensor* a, double value, int32_t swapped);
  /* out = cond ? a : b, broadcast to one shape. */
  int32_t (*where)(ah_tensor* out, const ah_tensor* cond, const ah_tensor* a, const ah_tensor* b);
  /* y += alpha * x, with x broadcast to the shape of y. */
  int32_t (*axpy)(double alpha, const ah_tensor* x, ah_tensor* y);
  /* Broadcasts `a` to the shape of `out` and converts; `out` must not be empty. Writes nothing on failure. */
  int32_t (*copy)(ah_tensor* out, const ah_tensor* a);
  void (*fill)(ah_tensor* out, double value);
  /* out[i] = start + i * step for a contiguous `out`. */
  void (*arange)(ah_tensor* out, double start, double step);
  /* out[i] = bytes[i] * scale + shift for a contiguous `out`. */
  void (*from_bytes)(ah_tensor* out, const uint8_t* bytes, double scale, double shift);

  /* For floats; not prod. */
  double (*reduce_all)(int32_t op, const ah_tensor* a);
  int32_t (*reduce)(int32_t op, ah_tensor* out, const ah_tensor* a, int32_t dim, int32_t keep);
  /* Running sums, or products if `product` is set. */
  int32_t (*running)(ah_tensor* out, const ah_tensor* a, int32_t dim, int32_t product);
  /* int64 positions from 1. The dimension must not be empty. */
  int32_t (*arg_max)(ah_tensor* out, const ah_tensor* a, int32_t dim, int32_t smallest, int32_t keep);
  /* Both operands have 1 or 2 dimensions; a vector is a row on the left and a column on the right. */
  int32_t (*matmul)(ah_tensor* out, const ah_tensor* a, const ah_tensor* b, int32_t transpose_a, int32_t transpose_b,
                    double alpha, int32_t accumulate);
  int32_t (*softmax)(ah_tensor* out, const ah_tensor* a);
  /* Mean loss of the rows of scores with labels 1 .. columns; `grad` may be null, empty or the scores. */
  int32_t (*cross_entropy)(double* loss, ah_tensor* grad, const ah_tensor* scores, const ah_tensor* labels);
  /* Functions of host/kernel/indexed.hpp for contiguous tensors; the index of rows has one dimension. */
  int32_t (*take_rows)(ah_tensor* out, const ah_tensor* from, int32_t dim, const ah_tensor* index);
  int32_t (*add_rows)(ah_tensor* to, const ah_tensor* index, const ah_tensor* rows, int32_t put);
  int32_t (*gather)(ah_tensor* out, const ah_tensor* from, int32_t dim, const ah_tensor* index);
  int32_t (*scatter)(ah_tensor* to, int32_t dim, const ah_tensor* index, const ah_tensor* from, int32_t add);
  int32_t (*nonzero)(ah_tensor* out, const ah_tensor* a);
  /* Either `values` or `positions` may be null. */
  int32_t (*sort)(ah_tensor* values, ah_tensor* positions, const ah_tensor* a, int32_t descending);
  int32_t (*search)(ah_tensor* out, const ah_tensor* sorted, const ah_tensor* values, int32_t right);
  /* AH_TENSOR_INDEX: point context->bad_row is near to no row. */
  int32_t (*nearest_rows)(ah_tensor* out, const ah_tensor* points, const ah_tensor* rows);
  int32_t (*is_finite)(const ah_tensor* a);
  /* The shapes must be equal. */
  int32_t (*all_close)(const ah_tensor* a, const ah_tensor* b, double rtol, double atol, int32_t nan_equal);
  /* XXH64 of the element type, the shape and the elements in row-major order; `a` is contiguous. */
  uint64_t (*hash)(const ah_tensor* a);

  int32_t (*optimiser_parts)(const ah_optimiser* o);
  double (*optimiser_fill)(const ah_optimiser* o);
  double (*learning_rate)(const ah_optimiser* o, int64_t t);
  /* All tensors are contiguous, of one size and element type. */
  void (*optimise)(const ah_optimiser* o, double lr, int64_t made, const ah_tensor* grad, ah_tensor* state1,
                   ah_tensor* state2, ah_tensor* weights);
  /* Uses 1 .. 256 threads for large kernels; results are the same for any number. */
  void (*set_threads)(ah_tensor_context* context, int32_t threads);
} ah_tensor_api;
