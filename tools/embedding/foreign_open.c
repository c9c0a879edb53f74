#include "embedding/foreign_open.h"

#include "base/file_kind.h"
#include "embedding/foreign_npy.h"
#include "embedding/foreign_table.h"
#include "embedding/foreign_tensor.h"

#include <string.h>

/* --- .fvecs ------------------------------------------------------------------------------------------------------- */

/* The format has no signature: each row is the number of its values, followed by the values. */
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

/* Files in which other programs keep tables, and how to turn them into rows. */
static const struct {
    const char *start, *what, *how;
} OTHERS[] = {
    {"PAR1", "a Parquet file", "pandas.read_parquet(FILE).to_csv(\"rows.csv\", index=False)"},
    {"ARROW1", "an Arrow file", "pandas.read_feather(FILE).to_csv(\"rows.csv\", index=False)"},
    {"FEA1", "a Feather file", "pandas.read_feather(FILE).to_csv(\"rows.csv\", index=False)"},
    {"\x89HDF", "an HDF5 file", "read it with h5py, then " SAVE_NPY},
    {"MATLAB 5.0", "a MATLAB file", "read it with scipy.io.loadmat, then " SAVE_NPY},
    {"SQLite format 3", "a SQLite database", "select the rows, then " SAVE_NPY},
};

static int starts(const unsigned char *bytes, size_t size, const char *with) {
    return size >= strlen(with) && memcmp(bytes, with, strlen(with)) == 0;
}

static int refuse_kind(const unsigned char *start, size_t size, text *why) {
    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++)
        if (starts(start, size, OTHERS[i].start))
            return refuse(why, "is %s, which is not supported; save the rows in Python: %s", OTHERS[i].what,
                          OTHERS[i].how);
    const file_kind *kind = file_kind_of(start, size);
    if (kind && kind->is == FILE_JSON)
        return refuse(why, "is JSON, which is not supported; save the rows in Python: %s", SAVE_NPY);
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
    if (read_any(f, path, why)) return 1;
    return why->len ? 0 : refuse(why, "cannot be read");
}
