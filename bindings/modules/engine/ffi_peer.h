#pragma once
#include <stdint.h>
/* FFI text "ffi/peer": values of keys that this node leads. Plain C for ffi.cdef, which skips lines that start with
   '#'. */

typedef struct ah_peer_api {
  void* node; /* the argument of `is_current` */
  /* 1: a get that returned this number would return the same value again. */
  int32_t (*is_current)(const void* node, double version);
} ah_peer_api;
