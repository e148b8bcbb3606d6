#pragma once
#include "bindings/modules/array/ffi_tensor.h"
#include "host/kernel/draw.hpp"   /* Distribution */
#include "host/kernel/linalg.hpp" /* Obstacle */
/* FFI text "ffi/linalg", on top of ffi_tensor.h: decompositions of matrices, random elements. The
   functions allocate an `out`. Lua ensures that operands are row-major and have matching shapes and types. No function
   calls Lua. */

/* Status of a decomposition, beside those of ffi_tensor.h: host/kernel/linalg.hpp's Obstacle. */
enum { AH_LINALG_FAULT = 100 };

typedef struct ah_linalg_fault {
  int64_t matrix, pivot; /* from 0 */
  double value;
} ah_linalg_fault;

/* A source of random elements: Source of host/kernel/draw.hpp. */
typedef struct ah_random {
  uint64_t seed, drawn;
  uint32_t stream;
} ah_random;

typedef struct ah_linalg_api {
  /* The functions of host/kernel/linalg.hpp for batches of matrices in the last two dimensions. They fill `fault` when
     the status is AH_LINALG_FAULT + an Obstacle. */
  int32_t (*lu)(ah_linalg_fault* fault, ah_tensor* p, ah_tensor* l, ah_tensor* u, const ah_tensor* a);
  int32_t (*solve)(ah_linalg_fault* fault, ah_tensor* x, const ah_tensor* a, const ah_tensor* b);
  int32_t (*determinant)(ah_linalg_fault* fault, ah_tensor* det, ah_tensor* sign, ah_tensor* log, const ah_tensor* a);
  int32_t (*cholesky)(ah_linalg_fault* fault, ah_tensor* l, const ah_tensor* a);
  int32_t (*qr)(ah_linalg_fault* fault, ah_tensor* q, ah_tensor* r, const ah_tensor* a, int32_t full);
  /* With null u and vt only the singular values. */
  int32_t (*svd)(ah_linalg_fault* fault, ah_tensor* u, ah_tensor* s, ah_tensor* vt, const ah_tensor* a, int32_t full);
  /* With null v only the eigenvalues. */
  int32_t (*eigh)(ah_linalg_fault* fault, ah_tensor* w, ah_tensor* v, const ah_tensor* a);

  /* The functions of host/kernel/draw.hpp, into an existing row-major tensor; they add the used draws to from->drawn.
   */
  int32_t (*draw)(ah_tensor* out, ah_random* from, int32_t distribution, double a, double b);
  int32_t (*draw_order)(ah_tensor* out, ah_random* from, int64_t n);
  /* AH_TENSOR_SHAPE: too few weights are above 0. Weights are float64. */
  int32_t (*draw_weighted)(ah_tensor* out, ah_random* from, const ah_tensor* weights, int32_t repeated);
} ah_linalg_api;
