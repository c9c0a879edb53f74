/* Fuzzer for requests to a server: query strings (first byte 0); bodies of the Open Inference Protocol whose first 2
   bytes, little-endian, are the length of their JSON (first byte 1); bodies whose JSON ends at the first zero byte
   (other first bytes).

   clang -std=c99 -D_GNU_SOURCE -O1 -g -I. -Itools -fsanitize=fuzzer,address,undefined tests/fuzz/fuzz_request.c
         -o build/fuzz_request -lm
   build/fuzz_request -dict=tests/fuzz/request.dict CORPUS_DIRECTORY */
#include "base/text.c"
#include "base/memory.c"
#include "base/source.c"
#include "base/json.c"
#include "server/request.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition) \
    if (!(condition)) fprintf(stderr, "violated: %s\n", #condition), abort()

enum { MOST = 64 };

/* Stubs for functions that the files above call and that do not matter here. */
void say_error(const char *format, ...) { (void)format; }

static unsigned sum; /* so that every byte is read */

/* Accepted data must lie where the request says and have the size that it says. */
static void look_at(const infer_request *r) {
    MUST(r->count >= 1 && r->count <= MOST);
    MUST(r->priority >= PRIORITY_FIRST && r->priority <= PRIORITY_LAST && r->timeout_us >= 0);
    MUST(r->binary == 0 || r->binary == 1);
    MUST(!r->pictures != !r->rgb || (r->pictures && !r->rgb));
    for (size_t i = 0; r->pictures && i < r->count; i++)
        for (size_t k = 0; k < r->pictures[i].len; k++) sum += r->pictures[i].at[k];
    size_t bytes = r->pictures ? 0 : 3 * r->count * (size_t)r->height * (size_t)r->width;
    for (size_t k = 0; k < bytes; k++) sum += r->rgb[k];
}

static void try_query(const char *query, text *why) {
    plain_request p;
    if (plain_read(&p, query, 1, MOST, why)) {
        MUST(p.count <= MOST && p.priority >= PRIORITY_FIRST && p.priority <= PRIORITY_LAST);
        for (size_t i = 0; i < p.count; i++) MUST(p.boxes[i].width >= 1 && p.boxes[i].height >= 1);
    } else {
        MUST(why->len > 0);
    }
    plain_free(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    text why = TEXT_INIT;
    infer_request r;
    if (!size) return 0;
    int kind = *data++;
    size--;
    size_t json_len = strnlen((const char *)data, size);
    if (kind == 0) {
        char *query = strndup((const char *)data, size);
        try_query(query, &why);
        free(query);
    } else {
        if (kind == 1 && size >= 2) {
            json_len = data[0] | (size_t)data[1] << 8;
            data += 2, size -= 2;
        }
        if (infer_read(&r, data, size, json_len, MOST, &why)) look_at(&r);
        else MUST(why.len > 0 && r.status >= 400);
        infer_free(&r);
    }
    text_free(&why);
    return 0;
}
