#include "embedding/foreign_rows.h"

#include "base/file_kind.h"
#include "base/memory.h"
#include "embedding/foreign_npy.h"
#include "embedding/foreign_table.h"
#include "embedding/foreign_tensor.h"
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
        return refuse(why, "is %s with %zu values a row; expected 1 to %d", f->what, f->columns, FOREIGN_MOST_COLUMNS);
    if (!checked_mul(f->rows, f->columns, &values) || !checked_mul(values, value, &bytes) || start > end ||
        bytes != end - start)
        return refuse(why, "is %s of %zu x %zu values of %d bytes, but the file has %llu bytes of values; was it written "
                           "completely?", f->what, f->rows, f->columns, (int)value,
                      (unsigned long long)(start > end ? 0 : end - start));
    f->start = start;
    f->row_step = by_column ? value : f->columns * value;
    f->value_step = by_column ? f->rows * value : value;
    return !by_column || load(f, why);
}

/* --- .fvecs ------------------------------------------------------------------------------------------------------- */

/* The format has no signature: each row is the number of its values, then the values. */
static int is_fvecs(const foreign_rows *f, const unsigned char *start, size_t size) {
    uint64_t values = size >= 4 ? le32(start) : 0, row = 4 + 4 * values;
    return values >= 1 && values <= FOREIGN_MOST_COLUMNS && f->from.size % row == 0;
}

static int read_fvecs(foreign_rows *f, text *why) {
    unsigned char start[4];
    if (!source_read(&f->from, 0, start, 4, why)) return 0;
    f->what = "a .fvecs file";
    f->columns = le32(start), f->rows = (size_t)(f->from.size / (4 + 4 * (uint64_t)f->columns));
    f->type = NUMBER_F32, f->prefixed = 1;
    f->start = 4, f->value_step = 4, f->row_step = 4 + 4 * (uint64_t)f->columns;
    return 1;
}

/* --- the kind of a file ------------------------------------------------------------------------------------------- */

#define SAVE_NPY "numpy.save(\"rows.npy\", numpy.asarray(rows, \"float32\"))"

/* Files of tables that other programs read, and how to make rows of them. */
static const struct { const char *start, *what, *how; } OTHERS[] = {
    {"PAR1", "a Parquet file", "pandas.read_parquet(FILE).to_csv(\"rows.csv\", index=False)"},
    {"ARROW1", "an Arrow file", "pandas.read_feather(FILE).to_csv(\"rows.csv\", index=False)"},
    {"FEA1", "a Feather file", "pandas.read_feather(FILE).to_csv(\"rows.csv\", index=False)"},
    {"\x89HDF", "an HDF5 file", "read it with h5py, then " SAVE_NPY},
    {"MATLAB 5.0", "a MATLAB file", "read it with scipy.io.loadmat, then " SAVE_NPY},
    {"SQLite format 3", "a database of SQLite", "select the rows, then " SAVE_NPY},
};

static int starts(const unsigned char *bytes, size_t size, const char *with) {
    return size >= strlen(with) && memcmp(bytes, with, strlen(with)) == 0;
}

static int refuse_kind(const unsigned char *start, size_t size, text *why) {
    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++)
        if (starts(start, size, OTHERS[i].start))
            return refuse(why, "is %s, which is not read; save the rows in Python: %s", OTHERS[i].what, OTHERS[i].how);
    const file_kind *kind = file_kind_of(start, size);
    if (kind && kind->is == FILE_JSON) return refuse(why, "is JSON text; save the rows in Python: %s", SAVE_NPY);
    if (kind && kind->is == FILE_PICTURE)
        return refuse(why, "is %s, not rows of numbers; reid embed makes embeddings of images", kind->what);
    if (kind) return refuse(why, "is %s, not rows of numbers", kind->what);
    return 1;
}

/* Text has no zero byte, unless it is UTF-16. */
static int is_text(const unsigned char *start, size_t size) {
    return text_is_utf16((const char *)start, size) || !memchr(start, 0, size);
}

static int read_any(foreign_rows *f, const char *path, text *why) {
    unsigned char start[FILE_KIND_START];
    size_t size = f->from.size < sizeof start ? (size_t)f->from.size : sizeof start;
    if (!size) return refuse(why, "is empty");
    if (!source_read(&f->from, 0, start, size, why)) return 0;
    if (starts(start, size, "\x93NUMPY")) return foreign_npy_read(f, why);
    if (starts(start, size, "PK\3\4") && foreign_npz_is(f)) return foreign_npz_read(f, why);
    if (foreign_tensor_is(start, size)) return foreign_tensor_read(f, path, start, size, why);
    if (is_fvecs(f, start, size)) return read_fvecs(f, why);
    if (!refuse_kind(start, size, why)) return 0;
    if (is_text(start, size)) return foreign_table_read(f, path, why);
    return refuse(why, "its format is unknown; expected .npy, .npz, .csv, .fvecs, .pt or safetensors");
}

int foreign_rows_open(foreign_rows *f, const char *path, text *why) {
    memset(f, 0, sizeof *f);
    text_clear(why);
    if (!source_open(&f->from, path, why)) return 0;
    if (!read_any(f, path, why)) return why->len ? 0 : refuse(why, "cannot be read");
    f->buffer = mem_array(f->columns, VALUE_BYTES[f->type]);
    return f->buffer || text_no_memory(why);
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
    if (!source_read(&f->from, at, f->buffer, f->columns * value, why)) return 0;
    for (size_t i = 0; i < f->columns; i++) to[i] = value_of(f, f->buffer + i * value);
    return 1;
}
