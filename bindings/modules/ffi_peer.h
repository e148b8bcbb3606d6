#pragma once
#include <stdint.h>
/* FFI text "ffi/peer": values of keys that this node leads. Plain C for ffi.cdef, which skips lines that start with
   '#'. */

typedef struct ah_peer_api {
  void* node; /* the argument of `still` */
  /* 1: a get that returned this number would return the same value again. */
  int32_t (*still)(const void* node, double led);
} ah_peer_api;
