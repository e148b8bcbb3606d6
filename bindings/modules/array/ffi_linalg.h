#pragma once
#include "bindings/modules/array/ffi_tensor.h"
#include "host/kernel/draw.hpp"   /* Distribution */
#include "host/kernel/linalg.hpp" /* Obstacle */
/* FFI text "ffi/linalg", on top of ffi_tensor.h: decompositions of matrices, and random elements of tensors. The
   calling Lua code ensures that operands are row-major and have matching shapes and types. No function calls Lua. Each
   function returns a status of ffi_tensor.h, or a fault. */

/* The status of a failed decomposition is AH_LINALG_FAULT + the Obstacle of host/kernel/linalg.hpp. */
enum { AH_LINALG_FAULT = 100 };

/* Where a decomposition failed: Fault of host/kernel/linalg.hpp. */
typedef struct ah_linalg_fault {
  int64_t matrix, pivot; /* from 0 */
  double value;
} ah_linalg_fault;

/* A source of random elements: `Source` of host/kernel/draw.hpp. `drawn` counts the used draws. */
typedef struct ah_random {
  uint64_t seed, drawn;
  uint32_t stream;
} ah_random;

typedef struct ah_linalg_api {
  /* The functions of host/kernel/linalg.hpp, for batches of matrices in the last two dimensions. `a` and `b` are the
     operands. The functions allocate all other tensors. If the status is above AH_LINALG_FAULT they fill `fault`. */
  int32_t (*lu)(ah_linalg_fault* fault, ah_tensor* p, ah_tensor* l, ah_tensor* u, const ah_tensor* a);
  int32_t (*solve)(ah_linalg_fault* fault, ah_tensor* x, const ah_tensor* a, const ah_tensor* b);
  int32_t (*determinant)(ah_linalg_fault* fault, ah_tensor* det, ah_tensor* sign, ah_tensor* log, const ah_tensor* a);
  int32_t (*cholesky)(ah_linalg_fault* fault, ah_tensor* l, const ah_tensor* a);
  int32_t (*qr)(ah_linalg_fault* fault, ah_tensor* q, ah_tensor* r, const ah_tensor* a, int32_t full);
  /* Computes only the singular values if u and vt are null. */
  int32_t (*svd)(ah_linalg_fault* fault, ah_tensor* u, ah_tensor* s, ah_tensor* vt, const ah_tensor* a, int32_t full);
  /* Computes only the eigenvalues if v is null. */
  int32_t (*eigh)(ah_linalg_fault* fault, ah_tensor* w, ah_tensor* v, const ah_tensor* a);

  /* The functions of host/kernel/draw.hpp. They fill `out`, an existing row-major tensor, and add the number of used
     draws to from->drawn. */
  int32_t (*draw)(ah_tensor* out, ah_random* from, int32_t distribution, double a, double b);
  int32_t (*draw_order)(ah_tensor* out, ah_random* from, int64_t n);
  /* `weights` are float64. Returns AH_TENSOR_SHAPE if too few weights are above 0. */
  int32_t (*draw_weighted)(ah_tensor* out, ah_random* from, const ah_tensor* weights, int32_t repeated);
} ah_linalg_api;
