#pragma once
#include <stdint.h>

#include "host/barrier/gate.hpp"              /* Watch */
#include "host/barrier/progress_sample.hpp"   /* Resample::Kind */
#define AH_ADMISSION_BATCH_MAGIC 0x6863746162 /* "batch" */
/* FFI text "ffi/barrier": the input of barrier rules, and clocks for Lua code that owns them (simulator, peers, tests).
   Plain C for ffi.cdef, which skips lines that start with '#'. Slots number the present workers from 0. */

/* A worker's sample, as Seen of host/barrier/progress_sample.hpp. */
typedef struct ah_seen {
  const uint32_t* slots; /* n slots */
  uint64_t version;
  double lowest; /* smallest and greatest completed step in the sample; +inf and -inf for an empty sample */
  double highest;
  double recheck_seconds; /* with Resample poll: until the next draw */
  uint32_t n;
  uint32_t held; /* 1 between two draws of a poll: the sample is unchanged */
} ah_seen;

/* The decision about one worker, as Decision of host/barrier/gate.hpp. */
typedef struct ah_decision {
  uint8_t pass;
  double recheck_seconds;
  uint32_t worker; /* if step > 0: the decision is "hold" until this worker has completed `step` steps */
  int32_t step;
} ah_decision;

/* A batch of workers that request admission. Belongs to an evaluator (actor.barrier.evaluator). The caller fills it
   before each call of the evaluator, which writes `decisions`. All arrays except `waiting` and `decisions` have one
   entry per slot. */
typedef struct ah_admission_batch {
  uint64_t magic; /* AH_ADMISSION_BATCH_MAGIC, set by the evaluator */
  const void* progress;
  const uint32_t* ids;
  const int32_t* steps;
  const uint8_t* busy;
  const uint8_t* alive;
  const double* pulled;
  const double* durations;
  const double* averages;
  const double* started;
  const double* requested_at;
  const uint32_t* waiting; /* slots of the `count` workers that request admission */
  ah_decision* decisions;  /* one per requesting worker, "hold" at first */
  double now;
  ah_seen everyone;
  uint32_t count;
  uint32_t slot;       /* the worker of the rule's present decision */
  uint32_t population; /* number of workers; everyone.n is less if no node sees all of them */
  uint32_t aggregates; /* 1: of the other workers only everyone.lowest is known, and everyone.n is 0 */
  uint32_t buffered;   /* updates buffered by the merge policy */
  uint32_t live;       /* 1 while the pointers are valid; a view that a rule has stored is refused after that */
  /* The evaluator sets these when its rule changes: */
  int32_t staleness;
  uint32_t watch; /* a Watch */
  uint64_t version;
} ah_admission_batch;

typedef struct ah_sampler ah_sampler;
typedef struct ah_progress ah_progress;

typedef struct ah_barrier_api {
  /* `kind` is a Resample::Kind; only a poll has `seconds`. Returns null if memory runs out; so does progress_new. */
  ah_sampler* (*sampler_new)(uint32_t beta, uint32_t kind, double seconds, uint64_t seed, uint64_t salt);
  void (*sampler_free)(ah_sampler* sampler);
  /* Draws the sample of the worker in batch->slot from the workers `from`, at the time batch->now, into `seen`. */
  void (*sampler_sample)(ah_sampler* sampler, const ah_admission_batch* batch, const ah_seen* from, ah_seen* seen);
  /* seen_passed: the number of sampled workers with at least `step` completed steps. seen_quantile: the smallest step s
     such that at least the fraction q of the sample has completed at most s steps; +inf for an empty sample. */
  double (*seen_passed)(const ah_admission_batch* batch, const ah_seen* seen, double step);
  double (*seen_quantile)(const ah_admission_batch* batch, const ah_seen* seen, double q);

  ah_progress* (*progress_new)(void);
  void (*progress_free)(ah_progress* progress);
  /* These two return 1, or 0 with the reason in `message` of `size` bytes. */
  int32_t (*progress_add)(ah_progress* progress, uint32_t id, int32_t step, char* message, uint32_t size);
  int32_t (*progress_join)(ah_progress* progress, uint32_t id, int32_t first, char* message, uint32_t size);
  /* These return 0, and change nothing, for an unknown worker (unpark: for a worker outside the parked set). */
  int32_t (*progress_remove)(ah_progress* progress, uint32_t id);
  int32_t (*progress_park)(ah_progress* progress, uint32_t id);
  int32_t (*progress_unpark)(ah_progress* progress, uint32_t id);
  int32_t (*progress_start)(ah_progress* progress, uint32_t id, double now);
  int32_t (*progress_complete)(ah_progress* progress, uint32_t id, double now);
  int32_t (*progress_pulled)(ah_progress* progress, uint32_t id, double version);
  int32_t (*progress_suspect)(ah_progress* progress, uint32_t id, int32_t suspected);
  int32_t (*progress_request)(ah_progress* progress, uint32_t id, double now);
  double (*progress_step)(const ah_progress* progress, uint32_t id); /* -1 for an unknown worker */
  uint32_t (*progress_size)(const ah_progress* progress);
  uint32_t (*progress_waiting)(const ah_progress* progress);
  /* Fills `batch` with the workers due for a decision; with all waiting workers when `all` is 1. */
  void (*progress_begin)(ah_progress* progress, double now, int32_t all, ah_admission_batch* batch);
  /* Takes the decisions; the ids of the admitted workers are valid until the next call. */
  uint32_t (*progress_finish)(ah_progress* progress, const uint32_t** passed);
  double (*progress_next_time)(const ah_progress* progress);
} ah_barrier_api;
