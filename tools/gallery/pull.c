#include "gallery/pull.h"

#include "base/files.h"
#include "base/text.h"
#include "gallery/gallery_host.h"
#include "gallery/store_file.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const void *row_of(const gallery_store *s, size_t at) {
    size_t values = at * (size_t)store_info(s)->dim;
    return store_halves(s) ? (const void *)(store_halves(s) + values) : (const void *)(store_floats(s) + values);
}

/* Writes everything in one commit, like compacting, so that the end marks are the same, too. */
static int fill(const gallery_store *from, const char *name, char why[STORE_WHY]) {
    char reason[STORE_WHY - 80] = "";
    gallery_store *to = store_write(name, &GALLERY_HOST, why);
    int good = to && (!store_count(from) || store_add_decoders(to, store_info(from)->jpeg, why));
    for (size_t i = 0; good && i < store_count(from); i++) {
        store_item item = store_at(from, i);
        good = !interrupted() || store_fail(why, "interrupted");
        if (!good) break;
        good = store_add(to, &item, row_of(from, i), why);
        if (good) continue;
        snprintf(reason, sizeof reason, "%s", why);
        store_fail(why, "template %zu of the database: %s", i + 1, reason);
    }
    good = good && store_commit(to, why);
    store_close(to);
    return good;
}

int gallery_pull(const gallery_store *from, const char *path, char why[STORE_WHY]) {
    struct stat st;
    text name = TEXT_INIT;
    if (lstat(path, &st) == 0) return store_fail(why, "already exists");
    text_printf(&name, "%s.pull-%ld", path, (long)getpid());
    if (text_failed(&name)) return text_free(&name), store_fail(why, "out of memory");
    unlink(name.s); /* left by a killed process with the same number */
    int good = store_create(name.s, store_info(from), why);
    if (good) {
        good = fill(from, name.s, why) && store_name_new(name.s, path, why);
        unlink(name.s);
    }
    text_free(&name);
    return good;
}
