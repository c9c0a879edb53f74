#include "report/page_fill.h"

#include "base/invariant.h"

#include <string.h>

static const char OPEN[] = "{{", CLOSE[] = "}}";

/* Escapes what may have come from a file name, for use between tags or in an attribute. */
static void add_text(text *out, const char *s) {
    text plain = TEXT_INIT;
    text_visible(&plain, s);
    if (text_failed(&plain)) text_no_memory(out);
    else if (plain.len) text_html(out, plain.s);
    text_free(&plain);
}

void page_set(page_values *v, const char *key, const char *format, ...) {
    va_list list;
    text_puts(&v->pairs, key);
    text_putc(&v->pairs, 0);
    va_start(list, format);
    text_vprintf(&v->pairs, format, list);
    va_end(list);
    text_putc(&v->pairs, 0);
}

/* The value of a key; NULL if there is none. */
static const char *value_of(const page_values *v, const char *key, size_t len) {
    const char *at = v ? v->pairs.s : NULL, *end = at ? at + v->pairs.len : NULL;
    while (at && at < end) {
        const char *value = at + strlen(at) + 1;
        if (strlen(at) == len && memcmp(at, key, len) == 0) return value;
        at = value + strlen(value) + 1;
    }
    return NULL;
}

/* The first `what` in from … end-1, or end. */
static const char *find(const char *from, const char *end, const char *what) {
    size_t n = strlen(what);
    while (from + n <= end && memcmp(from, what, n) != 0) from++;
    return from + n <= end ? from : end;
}

/* The beginning of a piece; *end: the position after it. */
static const char *piece_of(const page_markup *m, const char *piece, const char **end) {
    const char *at = (const char *)m->bytes, *file_end = at + m->len;
    size_t n = strlen(piece);
    for (at = find(at, file_end, "{{#"); at < file_end; at = find(at, file_end, "{{#")) {
        const char *name = at + 3, *name_end = find(name, file_end, CLOSE);
        if (name_end == file_end) break;
        at = name_end + 3; /* with the newline */
        if ((size_t)(name_end - name) != n || memcmp(name, piece, n) != 0) continue;
        *end = find(at, file_end, "\n{{#");
        return at;
    }
    return NULL;
}

void page_fill(text *out, const page_markup *m, const char *piece, page_values *v) {
    const char *end = NULL, *at = piece_of(m, piece, &end);
    REID_ASSERT(at != NULL);
    if (v && text_failed(&v->pairs)) text_no_memory(out);
    while (at && at < end && !text_failed(out)) {
        const char *key = find(at, end, OPEN), *key_end = find(key, end, CLOSE);
        text_add(out, at, (size_t)(key - at));
        if (key == end) break;
        int is_markup = key[2] == '&';
        const char *name = key + 2 + is_markup, *value = value_of(v, name, (size_t)(key_end - name));
        REID_ASSERT(value != NULL && key_end < end);
        if (is_markup) text_puts(out, value);
        else add_text(out, value);
        at = key_end + 2;
    }
    if (v) text_free(&v->pairs);
}
