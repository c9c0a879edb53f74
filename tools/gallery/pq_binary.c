#include "gallery/pq_binary.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* timestamptz counts microseconds since 2000, from 4714 BC to 294276. */
#define MILLISECONDS_TO_2000 INT64_C(946684800000)
#define FIRST_TIME (INT64_C(-211813488000000) + MILLISECONDS_TO_2000)
#define END_OF_TIME (INT64_C(9223371331200000) + MILLISECONDS_TO_2000)

enum { HALFVEC_HEAD = 4, PIECE = 1024 };

static void add_number(text *t, uint64_t value, int bytes) {
    char out[8];
    for (int i = 0; i < bytes; i++) out[i] = (char)(unsigned char)(value >> 8 * (bytes - 1 - i));
    text_add(t, out, (size_t)bytes);
}

void binary_begin(text *t) {
    static const char signature[11] = {'P', 'G', 'C', 'O', 'P', 'Y', '\n', (char)0xff, '\r', '\n', 0};
    text_add(t, signature, sizeof signature);
    add_number(t, 0, 4); /* flags */
    add_number(t, 0, 4); /* bytes of an extension of this header */
}

void binary_end(text *t) { add_number(t, UINT16_MAX, 2); }
void binary_row(text *t, int fields) { add_number(t, (uint64_t)fields, 2); }
void binary_null(text *t) { add_number(t, UINT32_MAX, 4); }

void binary_bigint(text *t, int64_t value) {
    add_number(t, 8, 4);
    add_number(t, (uint64_t)value, 8);
}

void binary_bytes(text *t, const void *bytes, size_t len) {
    add_number(t, len, 4);
    text_add(t, bytes, len);
}

int binary_time(text *t, int64_t milliseconds) {
    if (milliseconds < FIRST_TIME || milliseconds >= END_OF_TIME) return 0;
    binary_bigint(t, (milliseconds - MILLISECONDS_TO_2000) * 1000);
    return 1;
}

void binary_halfvec_argument(text *t, const uint16_t *halves, int dim) {
    unsigned char piece[2 * PIECE];
    add_number(t, (uint64_t)dim, 2);
    add_number(t, 0, 2); /* reserved */
    for (int from = 0; from < dim; from += PIECE) {
        int n = dim - from < PIECE ? dim - from : PIECE;
        for (int i = 0; i < n; i++) {
            piece[2 * i] = (unsigned char)(halves[from + i] >> 8);
            piece[2 * i + 1] = (unsigned char)halves[from + i];
        }
        text_add(t, piece, 2 * (size_t)n);
    }
}

void binary_halfvec(text *t, const uint16_t *halves, int dim) {
    add_number(t, HALFVEC_HEAD + 2 * (uint64_t)dim, 4);
    binary_halfvec_argument(t, halves, dim);
}

/* Copies values, with their bytes reversed on big-endian machines. */
static void reorder(void *to, const void *from, int dim, int size) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    for (int i = 0; i < dim; i++)
        for (int k = 0; k < size; k++)
            ((char *)to)[(ptrdiff_t)i * size + k] = ((const char *)from)[(ptrdiff_t)i * size + size - 1 - k];
#else
    memcpy(to, from, (size_t)dim * (size_t)size);
#endif
}

void binary_row_bytes(text *t, const void *values, int dim, int size) {
    char piece[4 * PIECE];
    add_number(t, (uint64_t)dim * (uint64_t)size, 4);
    for (int from = 0; from < dim; from += PIECE) {
        int n = dim - from < PIECE ? dim - from : PIECE;
        reorder(piece, (const char *)values + (ptrdiff_t)from * size, n, size);
        text_add(t, piece, (size_t)n * (size_t)size);
    }
}

void binary_array(text *t, int oid, int count) {
    add_number(t, count > 0, 4); /* dimensions */
    add_number(t, 0, 4);         /* 1 if there are nulls */
    add_number(t, (uint64_t)oid, 4);
    if (!count) return;
    add_number(t, (uint64_t)count, 4);
    add_number(t, 1, 4); /* the first index */
}

int64_t binary_to_bigint(const char *field) {
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) value = value << 8 | (unsigned char)field[i];
    return (int64_t)value;
}

/* Reads a whole number. Returns 0 if the field is not one. */
static int take_whole(int binary, const char *bytes, size_t len, int64_t *out) {
    long long value;
    if (binary && len != 8) return 0;
    if (!binary && !parse_int(bytes, LLONG_MIN, LLONG_MAX, &value)) return 0;
    *out = binary ? binary_to_bigint(bytes) : value;
    return 1;
}

static const char *whole_misfit(char kind, int binary, const char *bytes, size_t len) {
    int64_t value;
    if (!take_whole(binary, bytes, len, &value)) return "is not a whole number of 64 bits";
    if (kind == 'i' && (value < 1 || value > INT_MAX)) return "is not a number from 1 to 2147483647";
    if (kind == 'k' && value < 1) return "is less than 1";
    return kind == 'c' && value < 0 ? "is negative" : NULL;
}

/* PostgreSQL's infinity and -infinity are outside the range, too. */
static int is_time(int binary, const char *bytes, size_t len) {
    if (!binary || len != 8) return 0;
    const int64_t milliseconds = binary_to_milliseconds(bytes);
    return milliseconds >= FIRST_TIME && milliseconds < END_OF_TIME;
}

static int is_real(int binary, const char *bytes, size_t len) {
    char *end;
    if (binary || !len || *bytes == ' ') return 0;
    strtod(bytes, &end);
    return end == bytes + len;
}

const char *field_misfit(char kind, int binary, const char *bytes, size_t len) {
    switch (kind) {
    case 's': return memchr(bytes, 0, len) ? "is not text" : NULL;
    case 'b': return !binary && len == 1 && (*bytes == 't' || *bytes == 'f') ? NULL : "is not true or false";
    case 'r': return is_real(binary, bytes, len) ? NULL : "is not a number";
    case 't': return is_time(binary, bytes, len) ? NULL : "is not a time";
    case 'y': return NULL;
    default: return whole_misfit(kind, binary, bytes, len);
    }
}

int64_t binary_to_milliseconds(const char *field) {
    int64_t microseconds = binary_to_bigint(field);
    return microseconds / 1000 - (microseconds % 1000 < 0) + MILLISECONDS_TO_2000;
}

void binary_to_row(const char *field, void *values, int dim, int size) { reorder(values, field, dim, size); }
