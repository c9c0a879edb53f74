#include "gallery/templates.h"

#include "base/memory.h"
#include "base/say.h"
#include "gallery/gallery_host.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct templates {
    gallery_store *file;
};

int templates_is_place(const char *place) { return store_is_gallery(place); }

/* --- reading ------------------------------------------------------------------------------------------------------ */

gallery_store *templates_read(const char *place, int rows) {
    char why[STORE_WHY] = "";
    gallery_store *s = store_read(place, rows, &GALLERY_HOST, why);
    if (!s) say_gallery_error(place, why);
    return s;
}

/* --- making one --------------------------------------------------------------------------------------------------- */

int templates_may_create(const char *place) {
    struct stat st;
    if (lstat(place, &st) != 0) return 1;
    say_error("%s: exists already", shown(place));
    return 0;
}

int templates_create(const char *place, const store_meta *meta) {
    char why[STORE_WHY] = "";
    if (store_create(place, meta, why)) return 1;
    say_gallery_error(place, why);
    return 0;
}

/* --- changing ----------------------------------------------------------------------------------------------------- */

templates *templates_change(const char *place) {
    char why[STORE_WHY] = "";
    templates *t = need_zeroed(1, sizeof *t);
    if (!t) return NULL;
    t->file = store_write(place, &GALLERY_HOST, why);
    if (t->file) return t;
    say_gallery_error(place, why);
    templates_close(t);
    return NULL;
}

void templates_close(templates *t) {
    if (!t) return;
    store_close(t->file);
    free(t);
}

const store_meta *templates_info(const templates *t) { return store_info(t->file); }

templates_result templates_find(templates *t, const char *id, const char **identity, char why[STORE_WHY]) {
    (void)why;
    size_t at = store_find(t->file, id);
    if (at == SIZE_MAX) return TEMPLATES_REFUSED;
    *identity = store_at(t->file, at).identity;
    return TEMPLATES_DONE;
}

/* A file refuses a record and goes on, unless an earlier one could not be written, which a commit tells. */
static templates_result of_file(int good) { return good ? TEMPLATES_DONE : TEMPLATES_REFUSED; }

templates_result templates_add(templates *t, const store_item *item, const void *row, char why[STORE_WHY]) {
    return of_file(store_add(t->file, item, row, why));
}

templates_result templates_remove(templates *t, const char *id, char why[STORE_WHY]) {
    return of_file(store_remove(t->file, id, why));
}

templates_result templates_set_threshold(templates *t, double threshold, char why[STORE_WHY]) {
    return of_file(store_set_threshold(t->file, threshold, why));
}

templates_result templates_remove_identity(templates *t, const char *identity, size_t *removed, char why[STORE_WHY]) {
    *removed = 0;
    for (size_t i = 0; i < store_count(t->file); i++) {
        store_item item = store_at(t->file, i);
        if (strcmp(item.identity, identity) != 0 || store_find(t->file, item.id) != i) continue;
        if (!store_remove(t->file, item.id, why)) return TEMPLATES_FAILED;
        ++*removed;
    }
    return TEMPLATES_DONE;
}

templates_result templates_commit(templates *t, const commit_rules *rules, char why[STORE_WHY]) {
    (void)rules; /* a file's writer is alone with it */
    return store_commit(t->file, why) ? TEMPLATES_DONE : TEMPLATES_FAILED;
}

/* --- looking at everything ---------------------------------------------------------------------------------------- */

int templates_verify(const char *place, store_damage_fn fn, void *user, store_report *report, store_meta *meta,
                     char why[STORE_WHY]) {
    return store_verify(place, &GALLERY_HOST, fn, user, report, meta, why);
}

static uint64_t bytes_of(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

int templates_compact(const char *place, int salvage, store_damage_fn fn, void *user, compacted *done,
                      char why[STORE_WHY]) {
    done->bytes_before = bytes_of(place);
    int good = store_compact(place, salvage, &GALLERY_HOST, fn, user, &done->templates, why);
    done->bytes = bytes_of(place);
    return good;
}
