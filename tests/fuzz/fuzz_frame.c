/* Fuzzer for the headers of frames that reid worker receives. The first two bytes, little-endian, are the length of the
   body that would follow; the rest is the header. An accepted header must satisfy what its reader promises, and every
   reply, including a refusal, must be valid JSON.

   clang -std=c99 -D_GNU_SOURCE -O1 -g -I. -Itools -fsanitize=fuzzer,address,undefined tests/fuzz/fuzz_frame.c
         -o build/fuzz_frame -lm
   build/fuzz_frame -dict=tests/fuzz/frame.dict CORPUS_DIRECTORY */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/decimal.c"
#include "base/json_write.c"
#include "base/text.c"
#include "base/memory.c"
#include "base/source.c"
#include "base/json.c"
#include "server/frame.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition) \
    if (!(condition)) fprintf(stderr, "violated: %s\n", #condition), abort()

/* Stubs for functions that the files above call and that do not matter here. */
void say_error(const char *format, ...) { (void)format; }

/* A text that becomes part of a query string has only characters that are allowed there, whatever the model's name. */
static void check_query(const char *query) {
    MUST(strspn(query, "abcdefghijklmnopqrstuvwxyzABCDEF0123456789%=&,-") == strlen(query));
    for (const char *s = query; (s = strchr(s, '%')) != NULL; s++) MUST(strspn(s + 1, "0123456789ABCDEF") >= 2);
}

/* An id is the client's string or number, and has nothing in it that could end the reply's header. */
static void try_answer(const frame_header *h) {
    text t = TEXT_INIT;
    json j;
    frame_answer(&t, h->id.s, 200, h->json_len);
    json_begin(&j, t.s, t.len);
    MUST(json_skip(&j) && json_end(&j));
    MUST(h->id.len <= 1024 && strlen(h->id.s) == h->id.len);
    text_free(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    frame_header h;
    text why = TEXT_INIT;
    if (size < 2) return 0;
    size_t body = (size_t)data[0] | (size_t)data[1] << 8;
    char *header = malloc(size - 2 ? size - 2 : 1); /* of the exact size, so that a sanitizer sees an overrun */
    if (!header) return 0;
    memcpy(header, data + 2, size - 2);
    if (frame_read(&h, header, size - 2, body, &why)) {
        MUST(!why.len && h.json_len <= body && h.kind <= FRAME_MODEL);
        MUST(h.kind < FRAME_STATS || body == 0);
        check_query(h.query.s ? h.query.s : "");
    } else {
        MUST(why.len > 0);
    }
    try_answer(&h);
    frame_free(&h);
    free(header);
    text_free(&why);
    return 0;
}
