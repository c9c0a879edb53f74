#include "gallery/templates.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/unicode.h"
#include "gallery/database.h"
#include "gallery/database_care.h"
#include "gallery/database_read.h"
#include "gallery/database_write.h"
#include "gallery/gallery_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Either a file or a database; the other pointer is NULL. */
struct templates {
    gallery_store *file;
    database_writer *base;
};

int templates_is_place(const char *place) { return is_database_url(place) || store_is_gallery(place); }

/* --- reading ------------------------------------------------------------------------------------------------------ */

gallery_store *templates_read(const char *place, int rows) {
    char why[STORE_WHY] = "";
    gallery_store *s = is_database_url(place) ? database_read(place, rows, why)
                                              : store_read(place, rows, &GALLERY_HOST, why);
    if (!s) say_gallery_error(place, why);
    return s;
}

/* --- creating ----------------------------------------------------------------------------------------------------- */

static int database_may_be_created(const char *url) {
    text why = TEXT_INIT;
    int is_free = database_is_free(url, &why);
    if (is_free == 0) say_error("%s: already exists", shown(url));
    else if (is_free < 0 && !interrupted()) say_error("%s: %s", shown(url), why.s ? why.s : "cannot be reached");
    text_free(&why);
    return is_free > 0;
}

int templates_may_create(const char *place) {
    struct stat st;
    if (is_database_url(place)) return database_may_be_created(place);
    if (lstat(place, &st) != 0) return 1;
    say_error("%s: already exists", shown(place));
    return 0;
}

int templates_create(const char *place, const store_meta *meta) {
    char why[STORE_WHY] = "";
    if (is_database_url(place)) {
        text reason = TEXT_INIT;
        int good = database_create(place, meta, &reason);
        if (!good) snprintf(why, sizeof why, "%s", reason.len ? reason.s : "interrupted");
        text_free(&reason);
        if (good) return 1;
    } else if (store_create(place, meta, why)) {
        return 1;
    }
    say_gallery_error(place, why);
    return 0;
}

/* --- changing ----------------------------------------------------------------------------------------------------- */

templates *templates_change(const char *place) {
    char why[STORE_WHY] = "";
    templates *t = need_zeroed(1, sizeof *t);
    if (!t) return NULL;
    if (is_database_url(place)) t->base = database_change(place, why);
    else t->file = store_write(place, &GALLERY_HOST, why);
    if (t->file || t->base) return t;
    say_gallery_error(place, why);
    templates_close(t);
    return NULL;
}

void templates_close(templates *t) {
    if (!t) return;
    database_writer_close(t->base);
    store_close(t->file);
    free(t);
}

const store_meta *templates_info(const templates *t) {
    return t->base ? database_writer_info(t->base) : store_info(t->file);
}

templates_result templates_find(templates *t, const char *id, const char **identity, char why[STORE_WHY]) {
    if (t->base) return database_find(t->base, id, identity, why);
    size_t at = store_find(t->file, id);
    if (at == SIZE_MAX) return TEMPLATES_REFUSED;
    *identity = store_at(t->file, at).identity;
    return TEMPLATES_DONE;
}

/* A file refuses a record and can still be used, unless an earlier write failed; then the commit fails. */
static templates_result of_file(int good) { return good ? TEMPLATES_DONE : TEMPLATES_REFUSED; }

templates_result templates_add(templates *t, const store_item *item, const void *row, char why[STORE_WHY]) {
    return t->base ? database_add(t->base, item, row, why) : of_file(store_add(t->file, item, row, why));
}

templates_result templates_add_decoders(templates *t, const char *names, char why[STORE_WHY]) {
    return t->base ? database_add_decoders(t->base, names, why) : of_file(store_add_decoders(t->file, names, why));
}

templates_result templates_remove(templates *t, const char *id, char why[STORE_WHY]) {
    return t->base ? database_remove(t->base, id, why) : of_file(store_remove(t->file, id, why));
}

templates_result templates_set_threshold(templates *t, double threshold, char why[STORE_WHY]) {
    return t->base ? database_set_threshold(t->base, threshold, why)
                   : of_file(store_set_threshold(t->file, threshold, why));
}

templates_result templates_remove_identity(templates *t, const char *identity, size_t *removed, char why[STORE_WHY]) {
    if (t->base) return database_remove_identity(t->base, identity, removed, why);
    *removed = 0;
    for (size_t i = 0; i < store_count(t->file); i++) {
        store_item item = store_at(t->file, i);
        if (!name_same(item.identity, identity) || store_find(t->file, item.id) != i) continue;
        if (!store_remove(t->file, item.id, why)) return TEMPLATES_FAILED;
        ++*removed;
    }
    return TEMPLATES_DONE;
}

templates_result templates_commit(templates *t, const commit_rules *rules, char why[STORE_WHY]) {
    if (t->base) return database_store(t->base, rules, why);
    return store_commit(t->file, why) ? TEMPLATES_DONE : TEMPLATES_FAILED; /* a file has one writer at a time */
}

/* --- verifying and compacting ------------------------------------------------------------------------------------- */

int templates_verify(const char *place, store_damage_fn fn, void *user, store_report *report, store_meta *meta,
                     char why[STORE_WHY]) {
    return is_database_url(place) ? database_verify(place, fn, user, report, meta, why)
                                  : store_verify(place, &GALLERY_HOST, fn, user, report, meta, why);
}

static uint64_t bytes_of(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static int compact_database(const char *url, int salvage, compacted *done, char why[STORE_WHY]) {
    uint64_t bytes[2] = {0, 0};
    int good = 0;
    if (salvage) snprintf(why, STORE_WHY, "--salvage is for gallery files; remove the templates that "
                                       "\"reid gallery verify\" names");
    else good = database_compact(url, bytes, &done->templates, why);
    done->bytes_before = bytes[0];
    done->bytes = bytes[1];
    return good;
}

int templates_compact(const char *place, int salvage, store_damage_fn fn, void *user, compacted *done,
                      char why[STORE_WHY]) {
    if (is_database_url(place)) return compact_database(place, salvage, done, why);
    done->bytes_before = bytes_of(place);
    int good = store_compact(place, salvage, &GALLERY_HOST, fn, user, &done->templates, why);
    done->bytes = bytes_of(place);
    return good;
}
