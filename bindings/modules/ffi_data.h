#pragma once
#include <stdint.h>
/* FFI text "ffi/data": rows of bytes that nodes share, and gathering rows by position. Plain C for ffi.cdef, which
   skips lines that start with '#'. Positions count from 1. None of these calls Lua or fails but as its comment says. */

/* Read-only rows of bytes (images, labels), which all nodes of the process share. All-zero bytes are no rows. */
typedef struct ah_rows {
  uint64_t holder_[2]; /* what keeps the bytes, constructed in place when bytes_ is set */
  const uint8_t* bytes_;
  double scale, shift; /* an element means byte * scale + shift */
  int32_t n, width;    /* rows, elements in each */
  int32_t ndim;        /* of a batch: 2 for rows, 1 for single elements (width 1) */
} ah_rows;

/* Positions of rows: this head, then n numbers of type int32_t. They are passed as void*, since the JIT does not
   compile what it takes to point into a struct of variable length. */
typedef struct ah_positions {
  int32_t n;
} ah_positions;

typedef struct ah_data_api {
  void (*release)(ah_rows* rows);
  /* Writes the meaning of the rows one after the other as float32 (type 0) or float64 (1). Returns 0, or where in
     `positions` (from 1) the first one lies that is not a row; `out` is then written up to there. */
  int64_t (*gather_rows)(const ah_rows* rows, const void* positions, int32_t type, void* out);
  /* The same for n rows of row_bytes bytes as they are. */
  int64_t (*gather)(const void* from, int64_t n, int64_t row_bytes, const void* positions, void* out);
  /* Fills `positions` with those at first .. first + positions->n - 1 of the order that host/data/shuffle.hpp gives n
     elements. */
  void (*shuffled)(double seed, double epoch, int32_t n, int32_t first, void* positions);
} ah_data_api;
