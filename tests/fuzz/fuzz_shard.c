/* Fuzzer for the reader of shards' metadata (reid merge): the input is a .meta.json. Accepted metadata must be
   consistent; written, read and written again, it must have the same bytes.

   clang -std=c99 -D_GNU_SOURCE -O1 -g -I. -Itools -fsanitize=fuzzer,address,undefined tests/fuzz/fuzz_shard.c
         -o build/fuzz_shard -lm
   build/fuzz_shard -dict=tests/fuzz/shard.dict CORPUS_DIRECTORY */
#include "embedding/shard.c"
#include "embedding/models.c"
#include "base/random.c"
#include "embedding/output_meta.c"
#include "pictures/box_text.c"
#include "base/when.c"
#include "base/memory.c"
#include "base/decimal.c"
#include "base/json_write.c"
#include "base/text.c"
#define fail json_fail_at
#include "base/json.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition) \
    if (!(condition)) fprintf(stderr, "violated: %s\n", #condition), abort()

static text file;

int file_read(const char *path, size_t limit, int regular_only, text *out, text *why) {
    (void)path, (void)limit, (void)regular_only;
    text_clear(why);
    text_clear(out);
    text_puts(out, "");
    text_add(out, file.s, file.len);
    return 1;
}

/* Stubs for functions that the files above call and that do not matter here. */
void output_side_name(text *name, const char *path, const char *ending) { text_printf(name, "%s%s", path, ending); }
int threads_here(void) { return 1; }
int threads_for(int wanted, int most) { return wanted < most ? wanted : most; }
void say_at(int level, const char *message) { (void)level, (void)message; }
void say_error(const char *format, ...) { (void)format; }
void say_warning(const char *format, ...) { (void)format; }
void say_info(const char *format, ...) { (void)format; }
const char *shown(const char *name) { return name; }
const char *reid_version_string(void) { return REID_VERSION_STRING; }
const char *reid_result_string(reid_result result) { return (void)result, ""; }
reid_result reid_create(const reid_desc *desc, reid_ctx **out) { return (void)desc, (void)out, REID_ERR_SYSTEM; }
reid_result reid_query_desc(const reid_ctx *ctx, reid_info *info) { return (void)ctx, (void)info, REID_ERR_SYSTEM; }
reid_result reid_query_saturation(const reid_ctx *ctx, reid_saturation *counts) {
    return (void)ctx, (void)counts, REID_ERR_SYSTEM;
}
reid_result reid_embed_ex(reid_ctx *ctx, const reid_image *images, int n, float *out, reid_error *error) {
    return (void)ctx, (void)images, (void)n, (void)out, (void)error, REID_ERR_SYSTEM;
}
reid_result reid_preprocess(reid_ctx *ctx, const reid_image *image, uint8_t *out, reid_error *error) {
    return (void)ctx, (void)image, (void)out, (void)error, REID_ERR_SYSTEM;
}
void reid_destroy(reid_ctx *ctx) { (void)ctx; }
void gpu_state_say(const char *device) { (void)device; }

/* Reads `file`, and writes the metadata that reid embed would write for such a shard to out. */
static int read_and_write(text *out) {
    shard s;
    text why = TEXT_INIT;
    size_t first, end;
    int good = shard_read(&s, "a.npy", &why);
    MUST(good == !why.len);
    if (good) {
        MUST(s.makers.count >= 1 && s.makers.count <= MAX_MODELS && s.makers.dim >= 1);
        MUST(s.made.shard >= 1 && s.made.shard <= s.made.shards);
        MUST(shard_differs(&s, &s) == NULL);
        shard_slice(&s, &first, &end);
        MUST(first <= end && end <= s.facts.listed && end - first == s.facts.rows + s.facts.failed);
        s.facts.all = &s.makers, s.facts.first = first, s.facts.end = end;
        s.made.path = "a.npy";
        output_meta_json(&s.facts, &s.made, out);
    }
    shard_free(&s);
    text_free(&why);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    text once = TEXT_INIT, twice = TEXT_INIT;
    text_clear(&file);
    text_add(&file, data, size);
    if (read_and_write(&once)) {
        text_clear(&file);
        text_join(&file, &once);
        MUST(read_and_write(&twice));
        MUST(once.len == twice.len && memcmp(once.s, twice.s, once.len) == 0);
    }
    text_free(&once);
    text_free(&twice);
    return 0;
}
