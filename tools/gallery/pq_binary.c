#include "gallery/pq_binary.h"

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

int64_t binary_to_milliseconds(const char *field) {
    int64_t microseconds = binary_to_bigint(field);
    return microseconds / 1000 - (microseconds % 1000 < 0) + MILLISECONDS_TO_2000;
}

void binary_to_row(const char *field, void *values, int dim, int size) { reorder(values, field, dim, size); }
