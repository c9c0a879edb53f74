/* Fuzzer for lists of images: lists on stdin, separated by newlines (first byte 0) or by zero bytes (1), and the tables
   of reid gallery add --list (other first bytes).

   clang -std=c99 -D_GNU_SOURCE -O1 -g -I. -fsanitize=fuzzer,address,undefined tests/fuzz/fuzz_lists.c
         -o build/fuzz_lists -lm
   build/fuzz_lists -dict=tests/fuzz/lists.dict CORPUS_DIRECTORY */
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

static int no_file(void) {
    errno = ENOENT;
    return -1;
}
#define stat(path, st) no_file() /* treats every name as an image, so that no folders are walked */
#include "pictures/inputs.c"
#include "pictures/tiff.c"
#include "pictures/webp.c"
#include "pictures/box_text.c"
#include "pictures/collect.c"
#undef stat
#include "base/library.c"
#include "base/memory.c"
#define find_columns table_columns
#include "base/csv.c"
#undef find_columns
#include "base/file_kind.c"
#include "base/source.c"
#define fail when_fail
#include "base/when.c"
#undef fail
#include "base/text.c"
#include "base/random.c"
#include "base/unicode.c"
#include "base/spelling.c"
#define find_columns list_find_columns
#include "commands/gallery_add.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition) \
    if (!(condition)) fprintf(stderr, "violated: %s\n", #condition), abort()

static const uint8_t *bytes;
static size_t byte_count, said;

/* The input. */
int file_read(const char *path, size_t limit, int regular_only, text *out, text *why) {
    (void)path, (void)limit, (void)regular_only, (void)why;
    text_clear(out);
    text_add(out, bytes, byte_count);
    return 1;
}
int stdin_read(size_t limit, text *out, text *why) { return file_read("", limit, 0, out, why); }

/* Stubs for functions that the files above call and that do not matter here. */
int gallery_add_groups(const options *o, const char *path) { return !o || !path; }
void say_error(const char *format, ...) { said += format[0] != 0; }
void say_info(const char *format, ...) { (void)format; }
void say_warning(const char *format, ...) { (void)format; }
const char *shown(const char *name) { return name; }
int boxes_read(inputs *list, const box_file *file, const char *root) { return !list || !file || !root; }
int collect_inputs(inputs *list, const options *o) { return !list || !o; }
decode_settings decoding(const options *o) { return (decode_settings){.threads = o->compute.threads}; }
double clock_seconds(void) { return 0; }
templates *templates_change(const char *place) { return place ? NULL : NULL; }
int gallery_file_is_one(const char *path) { return !path; }
int gallery_file_read(gallery_file *f, const char *path) { return !f || !path; }
void gallery_file_free(gallery_file *f) { (void)f; }
int interrupted(void) { return 0; }
int open_models(models *all, const options *o) { return !all || !o; }
void models_close(models *all) { (void)all; }
void makers_of_models(const models *all, store_meta *to) { (void)all, (void)to; }
int makers_agree(const store_meta *a, const char *from, const store_meta *b, const models *all, const char *what) {
    return !a || !from || !b || !all || !what;
}
const char *makers_nameless(const store_meta *makers) { return makers ? "" : NULL; }
void makers_note_decoders(const char *theirs, const char *path, const char *ours, const char *owner) {
    (void)theirs, (void)path, (void)ours, (void)owner;
}
const char *jpeg_decoder_name(jpeg_decoder wanted) { return wanted == JPEG_STB ? "stb_image" : "libjpeg-turbo"; }
stream_result stream_run(const stream_job *job) { return job ? STREAM_FAILED : STREAM_INTERRUPTED; }
int results_begin(int hold) { return !hold; }
int results_write(const text *t) { return t != NULL; }
int results_end(int keep) { return keep; }
templates_result templates_add(templates *t, const store_item *item, const void *row, char why[STORE_WHY]) {
    return t && item && row && why ? TEMPLATES_REFUSED : TEMPLATES_FAILED;
}
templates_result templates_add_decoders(templates *t, const char *names, char why[STORE_WHY]) {
    return t && names && why ? TEMPLATES_REFUSED : TEMPLATES_FAILED;
}
templates_result templates_commit(templates *t, const commit_rules *rules, char why[STORE_WHY]) {
    return t && rules && why ? TEMPLATES_REFUSED : TEMPLATES_FAILED;
}
void templates_close(templates *t) { (void)t; }
const store_meta *templates_info(const templates *t) { return t ? NULL : NULL; }
templates_result templates_find(templates *t, const char *id, const char **identity, char why[STORE_WHY]) {
    return t && id && identity && why ? TEMPLATES_REFUSED : TEMPLATES_FAILED;
}
int store_hash_file(const char *path, uint64_t *size, uint64_t *hash) { return !path || !size || !hash; }
void reid_to_halves(const float *in, uint16_t *out, size_t n) { (void)in, (void)out, (void)n; }

static void check(const inputs *list) {
    for (size_t i = 0; i < list->count; i++) {
        const input *in = &list->at[i];
        MUST(in->path && in->path[0] && in->id && in->id[0] && in->identity && in->unit == BOX_NONE && !in->failure);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    inputs list = {0};
    adding a;
    options o;
    if (!size) return 0;
    bytes = data + 1, byte_count = size - 1, said = 0;
    if (data[0] < 2) {
        int good = add_list(&list, data[0] ? 0 : '\n');
        MUST(good == !said);
        MUST(good || memchr(bytes, 0, byte_count));
    } else {
        memset(&a, 0, sizeof a), memset(&o, 0, sizeof o);
        o.gallery.list = "list";
        a.o = &o;
        int good = read_list(&a, &list);
        MUST(good == !said);
        for (size_t i = 0; i < list.count; i++) MUST(!a.of[i].camera || a.of[i].camera[0]);
        free_circumstances(&a, list.count);
    }
    check(&list);
    inputs_free(&list);
    return 0;
}
