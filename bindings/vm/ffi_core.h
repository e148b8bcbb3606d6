#pragma once
#include <stdint.h>
/* FFI text "ffi/core": time and seeded random numbers. Plain C for ffi.cdef, which skips lines that start with '#'. */

/* The state of one generator, laid out as Rng of host/base/random.hpp; Lua stores it as a value. */
typedef struct ah_rng {
  uint64_t words[6];
} ah_rng;

typedef struct ah_core_api {
  /* Seconds of the run's clock; the argument is `clock` below. */
  double (*now)(const void* clock);
  const void* clock;
  void (*rng_init)(ah_rng* rng, uint64_t seed, uint64_t stream);
  /* Uniform in [0, 1). */
  double (*rng_uniform)(ah_rng* rng);
  /* Uniform integer in 0 .. bound-1, for 1 <= bound <= 2^53. */
  double (*rng_below)(ah_rng* rng, double bound);
  double (*rng_normal)(ah_rng* rng);
  double (*rng_exponential)(ah_rng* rng, double mean);
  double (*rng_gamma)(ah_rng* rng, double shape, double scale);
} ah_core_api;
