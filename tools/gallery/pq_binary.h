/* PostgreSQL's binary formats of the types that a gallery has: rows for COPY … (FORMAT binary), arguments of
   statements, and fields of their answers. All numbers are big-endian. */
#ifndef REID_TOOLS_PQ_BINARY_H
#define REID_TOOLS_PQ_BINARY_H

#include "base/text.h"

#include <stddef.h>
#include <stdint.h>

/* What comes before the rows of a COPY and behind them. */
void binary_begin(text *t);
void binary_end(text *t);
/* A row of so many fields, which follow. */
void binary_row(text *t, int fields);

/* Fields, of a row or of an array: each with its length before it. */
void binary_null(text *t);
void binary_bigint(text *t, int64_t value);
void binary_bytes(text *t, const void *bytes, size_t len); /* a text, or bytea */
/* A timestamptz of milliseconds since 1970. Returns 0 when there is no such time in PostgreSQL; nothing is written. */
int binary_time(text *t, int64_t milliseconds);
/* pgvector's halfvec of IEEE halves in this machine's order. */
void binary_halfvec(text *t, const uint16_t *halves, int dim);
/* bytea of floats or halves in this machine's order, which become little-endian; size: 4 or 2, of a value. */
void binary_row_bytes(text *t, const void *values, int dim, int size);

/* An argument that is an array: `count` fields follow, without nulls. */
enum { BINARY_TEXT = 25, BINARY_BIGINT = 20 }; /* the oid of what is in it */
void binary_array(text *t, int oid, int count);

/* An argument that is one halfvec: a field without its length. */
void binary_halfvec_argument(text *t, const uint16_t *halves, int dim);

/* Fields of an answer. */
int64_t binary_to_bigint(const char *field);
int64_t binary_to_milliseconds(const char *field); /* a timestamptz; what is below a millisecond is cut off */
/* What binary_row_bytes has written. */
void binary_to_row(const char *field, void *values, int dim, int size);

#endif
