#include "embedding/source_root.h"

#include "base/memory.h"
#include "pictures/crop_origin.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The length of the folders that two absolute paths share: "/a/b" and "/a/bc" share "/a". */
static size_t shared_folders(const char *a, const char *b) {
    size_t shared = 0, i = 0;
    for (;; i++) {
        const int end_a = !a[i] || a[i] == '/', end_b = !b[i] || b[i] == '/';
        if (end_a && end_b) shared = i;
        if (!a[i] || a[i] != b[i]) return shared;
    }
}

/* The absolute path of a folder that need not exist yet, in a folder that does. NULL if that does not. */
static char *place_of(const char *folder) {
    size_t length = strlen(folder), name;
    while (length > 1 && folder[length - 1] == '/') length--;
    for (name = length; name > 0 && folder[name - 1] != '/';) name--;
    text path = TEXT_INIT;
    text_printf(&path, "%.*s.", (int)name, folder);
    char *parent = text_failed(&path) ? NULL : realpath(path.s, NULL), *whole = NULL;
    text_clear(&path);
    if (parent) {
        text_printf(&path, "%s/%.*s", strcmp(parent, "/") == 0 ? "" : parent, (int)(length - name), folder + name);
        if (!text_failed(&path)) whole = mem_copy(path.s, path.len);
    }
    free(parent);
    text_free(&path);
    return whole;
}

void source_root_find(const char *folder, text *out) {
    char *here = realpath(".", NULL), *there = place_of(folder);
    if (here && there) {
        const char *down = strcmp(here, "/") == 0 ? "" : here;
        const size_t shared = shared_folders(down, there), start = out->len;
        for (const char *s = there + shared; *s; s++)
            if (*s == '/') text_puts(out, out->len > start ? "/.." : "..");
        if (down[shared]) text_puts(out, out->len > start ? down + shared : down + shared + 1);
        if (out->len == start) text_puts(out, ".");
    }
    free(here), free(there);
}

/* Changes a source if its photo is below the folder. */
static int place(const char *folder, char **source) {
    const size_t length = crop_origin_of(*source).length;
    text path = TEXT_INIT;
    if (path_is_absolute(*source) || !length) return 1;
    text_printf(&path, "%s/%.*s", folder, (int)length, *source);
    int good = !text_failed(&path);
    if (good && access(path.s, F_OK) == 0) {
        text_puts(&path, *source + length);
        char *copy = text_failed(&path) ? NULL : mem_copy(path.s, path.len);
        good = copy != NULL;
        if (copy) free(*source), *source = copy;
    }
    text_free(&path);
    return good;
}

int source_root_apply(const char *root, const char *from, char **sources, size_t count) {
    const char *last = strrchr(from, '/');
    text folder = TEXT_INIT;
    int good = 1;
    text_printf(&folder, "%.*s%s", last ? (int)(last + 1 - from) : 0, from, root);
    char *there = text_failed(&folder) ? NULL : realpath(folder.s, NULL), *here = realpath(".", NULL);
    good = !text_failed(&folder);
    for (size_t i = 0; i < count && good && there && here && strcmp(there, here) != 0; i++)
        good = place(there, &sources[i]);
    free(there), free(here);
    text_free(&folder);
    return good;
}
