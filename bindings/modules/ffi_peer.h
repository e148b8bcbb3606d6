#pragma once
#include <stdint.h>
/* FFI text "ffi/peer": values of keys that the node leads. Plain C for ffi.cdef, which skips lines that start with
   '#'. */

typedef struct ah_peer_api {
  void* node; /* what the function takes */
  /* 1: a get that gave this number would give the same value again. */
  int32_t (*still)(const void* node, double led);
} ah_peer_api;
