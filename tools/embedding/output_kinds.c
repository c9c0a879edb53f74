#include "embedding/output_kinds.h"

#include "base/source.h"
#include "embedding/npy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 1 << 14, LEAST_NUMBERS = 8 };

/* .fvecs has no magic: every row begins with its length. */
static uint64_t fvecs_rows(const source *file) {
    unsigned char at[4];
    text why = TEXT_INIT;
    uint64_t row = 0;
    if (source_read(file, 0, at, 4, &why)) row = 4 + 4 * (uint64_t)le32(at);
    int good = row > 4 && row <= (uint64_t)1 << 20 && file->size % row == 0 &&
               source_read(file, file->size - row, at, 4, &why) && 4 + 4 * (uint64_t)le32(at) == row;
    text_free(&why);
    return good ? file->size / row : 0;
}

static int is_fvecs(const char *path, const source *file, text *why) {
    return (void)path, (void)why, fvecs_rows(file) > 0;
}

/* Whether the first line is that of a .csv file of embeddings: the header or, in a later shard, which has no header, a
   row, in which only numbers follow the path and the identity. */
static int is_csv(const char *path, const source *file, text *why) {
    static const char header[] = "path,identity,e0";
    char line[LINE + 1];
    size_t size = file->size < LINE ? (size_t)file->size : LINE;
    int numbers = 0, good = source_read(file, 0, line, size, why);
    (void)path;
    line[good ? size : 0] = 0;
    if (strncmp(line, header, sizeof header - 1) == 0) return 1;
    size_t end = strcspn(line, "\r\n");
    int whole = line[end] != 0;
    line[end] = 0;
    for (char *cell = strrchr(line, ','); cell && (!whole || cell[1]); cell = strrchr(line, ',')) {
        char *rest;
        strtod(cell + 1, &rest);
        if (whole && (*rest || rest == cell + 1)) break;
        numbers += whole;
        whole = 1; /* the number at which a long line was cut does not count */
        *cell = 0;
    }
    return numbers >= LEAST_NUMBERS;
}

static uint64_t lines_of(const source *file) {
    uint64_t lines = 0;
    text why = TEXT_INIT;
    cursor c;
    cursor_begin(&c, file, 0, file->size, &why);
    for (int byte; (byte = cursor_next(&c)) >= 0;) lines += byte == '\n';
    text_free(&why);
    return lines;
}

static uint64_t npy_rows(const source *file) {
    size_t start, rows, columns, size = file->size < NPY_LONGEST_HEADER ? (size_t)file->size : NPY_LONGEST_HEADER;
    char header[NPY_LONGEST_HEADER];
    text why = TEXT_INIT;
    const text bytes = {header, size, 0};
    int good = source_read(file, 0, header, size, &why) && npy_shape(&bytes, &start, &rows, &columns);
    text_free(&why);
    return good ? rows : 0;
}

/* The number of rows in the file of this name; 0 if it is not a file of embeddings, or does not exist. */
static uint64_t rows_in(const char *path, uint64_t (*rows)(const source *), text *why) {
    source file;
    if (access(path, F_OK) != 0) return 0;
    uint64_t count = source_open(&file, path, why) ? rows(&file) : 0;
    source_close(&file);
    return count;
}

/* A list of ids is plain text without a signature. A file counts as one if the file of embeddings next to it has as
   many rows as it has lines, or if an interrupted run was replacing that file. */
static int is_ids(const char *path, const source *file, text *why) {
    static const char ending[] = ".ids.txt";
    uint64_t lines = lines_of(file);
    text npy = TEXT_INIT, fvecs = TEXT_INIT, log = TEXT_INIT;
    int stem = (int)strlen(path) - (int)(sizeof ending - 1), good = stem > 0;
    if (good) {
        text_printf(&npy, "%.*s.npy", stem, path);
        text_printf(&fvecs, "%.*s.fvecs", stem, path);
        text_printf(&log, "%.*s.npy.part.log", stem, path);
    }
    if (text_failed(&npy) || text_failed(&fvecs) || text_failed(&log)) good = text_no_memory(why);
    good = good &&
           ((lines && (rows_in(npy.s, npy_rows, why) == lines || rows_in(fvecs.s, fvecs_rows, why) == lines)) ||
            access(log.s, F_OK) == 0);
    text_free(&npy), text_free(&fvecs), text_free(&log);
    return good;
}

const output_kind NPY_FILE = {.what = "a .npy file of embeddings", .start = "\x93NUMPY", .holds = "'<f4'"};
const output_kind FVECS_FILE = {.what = "a .fvecs file of embeddings", .is = is_fvecs};
const output_kind EMBEDDINGS_JSONL = {.what = "a .jsonl file of embeddings", .start = "{\"path\": \"",
                                      .holds = "\"embeddings\": ["};
const output_kind EMBEDDINGS_CSV = {.what = "a .csv file of embeddings", .is = is_csv};
const output_kind IDS_FILE = {.what = "the list of ids of the embeddings next to it", .is = is_ids};
const output_kind META_FILE = {.what = "the metadata of embeddings", .start = "{",
                               .holds = "\"format\": \"reid-embeddings\""};
