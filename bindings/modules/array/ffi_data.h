#pragma once
#include <stdint.h>
/* FFI text "ffi/data": rows of bytes shared by nodes, and gathering rows by position. Plain C for ffi.cdef, which skips
   lines that start with '#'. Positions count from 1. No function calls Lua; a function fails only as its comment
   states. */

/* Read-only rows of bytes (images, labels), shared by all nodes of the process. All-zero bytes are an empty set. */
typedef struct ah_rows {
  uint64_t holder_[2]; /* keeps the bytes alive; constructed in place when bytes_ is set */
  const uint8_t* bytes_;
  double scale, shift; /* the value of an element is byte * scale + shift */
  int32_t n, width;    /* rows, elements in each */
  int32_t ndim;        /* of a batch: 2 for rows, 1 for single elements (width 1) */
} ah_rows;

/* Positions of rows: this head, then n numbers of type int32_t. Passed as void*, because the JIT does not compile
   pointers into a struct of variable length. */
typedef struct ah_positions {
  int32_t n;
} ah_positions;

typedef struct ah_data_api {
  void (*release)(ah_rows* rows);
  /* Writes the values of the rows one after the other as float32 or float64 (type: a Dtype). Returns 0, or the index
     (from 1) in `positions` of the first position that is no row; `out` is then written up to that row. */
  int64_t (*gather_rows)(const ah_rows* rows, const void* positions, int32_t type, void* out);
  /* The same for n rows of row_bytes bytes, unchanged. */
  int64_t (*gather)(const void* from, int64_t n, int64_t row_bytes, const void* positions, void* out);
  /* Fills `positions` with the positions first .. first + positions->n - 1 of the order of n elements that
     host/data/content/shuffle.hpp defines. */
  void (*shuffled)(double seed, double epoch, int32_t n, int32_t first, void* positions);
} ah_data_api;
