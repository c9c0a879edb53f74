/* Fuzzer for the reader of galleries that are files of embeddings. The input is a kind (.npy, .fvecs, .jsonl), then the
   contents of .meta.json, .ids.txt and the file itself, separated by the bytes FF FE. Accepted files must be consistent
   and have finite rows of unit length.

   clang -std=c99 -D_GNU_SOURCE -O1 -g -I. -fsanitize=fuzzer,address,undefined tests/fuzz/fuzz_embeddings.c
         -o build/fuzz_embeddings -lm
   build/fuzz_embeddings -dict=tests/fuzz/embeddings.dict CORPUS_DIRECTORY */
#include "gallery/gallery_file.c"
#undef MAX_SIDE_FILE
#define fail jsonl_fail /* functions of two of these files have the same name */
#include "gallery/gallery_jsonl.c"
#undef fail
#include "embedding/npy.c"
#include "embedding/source_root.c"
#include "pictures/crop_origin.c"
#include "pictures/box_text.c"
#include "gallery/store_file.c"
#include "gallery/store_format.c"
#include "gallery/store_decoders.c"
#include "gallery/store_record.c"
#include "gallery/store_entries.c"
#include "gallery/store_handle.c"
#include "gallery/store_head.c"
#include "gallery/store_walk.c"
#include "gallery/store_append.c"
#include "gallery/store_rewrite.c"
#include "gallery/gallery_store.c"
#include "gallery/store_hash.c"
#include "base/memory.c"
#include "base/text.c"
#include "base/unicode.c"
#include "base/random.c"
#include "gallery/makers.c"
#include "embedding/imported.c"
#include "base/sha256.c"
#include "base/when.c"
#define fail json_fail_at
#include "base/json.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition) \
    if (!(condition)) fprintf(stderr, "violated: %s\n", #condition), abort()

static const uint8_t *part[3];
static size_t part_size[3], said;

int file_read(const char *path, size_t limit, int regular_only, text *out, text *why) {
    (void)limit, (void)regular_only;
    int k = strstr(path, ".meta.json") ? 0 : strstr(path, ".ids.txt") ? 1 : 2;
    text_clear(why);
    text_clear(out);
    text_add(out, part[k], part_size[k]);
    return 1;
}

/* Stubs for functions that the files above call and that do not matter here. */
int file_in_folder(text *name, const char *folder, const char *file) { return !name || !folder || !file; }
int file_write_at(int fd, const void *bytes, size_t n, uint64_t offset) { return fd < 0 || !bytes || !n || !offset; }
int file_sync(int fd) { return fd < 0; }
int file_cut(int fd, uint64_t size) { return fd < 0 || !size; }
int pending_begin(pending *p, const char *path, const output_kind *kind, text *why) {
    return !p || !path || !kind || !why;
}
int pending_rename(pending *p, text *why) { return !p || !why; }
int pending_rename_new(pending *p, text *why) { return !p || !why; }
void pending_close(pending *p) { (void)p; }
int sync_folder_of(const char *path) { return !path; }
void say_error(const char *format, ...) { said += format[0] != 0; }
void say_warning(const char *format, ...) { (void)format; }
const char *shown(const char *name) { return name; }

static void split(const uint8_t *data, size_t size) {
    for (int k = 0; k < 3; k++) {
        const uint8_t *end = k < 2 ? memmem(data, size, "\xFF\xFE", 2) : NULL;
        part[k] = data;
        part_size[k] = end ? (size_t)(end - data) : size;
        size_t used = part_size[k] + (end ? 2 : 0);
        data += used, size -= used;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"a.npy", "a.fvecs", "a.jsonl"};
    gallery_file f;
    if (!size) return 0;
    split(data + 1, size - 1);
    said = 0;
    int good = gallery_file_read(&f, names[data[0] % 3]);
    MUST(good == !said);
    if (good) {
        MUST(f.id_count == f.count && f.identity_count == f.count && f.columns == (size_t)f.makers.dim);
        MUST(f.makers.models >= 1 && f.makers.models <= STORE_MODELS);
        char decoders[STORE_JPEG] = "";
        MUST(store_join_decoders(decoders, f.jpeg) && strcmp(decoders, f.jpeg) == 0);
        for (size_t i = 0; i < f.count; i++) {
            double sum = 0;
            MUST(f.ids[i] && f.identities[i]);
            const float *row = f.rows + i * f.columns;
            for (size_t k = 0; k < f.columns; k++) sum += (double)row[k] * (double)row[k];
            MUST(sum > 0 && sum < 4 * STORE_MODELS);
        }
    }
    gallery_file_free(&f);
    return 0;
}
