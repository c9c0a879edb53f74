#include "gallery/pull.h"

#include "base/files.h"
#include "gallery/gallery_host.h"
#include "gallery/store_file.h"

#include <stdio.h>
#include <sys/stat.h>

static const void *row_of(const gallery_store *s, size_t at) {
    size_t values = at * (size_t)store_info(s)->dim;
    return store_halves(s) ? (const void *)(store_halves(s) + values) : (const void *)(store_floats(s) + values);
}

/* Writes everything in one commit, like compacting, so that the end marks are the same, too. */
static int fill(const gallery_store *from, gallery_store *to, char why[STORE_WHY]) {
    char reason[STORE_WHY - 80] = "";
    int good = !store_count(from) || store_add_decoders(to, store_info(from)->jpeg, why);
    for (size_t i = 0; good && i < store_count(from); i++) {
        store_item item = store_at(from, i);
        good = !interrupted() || store_fail(why, "interrupted");
        if (!good) break;
        good = store_add(to, &item, row_of(from, i), why);
        if (good) continue;
        snprintf(reason, sizeof reason, "%s", why);
        store_fail(why, "template %zu of the database: %s", i + 1, reason);
    }
    return good;
}

int gallery_pull(const gallery_store *from, const char *path, char why[STORE_WHY]) {
    store_draft d;
    struct stat st;
    if (lstat(path, &st) == 0) return store_fail(why, "already exists");
    int good = store_begin(&d, path, store_info(from), &GALLERY_HOST, why) && fill(from, d.store, why) &&
               store_name(&d, why);
    store_drop(&d);
    return good;
}
