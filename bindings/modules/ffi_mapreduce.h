#pragma once
#include <stdint.h>
/* FFI text "ffi/mapreduce": the rows of a task, by the batch on the way in and one by one on the way out. Plain C for
   ffi.cdef, which skips lines that start with '#'. Streams belong to the node's present task and go with it. A call
   that fails returns NULL or -1; actor.c.mapreduce's fail() raises why. */

/* As host/mapreduce/rows/row.hpp's RowValue. */
typedef struct ah_mr_value {
  uint32_t tag; /* 0 nil, 1 false, 2 true, 3 number, 4 text, 5 encoded value */
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

/* As host/mapreduce/rows/stream.hpp's RowBatch; its views hold until the next one. */
typedef struct ah_mr_batch {
  uint32_t count;
  uint32_t at; /* the row that is being worked on */
  ah_mr_value first[256];
  ah_mr_value second[256];
  uint8_t pair[256]; /* bit 0: a pair; bit 1: its key is that of the row before */
} ah_mr_batch;

/* As host/mapreduce/rows/flat_table.hpp's FlatTable. */
typedef struct ah_mr_flat {
  uint32_t shape;
  uint32_t count;
  ah_mr_value values[64];
} ah_mr_flat;

typedef struct ah_mr_source ah_mr_source;
typedef struct ah_mr_sink ah_mr_sink;

/* Matches of a pattern in a text that Lua keeps, some at a time. */
typedef struct ah_mr_matches {
  const char* bytes[64];
  int64_t sizes[64];
  const char* at; /* where to go on */
  const char* stop;
  const uint8_t* wanted; /* 256 of them: 1 for the characters of a match */
  uint32_t change;       /* 1: matches are given in lower case, 2: in upper case */
} ah_mr_matches;

/* As host/mapreduce/rows/combine_slot.hpp's CombineSlot. A number may be written in place: tag 3 and the number. */
typedef struct ah_mr_slot {
  uint64_t hash;
  double number;
  uint64_t word;
  uint32_t key_size;
  uint8_t key_tag;
  uint8_t tag; /* of the value, as in ah_mr_value */
  uint16_t unused;
} ah_mr_slot;

/* As host/mapreduce/rows/sampler.hpp's RowSampler. */
typedef struct ah_mr_sampler {
  double fraction;
  double seed;
  uint32_t salt;
  uint32_t replacement; /* 1: rows may come more than once */
} ah_mr_sampler;

/* How CSV is read, as host/mapreduce/files/csv_rows.hpp has it. */
typedef struct ah_mr_csv {
  const char* const* names; /* of columns */
  const char* const* typed; /* columns whose kinds are given */
  const uint8_t* kinds;     /* theirs: 0 any, 1 text, 2 number, 3 boolean */
  ah_mr_value missing;      /* bytes and size of an encoded value */
  uint32_t names_count;
  uint32_t kinds_count;
  uint32_t kind; /* of the other columns */
  uint32_t header;
  char separator;
} ah_mr_csv;

/* What one task reads. */
typedef struct ah_mr_split {
  const char* path; /* or a URL */
  uint32_t kind;    /* 0 lines of a part, 1 lines of a whole file, 2 lines of a URL, 3 the path and the whole content */
  uint32_t skip;    /* 1: what cannot be read is left out and counted */
  double from;      /* of a part, in bytes */
  double to;
  double size;         /* of the file when the job was planned; below 0 where that is not known */
  double seconds;      /* that a server may be silent */
  const char* ca_file; /* of certificates that servers are checked against; NULL: the environment's or the system's */
  uint32_t format;     /* of lines: 0 each is a row, 1 CSV, 2 JSON lines */
  const ah_mr_csv* csv;
} ah_mr_split;

/* Where and how a save writes, as host/mapreduce/files/save_folder.hpp and file_sink.hpp have it. */
typedef struct ah_mr_save {
  const char* target;
  const char* staging;
  const char* id;
  const char* extension;    /* ".gz", ...; "" */
  const char* const* names; /* of CSV's columns */
  uint32_t names_count;
  uint32_t overwrite;
  uint32_t format; /* 0 text, 1 CSV, 2 JSON lines, 3 rows as they are, for row_file */
  char separator;
} ah_mr_save;

/* As host/mapreduce/files/save_folder.hpp's SavedPart. */
typedef struct ah_mr_part {
  char name[64];
  double rows;
  double bytes;
} ah_mr_part;

typedef struct ah_mapreduce_api {
  /* Lines of files, or a whole file. */
  ah_mr_source* (*split)(const ah_mr_split* split);
  /* first + step * i for i in from .. to-1 */
  ah_mr_source* (*range)(double first, double step, double from, double to);
  /* The rows that the present task needs of its k-th dependency. */
  ah_mr_source* (*needed)(uint32_t k);
  /* The action's result: the final stage's rows, in order of tasks. */
  ah_mr_source* (*results)(void);
  /* Those of one of its tasks, from 0. */
  ah_mr_source* (*results_of)(uint32_t task);
  /* A sink in memory that buffer_rows turns into a source. */
  ah_mr_sink* (*buffer)(void);
  ah_mr_source* (*buffer_rows)(ah_mr_sink* buffer);

  ah_mr_batch* (*batch)(ah_mr_source* source);
  /* The task has read so many rows that came from no source. */
  void (*count_rows)(double rows);
  /* The next batch's rows: how many, 0 at the end. */
  int32_t (*next)(ah_mr_source* source);

  /* What the present task puts out: rows as they come, or spread by key. */
  ah_mr_sink* (*rows)(void);
  ah_mr_sink* (*buckets)(uint32_t buckets);
  int32_t (*put)(ah_mr_sink* sink, const ah_mr_row* row);

  /* Combined by key: by a native combiner ("sum", ...) or, with "", by Lua through its slots. As the task's output in
     so many buckets; 0: to be read again with `combined`. */
  ah_mr_sink* (*combine)(const char* native, uint32_t buckets);
  /* Takes a key, whose place in the table comes from memory meanwhile; how many wait for `locate`, at most 64, or -1.
   */
  int32_t (*take)(ah_mr_sink* sink, const ah_mr_value* key);
  /* The slots of all keys that wait, in their order; the same key has the same slot. Valid until the next call. A fresh
     one has tag 0. NULL on failure. */
  ah_mr_slot** (*locate)(ah_mr_sink* sink);
  int32_t (*set_slot)(ah_mr_sink* sink, ah_mr_slot* slot, const ah_mr_value* value);
  void (*get_slot)(const ah_mr_slot* slot, ah_mr_value* value);
  /* The rows of `source` through a native operation: "words", "lower", "upper", "one", "tonumber", ... */
  ah_mr_source* (*through)(ah_mr_source* source, const char* native);
  /* All rows of `source` into `sink`. */
  int32_t (*pour)(ah_mr_sink* sink, ah_mr_source* source);
  /* What a sink of combine(.., 0) has combined. Where the combiner is in Lua and the table has spilled, equal keys may
     follow each other: batch.pair is 3 where the key is that of the row before. */
  ah_mr_source* (*combined)(ah_mr_sink* sink);

  int32_t (*match)(ah_mr_matches* matches);

  /* How often the sample has row number `row` (from 0) of a task (from 1). */
  int32_t (*draw)(const ah_mr_sampler* sampler, double task, double row);
  ah_mr_source* (*sample)(ah_mr_source* source, const ah_mr_sampler* sampler, double task);

  /* A part (from 0) of what is saved, a sink; its end says what it is. */
  ah_mr_sink* (*part)(const ah_mr_save* save, uint32_t part);
  int32_t (*finish_part)(ah_mr_sink* part, ah_mr_part* out);

  /* As `needed`, but one bucket of a wide dependency, whichever task this is. */
  ah_mr_source* (*needed_of)(uint32_t k, uint32_t bucket);
  /* What the present task puts out: pairs by key; rows into the bucket named with `into` (0 at first); rows into bucket
     0 and a sample of at most so many of them into bucket 1; rows by the range of their first value, of which
     `splitters` gives the borders. */
  ah_mr_sink* (*keyed)(uint32_t buckets);
  ah_mr_sink* (*placed)(uint32_t buckets);
  int32_t (*into)(ah_mr_sink* placed, uint32_t bucket);
  ah_mr_sink* (*sampled)(uint32_t most);
  /* From what `sampled` has sampled, borders of so many ranges as rows. */
  int32_t (*splitters)(ah_mr_source* samples, ah_mr_sink* to, uint32_t ranges, uint32_t descending);
  ah_mr_sink* (*ranges)(ah_mr_source* splitters, uint32_t descending);
  /* A pair of the key and the row's bytes, for a sort by that key. */
  int32_t (*put_under)(ah_mr_sink* sink, const ah_mr_value* key, const ah_mr_row* row);
  /* A sink that sorts what the task reads itself, by the first value: order 0 ascending, 1 descending, 2 by hash.
     `rows`: 0 any, 1 those of put_under, which come back without the key, 2 any, by all of their bytes, for set_of. It
     may take one of `parts` parts of the task's memory. */
  ah_mr_sink* (*sorter)(uint32_t order, uint32_t rows, uint32_t parts);
  ah_mr_source* (*sorted)(ah_mr_sink* sorter);
  /* The rows of several sorters by hash, key after key; batch.pair then is 1, +2 where the key is that of the row
     before, +4 for each sorter before the row's own. */
  ah_mr_source* (*groups)(ah_mr_sink** sorters, uint32_t count);
  /* Distinct rows: operation 0 what both have, 1 what the first has and the second has not. */
  ah_mr_source* (*set_of)(ah_mr_sink* first, ah_mr_sink* second, uint32_t operation);

  /* The table of an encoded value as flat_table.hpp has it: its shape, or 0; and a shape's text. Its values hold until
     the next call. */
  uint32_t (*flat)(const ah_mr_value* value, ah_mr_flat* out);
  void (*flat_shape)(uint32_t shape, ah_mr_value* text);
  /* A part (from 0) of the checkpoint `id` in a folder. */
  ah_mr_source* (*row_file)(const char* folder, const char* id, uint32_t part);

  /* As host/mapreduce/rows/short_texts.hpp has them: texts of at most 15 bytes, 16384 places. */
  int32_t (*find_text)(const char* bytes, int64_t size);
  void (*keep_text)(int32_t place, const char* bytes, int64_t size);
} ah_mapreduce_api;
