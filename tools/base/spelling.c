#include "base/spelling.h"

#include "base/memory.h"
#include "base/say.h"
#include "base/text.h"
#include "base/unicode.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void add_as_it_is(text *t, const char *part) { text_puts(t, part); }

/* Appends the part of a path to `found` in the form in which a file is there. Returns 0 if there is none. */
static int add_part(text *found, const char *part) {
    static void (*const FORMS[])(text *t, const char *s) = {add_as_it_is, text_nfc, text_nfd};
    const size_t before = found->len;
    for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS; i++) {
        found->len = before;
        FORMS[i](found, part);
        if (text_failed(found)) return 0;
        if (access(found->s, F_OK) == 0) return 1;
    }
    return 0;
}

char *path_spelled(const char *path) {
    text found = TEXT_INIT;
    char *copy = mem_copy(path, strlen(path)), *part = copy;
    if (!copy || !name_has_forms(path) || access(path, F_OK) == 0) return copy;
    int there = 1;
    while (there && *part) {
        size_t n = strspn(part, "/");
        text_add(&found, part, n);
        part += n;
        char *end = part + strcspn(part, "/"), after = *end;
        *end = 0;
        there = !*part || add_part(&found, part);
        *end = after;
        part = end;
    }
    char *spelled = there && !text_failed(&found) ? mem_copy(found.s, found.len) : NULL;
    text_free(&found);
    if (!spelled) return copy;
    free(copy);
    return spelled;
}

int name_warn_of_forms(const char *a, const char *b) {
    if (!name_same(a, b) || strcmp(a, b) == 0) return 0;
    say_warning("the identity %s is spelled in two forms of Unicode, which look the same; they count as one identity",
                shown(a));
    return 1;
}
