#pragma once
#include <stdint.h>

#include "host/mapreduce/files/csv_rows.hpp"      /* CsvKind */
#include "host/mapreduce/rows/row.hpp"            /* RowTag */
#include "host/mapreduce/rows/sort_key.hpp"       /* SortOrder */
#include "host/mapreduce/tables/group_source.hpp" /* SetOperation */
#include "host/mapreduce/tasks/file_sink.hpp"     /* RowFormat */
/* FFI text "ffi/mapreduce": the rows of a task, read in batches and written one by one. Plain C for ffi.cdef, which
   skips lines that start with '#'. Each Vm has its own table. Streams belong to the node's present task and end with
   it. A failing call returns NULL or -1; fail() of actor.c.mapreduce then raises the reason. */

/* RowValue of host/mapreduce/rows/row.hpp. */
typedef struct ah_mr_value {
  uint32_t tag; /* a RowTag */
  uint32_t spare;
  double number;
  const char* bytes; /* of text and encoded values */
  int64_t size;
} ah_mr_value;

typedef struct ah_mr_row {
  ah_mr_value first;
  ah_mr_value second; /* of a pair */
  uint32_t pair;
} ah_mr_row;

/* RowBatch of host/mapreduce/rows/stream.hpp; its views are valid until the next batch. */
typedef struct ah_mr_batch {
  uint32_t count;
  uint32_t at; /* the present row */
  ah_mr_value first[256];
  ah_mr_value second[256];
  uint8_t pair[256]; /* bit 0: a pair; bit 1: the same key as the previous row */
} ah_mr_batch;

/* FlatTable of host/mapreduce/rows/flat_table.hpp. */
typedef struct ah_mr_flat {
  uint32_t shape;
  uint32_t count;
  ah_mr_value values[64];
} ah_mr_flat;

typedef struct ah_mr_streams ah_mr_streams;
typedef struct ah_mr_source ah_mr_source;
typedef struct ah_mr_sink ah_mr_sink;

/* The change of case of matches. */
enum { AH_MR_CHANGE_NONE, AH_MR_CHANGE_LOWER, AH_MR_CHANGE_UPPER };

/* Some matches of a pattern in a text; Lua keeps the text alive. */
typedef struct ah_mr_matches {
  const char* bytes[64];
  int64_t sizes[64];
  const char* at; /* where the search continues */
  const char* stop;
  const uint8_t* wanted; /* 256 entries: 1 for the characters of a match */
  uint32_t change;       /* AH_MR_CHANGE_... */
} ah_mr_matches;

/* CombineSlot of host/mapreduce/rows/combine_slot.hpp. A number may be written in place, with its tag. */
typedef struct ah_mr_slot {
  uint64_t hash;
  double number;
  uint64_t word;
  uint32_t key_size;
  uint8_t key_tag;
  uint8_t tag; /* of the value, as in ah_mr_value */
  uint16_t unused;
} ah_mr_slot;

/* RowSampler of host/mapreduce/rows/sampler.hpp. */
typedef struct ah_mr_sampler {
  double fraction;
  double seed;
  uint32_t salt;
  uint32_t replacement; /* 1: with replacement */
} ah_mr_sampler;

/* CSV options, as in host/mapreduce/files/csv_rows.hpp. */
typedef struct ah_mr_csv {
  const char* const* names; /* of columns */
  const char* const* typed; /* columns with given kinds */
  const uint8_t* kinds;     /* their kinds: CsvKind */
  const char* const* na;    /* texts of missing values */
  ah_mr_value missing;      /* bytes and size of an encoded value */
  uint32_t names_count;
  uint32_t kinds_count;
  uint32_t na_count;
  uint32_t kind; /* of the other columns */
  uint32_t header;
  char separator;
} ah_mr_csv;

/* The kind of a split: lines of a part, lines of a whole file, lines of a URL, the path and the whole content. */
enum { AH_MR_SPLIT_PART, AH_MR_SPLIT_WHOLE, AH_MR_SPLIT_URL, AH_MR_SPLIT_CONTENT };

/* The input of one task. */
typedef struct ah_mr_split {
  const char* path; /* or a URL */
  uint32_t kind;    /* AH_MR_SPLIT_... */
  uint32_t skip;    /* 1: unreadable input is skipped and counted */
  double from;      /* of a part, in bytes */
  double to;
  double size;         /* of the file when the job was planned; below 0: unknown */
  double seconds;      /* timeout of a silent server */
  const char* ca_file; /* certificates for checking servers; NULL: from the environment or the system */
  uint32_t format;     /* of lines: a RowFormat except `rows`; text: each line is a row */
  const ah_mr_csv* csv;
} ah_mr_split;

