/* PostgreSQL's binary formats of the types that a gallery uses: rows for COPY … (FORMAT binary), arguments of
   statements, and fields of their answers. All numbers are big-endian. */
#ifndef REID_TOOLS_PQ_BINARY_H
#define REID_TOOLS_PQ_BINARY_H

#include "base/text.h"

#include <stddef.h>
#include <stdint.h>

/* The header before the rows of a COPY, and the trailer after them. */
void binary_begin(text *t);
void binary_end(text *t);
/* The beginning of a row; as many fields must follow. */
void binary_row(text *t, int fields);

/* Fields of a row or an array, each preceded by its length. */
void binary_null(text *t);
void binary_bigint(text *t, int64_t value);
void binary_bytes(text *t, const void *bytes, size_t len); /* text or bytea */
/* A timestamptz of milliseconds since 1970. Returns 0 and writes nothing when the time is outside PostgreSQL's
   range. */
int binary_time(text *t, int64_t milliseconds);
/* pgvector's halfvec of IEEE halves in this machine's order. */
void binary_halfvec(text *t, const uint16_t *halves, int dim);
/* bytea of floats or halves in this machine's order, which are stored as little-endian; size of a value: 4 or 2. */
void binary_row_bytes(text *t, const void *values, int dim, int size);

/* The beginning of an array argument; `count` fields must follow, none of them null. */
enum { BINARY_TEXT = 25, BINARY_BIGINT = 20 }; /* the elements' oid */
void binary_array(text *t, int oid, int count);

/* A halfvec argument: the same bytes as the field, without the length. */
void binary_halfvec_argument(text *t, const uint16_t *halves, int dim);

/* NULL if a field that is not NULL is of this kind, else what is wrong, as in "is not text". Kinds: s text; b boolean;
   i whole number from 1 to 2^31 - 1; k from 1 to 2^63 - 1; c from 0 on; n any of 64 bits; r real number, only in text
   format; t time, only in binary format; y bytes. */
const char *field_misfit(char kind, int binary, const char *bytes, size_t len);

/* Fields of an answer in binary format. */
int64_t binary_to_bigint(const char *field);
int64_t binary_to_milliseconds(const char *field); /* a timestamptz; fractions of a millisecond are dropped */
/* Reads values that binary_row_bytes has written. */
void binary_to_row(const char *field, void *values, int dim, int size);

#endif
