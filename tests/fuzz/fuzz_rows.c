/* Fuzzer for the rows of numbers that reid import reads: .npy, .npz, .fvecs and text (first byte 0), and for the lists
   and tables of their names (other first bytes). Tensors have fuzz_checkpoint. Accepted rows must have a consistent
   shape and be readable to the last one; whatever is refused must come with a reason.

   clang -std=c99 -D_GNU_SOURCE -O1 -g -I. -fsanitize=fuzzer,address,undefined tests/fuzz/fuzz_rows.c
         -o build/fuzz_rows -lm
   build/fuzz_rows -dict=tests/fuzz/rows.dict CORPUS_DIRECTORY */
#define source_open file_source_open /* the input takes the place of files */
#include "base/source.c"
#undef source_open
int source_open(source *s, const char *path, text *why);
#include "base/crc32.c"
#include "base/file_kind.c"
#include "base/memory.c"
#include "base/order.h"
#include "base/text.c"
#include "base/random.c"
#include "base/unicode.c"
#include "base/spelling.c"
#define fail when_fail
#include "base/when.c"
#undef fail
#include "base/csv.c"
#include "pictures/inputs.c"
#define by_name member_by_name
#include "weights/zip.c"
#undef by_name
#include "embedding/row_names.c"
#define refuse_kind npy_kind
#define kind_of npy_kind_of
#include "embedding/foreign_npy.c"
#undef refuse_kind
#undef kind_of
#define take_counter table_take_counter
#define take_values table_take_values
#define take_row table_take_row
#include "embedding/foreign_table.c"
#include "embedding/foreign_rows.c"
#include "embedding/foreign_open.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition)                                                                                                \
    if (!(condition)) fprintf(stderr, "violated: %s\n", #condition), abort()

static const uint8_t *bytes;
static size_t byte_count;

/* The input. */
int source_open(source *s, const char *path, text *why) {
    MUST(path && why);
    source_memory(s, bytes, byte_count);
    return 1;
}
int file_read(const char *path, size_t limit, int regular_only, text *out, text *why) {
    (void)path, (void)limit, (void)regular_only;
    text_clear(why);
    text_clear(out);
    text_add(out, bytes, byte_count);
    return 1;
}

/* Stubs for functions that the files above call and that do not matter here. */
int foreign_tensor_is(const unsigned char *start, size_t size) { return !start || !size; }
int foreign_tensor_read(foreign_rows *f, const char *path, const unsigned char *start, size_t size, text *why) {
    return f && path && start && size && why ? 0 : 1;
}
void say_error(const char *format, ...) { (void)format; }
void say_warning(const char *format, ...) { (void)format; }
void say_info(const char *format, ...) { (void)format; }
const char *shown(const char *name) { return name; }
int interrupted(void) { return 0; }
int webp_is_readable(void) { return 0; }
int tiff_is_readable(void) { return 0; }
void reid_from_halves(const uint16_t *in, float *out, size_t count) {
    for (size_t i = 0; i < count; i++) out[i] = in[i];
}

static void check_names(const inputs *list) {
    for (size_t i = 0; i < list->count; i++) {
        const input *in = &list->at[i];
        MUST(in->path && in->path[0] && in->id && in->id[0] && in->identity && !in->failure);
    }
}

static void try_names(void) {
    inputs list = {0};
    text why = TEXT_INIT;
    int good = row_names_read(&list, "names", &why);
    MUST(good ? list.count > 0 : why.len > 0);
    check_names(&list);
    if (good && !row_names_differ(&list, &why)) MUST(why.len > 0 && list.count > 1);
    inputs_free(&list);
    text_free(&why);
}

static void try_rows(void) {
    foreign_rows f;
    text why = TEXT_INIT;
    int good = foreign_rows_open(&f, "rows", &why);
    MUST(good || why.len > 0);
    if (good) {
        MUST(f.rows > 0 && f.columns > 0 && f.columns <= FOREIGN_MOST_COLUMNS);
        MUST(f.names.count == 0 || f.names.count == f.rows);
        check_names(&f.names);
        double *row = malloc(f.columns * sizeof *row);
        for (size_t i = 0; i < f.rows; i++) {
            int read = foreign_rows_get(&f, i, row, &why);
            MUST(read || (f.prefixed && why.len > 0));
        }
        free(row);
    }
    foreign_rows_close(&f);
    text_free(&why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size) return 0;
    bytes = data + 1, byte_count = size - 1;
    (data[0] ? try_names : try_rows)();
    return 0;
}