/* The format of a save, as in host/mapreduce/tasks/file_sink.hpp. */
typedef struct ah_mr_save {
  const char* extension;    /* ".gz", ...; "" */
  const char* const* names; /* of CSV's columns */
  uint32_t names_count;
  uint32_t format; /* a RowFormat; `rows` is read by row_file */
  char separator;
} ah_mr_save;

/* SavedPart of host/mapreduce/files/save_folder.hpp. */
typedef struct ah_mr_part {
  char name[2048];
  double rows;
  double bytes;
} ah_mr_part;

/* The rows of a sorter: any rows; rows of put_under, which are returned without the key; any rows, by all of their
   bytes, for set_of. */
enum { AH_MR_SORT_ANY, AH_MR_SORT_UNDER, AH_MR_SORT_WHOLE };

typedef struct ah_mapreduce_api {
  ah_mr_streams* streams; /* the first argument of the functions below */

  /* Lines of files, or a whole file. */
  ah_mr_source* (*split)(ah_mr_streams* streams, const ah_mr_split* split);
  /* first + step * i for i in from .. to-1 */
  ah_mr_source* (*range)(ah_mr_streams* streams, double first, double step, double from, double to);
  /* The rows that the present task needs of its k-th dependency. */
  ah_mr_source* (*needed)(ah_mr_streams* streams, uint32_t k);
  /* The action's result: the final stage's rows, in order of tasks. */
  ah_mr_source* (*results)(ah_mr_streams* streams);
  /* The rows of one task of this stage, from 0. */
  ah_mr_source* (*results_of)(ah_mr_streams* streams, uint32_t task);
  /* A sink in memory; buffer_rows turns it into a source. */
  ah_mr_sink* (*buffer)(ah_mr_streams* streams);
  ah_mr_source* (*buffer_rows)(ah_mr_streams* streams, ah_mr_sink* buffer);

  ah_mr_batch* (*batch)(ah_mr_source* source);
  /* Counts rows that the task has read from no source. */
  void (*count_rows)(ah_mr_streams* streams, double rows);
  /* Reads the next batch; returns its number of rows, 0 at the end. */
  int32_t (*next)(ah_mr_streams* streams, ah_mr_source* source);

  /* The output of the present task: rows in their order, or rows distributed by key. */
  ah_mr_sink* (*rows)(ah_mr_streams* streams);
  ah_mr_sink* (*buckets)(ah_mr_streams* streams, uint32_t buckets);
  int32_t (*put)(ah_mr_streams* streams, ah_mr_sink* sink, const ah_mr_row* row);

  /* Combines rows by key with a native combiner ("sum", ...), or, for "", in Lua through slots. The result is the
     task's output in `buckets` buckets; with 0 buckets, `combined` reads it again. */
  ah_mr_sink* (*combine)(ah_mr_streams* streams, const char* native, uint32_t buckets);
  /* Takes a key and prefetches its table place. Returns the number of keys that wait for `locate`, at most 64, or -1.
   */
  int32_t (*take)(ah_mr_streams* streams, ah_mr_sink* sink, const ah_mr_value* key);
  /* The slots of all waiting keys, in their order; equal keys have the same slot. Valid until the next call. A new slot
     has tag 0. NULL on failure. */
  ah_mr_slot** (*locate)(ah_mr_streams* streams, ah_mr_sink* sink);
  int32_t (*set_slot)(ah_mr_streams* streams, ah_mr_sink* sink, ah_mr_slot* slot, const ah_mr_value* value);
  void (*get_slot)(const ah_mr_slot* slot, ah_mr_value* value);
  /* The array of a tuple as an encoded value, valid until the next call on this thread. */
  int32_t (*array_of)(ah_mr_streams* streams, const ah_mr_value* tuple, ah_mr_value* array);
  /* The rows of `source` after a native operation: "words", "lower", "upper", "one", "tonumber", ... */
  ah_mr_source* (*through)(ah_mr_streams* streams, ah_mr_source* source, const char* native);
  /* Puts all rows of `source` into `sink`. */
  int32_t (*pour)(ah_mr_streams* streams, ah_mr_sink* sink, ah_mr_source* source);
  /* The combined rows of a sink of combine(.., 0). If the combiner is in Lua and the table has spilled, equal keys may
     follow each other: batch.pair is 3 for a row with the previous row's key. */
  ah_mr_source* (*combined)(ah_mr_streams* streams, ah_mr_sink* sink);

  int32_t (*match)(ah_mr_streams* streams, ah_mr_matches* matches);

  /* How many times the sample contains row `row` (from 0) of task `task` (from 1). */
  int32_t (*draw)(const ah_mr_sampler* sampler, double task, double row);
  ah_mr_source* (*sample)(ah_mr_streams* streams, ah_mr_source* source, const ah_mr_sampler* sampler, double task);

  /* A sink for one part (from 0) of the save of open_save; finish_part reports the saved part. */
  ah_mr_sink* (*part)(ah_mr_streams* streams, const ah_mr_save* save, uint32_t part);
  /* 1 if an earlier run has completed the part, which then takes no rows. */
  int32_t (*part_ready)(ah_mr_streams* streams, ah_mr_sink* part);
  int32_t (*finish_part)(ah_mr_streams* streams, ah_mr_sink* part, ah_mr_part* out);

  /* As `needed`, for one bucket of a wide dependency, independent of the present task. */
  ah_mr_source* (*needed_of)(ah_mr_streams* streams, uint32_t k, uint32_t bucket);
  /* Outputs of the present task. keyed: pairs by key. placed: rows into the bucket last set by `into`, initially 0.
     sampled: rows into bucket 0 and a sample of at most `most` rows into bucket 1. ranges: rows by the range of their
     first value, with the borders from `splitters`. */
  ah_mr_sink* (*keyed)(ah_mr_streams* streams, uint32_t buckets);
  ah_mr_sink* (*placed)(ah_mr_streams* streams, uint32_t buckets);
  int32_t (*into)(ah_mr_streams* streams, ah_mr_sink* placed, uint32_t bucket);
  ah_mr_sink* (*sampled)(ah_mr_streams* streams, uint32_t most);
  /* Computes the borders of `ranges` ranges from the rows of `sampled`, as rows. */
  int32_t (*splitters)(ah_mr_streams* streams, ah_mr_source* samples, ah_mr_sink* to, uint32_t ranges,
                       uint32_t descending);
  ah_mr_sink* (*ranges)(ah_mr_streams* streams, ah_mr_source* splitters, uint32_t descending);
  /* Puts a pair of the key and the row's bytes, for a sort by this key. */
  int32_t (*put_under)(ah_mr_streams* streams, ah_mr_sink* sink, const ah_mr_value* key, const ah_mr_row* row);
  /* A sink that sorts rows which the task itself reads, by the first value, in a SortOrder; rows: AH_MR_SORT_... The
     sorter may use one of `parts` parts of the task's memory. */
  ah_mr_sink* (*sorter)(ah_mr_streams* streams, uint32_t order, uint32_t rows, uint32_t parts);
  ah_mr_source* (*sorted)(ah_mr_streams* streams, ah_mr_sink* sorter);
  /* The rows of several sorters by hash, key after key. batch.pair is then 1, +2 for a row with the previous row's key,
     +4 for each sorter before the row's sorter. */
  ah_mr_source* (*groups)(ah_mr_streams* streams, ah_mr_sink** sorters, uint32_t count);
  /* Distinct rows: in both inputs, or only in the first (SetOperation). */
  ah_mr_source* (*set_of)(ah_mr_streams* streams, ah_mr_sink* first, ah_mr_sink* second, uint32_t operation);

  /* flat: the table of an encoded value as in flat_table.hpp, and its shape, or 0; its values are valid until the next
     call. flat_shape: the text of a shape. */
  uint32_t (*flat)(ah_mr_streams* streams, const ah_mr_value* value, ah_mr_flat* out);
  void (*flat_shape)(ah_mr_streams* streams, uint32_t shape, ah_mr_value* text);
  /* A part (from 0) of the checkpoint `id` in a folder. */
  ah_mr_source* (*row_file)(ah_mr_streams* streams, const char* folder, const char* id, uint32_t part);

  /* Functions of host/mapreduce/rows/short_texts.hpp: texts of at most 15 bytes, 16384 places. */
  int32_t (*find_text)(ah_mr_streams* streams, const char* bytes, int64_t size);
  void (*keep_text)(ah_mr_streams* streams, int32_t place, const char* bytes, int64_t size);
} ah_mapreduce_api;
