#pragma once
#include <stddef.h>
#include <stdint.h>
/* FFI text "ffi/series": a job's reports. Plain C for ffi.cdef, which skips lines that start with '#'. */

typedef struct ah_series_api {
  void* node; /* the first argument of the functions */
  /* The number of the node's series with this name; -1 when there are too many. */
  int32_t (*track)(void* node, const char* name, size_t size);
  /* A step below 0: use the number of this report. */
  void (*add)(void* node, int32_t track, double step, double value);
} ah_series_api;
