#pragma once
#include <stddef.h>
#include <stdint.h>
/* FFI text "ffi/text": texts in UTF-8. Plain C for ffi.cdef, which skips lines that start with '#'. */

enum { AH_TEXT_WORDS = 24 };

/* Some words of a text. */
typedef struct ah_text_words {
  size_t at;                    /* where to search for the next words; 0 at first */
  int32_t first[AH_TEXT_WORDS]; /* of each word the first byte, from 1 */
  int32_t last[AH_TEXT_WORDS];
} ah_text_words;

typedef struct ah_text_api {
  /* Fills `out` with the next words; returns their number, 0 at the text's end. */
  int32_t (*words)(const char* text, size_t size, ah_text_words* out);
  int32_t (*is_ascii)(const char* text, size_t size);
  double (*characters)(const char* text, size_t size);
  double (*graphemes)(const char* text, size_t size);
} ah_text_api;
