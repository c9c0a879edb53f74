/* Fuzzer for forms (multipart/form-data): the first line is the Content-Type, what follows is the body.

   clang -std=c99 -D_GNU_SOURCE -O1 -g -I. -Itools -fsanitize=fuzzer,address,undefined tests/fuzz/fuzz_form.c
         -o build/fuzz_form -lm
   build/fuzz_form -dict=tests/fuzz/form.dict CORPUS_DIRECTORY */
#include "base/text.c"
#include "base/memory.c"
#include "base/source.c"
#include "server/form.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition) \
    if (!(condition)) fprintf(stderr, "violated: %s\n", #condition), abort()

enum { MOST = 16 };

/* Stubs for functions that the files above call and that do not matter here. */
void say_error(const char *format, ...) { (void)format; }

/* Accepted parts lie in the body, one after another, and none contains the boundary as a line, or as the last one. */
static void look_at(const form *f, const unsigned char *body, size_t size, const text *boundary) {
    text line = TEXT_INIT, last = TEXT_INIT;
    const unsigned char *from = body;
    text_printf(&line, "\r\n--%s\r\n", boundary->s);
    text_printf(&last, "\r\n--%s--\r\n", boundary->s);
    MUST(f->count <= MOST);
    for (size_t i = 0; i < (size_t)f->count; i++) {
        const form_part *p = &f->parts[i];
        MUST(p->content.at >= from && p->content.len <= (size_t)(body + size - p->content.at));
        MUST(p->name.s && strlen(p->name.s) == p->name.len);
        MUST(!memmem(p->content.at, p->content.len, line.s, line.len));
        MUST(!memmem(p->content.at, p->content.len, last.s, last.len));
        from = p->content.at + p->content.len;
    }
    text_free(&line), text_free(&last);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *end = memchr(data, '\n', size);
    text why = TEXT_INIT, boundary = TEXT_INIT;
    form f;
    if (!end) return 0;
    char *type = strndup((const char *)data, (size_t)(end - data));
    const size_t len = size - (size_t)(end + 1 - data);
    if (form_is_type(type)) {
        if (!form_boundary(&boundary, type, &why)) {
            MUST(why.len > 0);
        } else {
            MUST(boundary.len > 0 && boundary.len <= 70);
            if (form_read(&f, end + 1, len, &boundary, MOST, &why)) look_at(&f, end + 1, len, &boundary);
            else MUST(why.len > 0 && f.status >= 400);
            form_free(&f);
        }
    }
    text_free(&why), text_free(&boundary);
    free(type);
    return 0;
}
