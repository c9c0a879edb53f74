#include "embedding/foreign_rows.h"

#include "base/memory.h"
#include "reid.h"

#include <stdlib.h>
#include <string.h>

static const unsigned VALUE_BYTES[] = {2, 2, 4, 8}; /* by number_type */

/* --- the shape of a table ----------------------------------------------------------------------------------------- */

/* Reads the whole file into memory, because values of one row lie far apart in it. */
static int load(foreign_rows *f, text *why) {
    if (f->memory || f->from.size > SIZE_MAX) return f->memory || text_no_memory(why);
    f->memory = mem_alloc((size_t)f->from.size);
    if (!f->memory) return text_no_memory(why);
    return source_read(&f->from, 0, f->memory, (size_t)f->from.size, why);
}

int foreign_rows_shape(foreign_rows *f, uint64_t start, uint64_t end, int by_column, text *why) {
    uint64_t values, bytes, value = VALUE_BYTES[f->type];
    if (!f->rows) return refuse(why, "is %s without rows", f->what);
    if (!f->columns || f->columns > FOREIGN_MOST_COLUMNS)
        return refuse(why, "is %s with %zu values per row; expected 1 to %d", f->what, f->columns,
                      FOREIGN_MOST_COLUMNS);
    if (!checked_mul(f->rows, f->columns, &values) || !checked_mul(values, value, &bytes) || start > end ||
        bytes != end - start)
        return refuse(why,
                      "is %s of %zu x %zu values of %d bytes, but the file has %llu bytes of values; was it written "
                      "completely?",
                      f->what, f->rows, f->columns, (int)value, (unsigned long long)(start > end ? 0 : end - start));
    f->start = start;
    f->row_step = by_column ? value : f->columns * value;
    f->value_step = by_column ? f->rows * value : value;
    return !by_column || load(f, why);
}

void foreign_rows_close(foreign_rows *f) {
    source_close(&f->from);
    free(f->memory);
    free(f->buffer);
    inputs_free(&f->names);
    memset(f, 0, sizeof *f);
}

/* --- values ------------------------------------------------------------------------------------------------------- */

static double value_of(const foreign_rows *f, const unsigned char *at) {
    unsigned char bytes[8];
    unsigned size = VALUE_BYTES[f->type];
    for (unsigned i = 0; i < size; i++) bytes[i] = at[f->big_endian ? size - 1 - i : i];
    uint32_t word = size == 4 ? le32(bytes) : size == 2 ? le16(bytes) : 0;
    uint16_t half = (uint16_t)word;
    uint64_t wide = size == 8 ? le64(bytes) : 0;
    float narrow;
    double value;
    switch (f->type) {
    case NUMBER_F16: reid_from_halves(&half, &narrow, 1); break;
    case NUMBER_BF16: word <<= 16; /* the upper half of a float32 */ /* fall through */
    case NUMBER_F32: memcpy(&narrow, &word, 4); break;
    default: memcpy(&value, &wide, 8); return value;
    }
    return narrow;
}

/* Checks the number that precedes a row of .fvecs. */
static int has_width(const foreign_rows *f, size_t row, text *why) {
    unsigned char width[4];
    if (!source_read(&f->from, row * f->row_step, width, 4, why)) return 0;
    if (le32(width) == f->columns) return 1;
    return refuse(why, "row %zu has %lu values, but row 0 has %zu; expected rows of one length", row,
                  (unsigned long)le32(width), f->columns);
}

int foreign_rows_get(foreign_rows *f, size_t row, double *to, text *why) {
    const unsigned value = VALUE_BYTES[f->type];
    const uint64_t at = f->start + row * f->row_step;
    if (f->prefixed && !has_width(f, row, why)) return 0;
    if (f->memory) {
        const unsigned char *first = (const unsigned char *)f->memory + at;
        for (size_t i = 0; i < f->columns; i++) to[i] = value_of(f, first + i * f->value_step);
        return 1;
    }
    if (!f->buffer) f->buffer = mem_array(f->columns, value);
    if (!f->buffer) return text_no_memory(why);
    if (!source_read(&f->from, at, f->buffer, f->columns * value, why)) return 0;
    for (size_t i = 0; i < f->columns; i++) to[i] = value_of(f, f->buffer + i * value);
    return 1;
}
