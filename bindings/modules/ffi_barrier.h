#pragma once
#include <stdint.h>
#define AH_ASKING_MAGIC 0x676e696b7361 /* "asking" */
/* FFI text "ffi/barrier": what a barrier rule is shown, and the clocks for Lua code that owns them (simulator, peers,
   tests). Plain C for ffi.cdef, which skips lines that start with '#'. Slots count the workers of one moment from 0. */

/* What a worker sees, as host/cluster/progress_sample.hpp's Seen. */
typedef struct ah_seen {
  const uint32_t* slots; /* n of them */
  uint64_t version;
  double lowest; /* smallest and greatest completed step seen, +inf and -inf when nobody is */
  double highest;
  double recheck_seconds; /* a poll: until the next draw */
  uint32_t n;
  uint32_t held; /* 1 between two polls: there is nothing new to look at */
} ah_seen;

/* The answer about one worker, as host/cluster/progress_gate.hpp's Decision. */
typedef struct ah_decision {
  uint8_t pass;
  double recheck_seconds;
  uint32_t worker; /* with a step above 0: "hold" until that worker has completed so many */
  int32_t step;
} ah_decision;

/* A batch of workers that ask. Belongs to an evaluator (actor.barrier.evaluator); whoever asks fills it before each
   call of the evaluator, which writes `decisions`. The arrays hold one entry per slot but `asking` and `decisions`. */
typedef struct ah_asking {
  uint64_t magic; /* AH_ASKING_MAGIC below, from the evaluator */
  const void* progress;
  const uint32_t* ids;
  const int32_t* steps;
  const uint8_t* busy;
  const uint8_t* alive;
  const double* pulled;
  const double* durations;
  const double* averages;
  const double* started;
  const double* asked;
  const uint32_t* asking; /* slots of the `count` workers that ask */
  ah_decision* decisions; /* one per asking worker, "hold" at first */
  double now;
  ah_seen everyone;
  uint32_t count;
  uint32_t slot;       /* of the worker that is being answered */
  uint32_t population; /* how many workers there are; everyone.n is less where nobody sees them all */
  uint32_t aggregates; /* 1 where everyone.lowest is all that is known of the others, and everyone.n is 0 */
  uint32_t buffered;   /* updates that the merge policy keeps */
  uint32_t live;       /* 1 while the pointers are good: a view that a rule has kept is refused afterwards */
  /* Set by the evaluator whenever its rule changes: */
  int32_t staleness;
  uint32_t watch;   /* 0 floor, 1 event, 2 timer, 3 worker */
  uint32_t by_step; /* 1 where workers of equal steps get the same answer */
  uint64_t version;
} ah_asking;

typedef struct ah_sampler ah_sampler;
typedef struct ah_progress ah_progress;

typedef struct ah_barrier_api {
  /* kind 0 event, 1 sticky, 2 poll every `seconds`. */
  /* Null when there is no memory, as progress_new. */
  ah_sampler* (*sampler_new)(uint32_t beta, uint32_t kind, double seconds, uint64_t seed, uint64_t salt);
  void (*sampler_free)(ah_sampler* sampler);
  /* What the worker in asking->slot sees of `from` at asking->now. */
  void (*sampler_look)(ah_sampler* sampler, const ah_asking* asking, const ah_seen* from, ah_seen* seen);
  /* How many of the seen have completed at least `step` steps; the smallest step that at least the fraction q has not
     gone beyond, +inf when nobody is seen. */
  double (*seen_passed)(const ah_asking* asking, const ah_seen* seen, double step);
  double (*seen_quantile)(const ah_asking* asking, const ah_seen* seen, double q);

  ah_progress* (*progress_new)(void);
  void (*progress_free)(ah_progress* progress);
  /* These two return 1, or 0 with the reason in `message` of `size` bytes. */
  int32_t (*progress_add)(ah_progress* progress, uint32_t id, int32_t step, char* message, uint32_t size);
  int32_t (*progress_join)(ah_progress* progress, uint32_t id, int32_t first, char* message, uint32_t size);
  /* These return 0 when the worker is not counted (unpark: not parked) and nothing changed. */
  int32_t (*progress_remove)(ah_progress* progress, uint32_t id);
  int32_t (*progress_park)(ah_progress* progress, uint32_t id);
  int32_t (*progress_unpark)(ah_progress* progress, uint32_t id);
  int32_t (*progress_start)(ah_progress* progress, uint32_t id, double now);
  int32_t (*progress_complete)(ah_progress* progress, uint32_t id, double now);
  int32_t (*progress_pulled)(ah_progress* progress, uint32_t id, double version);
  int32_t (*progress_suspect)(ah_progress* progress, uint32_t id, int32_t suspected);
  int32_t (*progress_ask)(ah_progress* progress, uint32_t id, double now);
  double (*progress_step)(const ah_progress* progress, uint32_t id); /* -1 when it is not counted */
  uint32_t (*progress_size)(const ah_progress* progress);
  uint32_t (*progress_waiting)(const ah_progress* progress);
  /* Fills `asking` with the workers whose answers are due; asks about all of them when `everybody` is 1. */
  void (*progress_begin)(ah_progress* progress, double now, int32_t everybody, ah_asking* asking);
  /* Takes the answers; the ids of those who pass are valid until the next call. */
  uint32_t (*progress_finish)(ah_progress* progress, const uint32_t** passed);
  double (*progress_next_time)(const ah_progress* progress);
} ah_barrier_api;
