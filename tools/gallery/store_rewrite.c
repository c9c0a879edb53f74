#include "gallery/store_rewrite.h"

#include "base/files.h"
#include "gallery/store_append.h"
#include "gallery/store_file.h"
#include "gallery/store_handle.h"
#include "gallery/store_head.h"
#include "gallery/store_record.h"
#include "gallery/store_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- a new file --------------------------------------------------------------------------------------------------- */

static int fail_because(char why[STORE_WHY], text *reason) {
    store_fail(why, "%s", reason->s);
    text_free(reason);
    return 0;
}

int store_begin(store_draft *d, const char *path, const store_meta *meta, const store_host *host, char why[STORE_WHY]) {
    text reason = TEXT_INIT;
    memset(d, 0, sizeof *d);
    if (!meta_is_sound(meta)) return store_fail(why, "a gallery needs the fingerprint and the size of 1 or 2 models");
    d->store = store_new(path, host, why);
    if (!d->store) return 0;
    if (!pending_begin(&d->file, path, NULL, &reason)) return store_drop(d), fail_because(why, &reason);
    gallery_store *s = d->store;
    s->fd = d->file.fd;
    s->meta = *meta;
    s->meta.jpeg[0] = 0; /* until decoders are added */
    s->sequence = 1, s->end = s->tail = FIRST_RECORD;
    s->next_header = s->end + HEADER_EVERY;
    if (store_write_head(s->fd, meta, why)) return 1;
    store_drop(d);
    return 0;
}

/* Commits what was added and gives the file its name with `name`: pending_rename or pending_rename_new. */
static int finish(store_draft *d, int (*name)(pending *p, text *why), char why[STORE_WHY]) {
    text reason = TEXT_INIT;
    if (!store_commit(d->store, why)) return 0;
    return name(&d->file, &reason) || fail_because(why, &reason);
}

int store_name(store_draft *d, char why[STORE_WHY]) { return finish(d, pending_rename_new, why); }

void store_drop(store_draft *d) {
    if (d->store) d->store->fd = -1; /* the file is closed below, and removed unless it has its name */
    store_close(d->store);
    pending_close(&d->file);
    d->store = NULL;
}

int store_create(const char *path, const store_meta *meta, char why[STORE_WHY]) {
    store_draft d;
    int good = store_begin(&d, path, meta, NULL, why) && store_name(&d, why);
    store_drop(&d);
    return good;
}

int store_verify(const char *path, const store_host *host, store_damage_fn fn, void *user, store_report *report,
                 store_meta *meta, char why[STORE_WHY]) {
    gallery_store *s = store_new(path, host, why);
    memset(report, 0, sizeof *report);
    if (!s) return 0;
    int found = store_open(s, 0, why) && store_read_head(s, 0, why);
    int good = found && store_walk(s, fn, user, report, why);
    report->bytes = s->file_size;
    report->unused = s->file_size > s->end ? s->file_size - s->end : 0;
    report->templates = s->live;
    report->version = found ? STORE_VERSION : 0;
    if (meta) *meta = s->meta;
    if (good && report->damaged) good = store_fail(why, "%zu damaged record%s", report->damaged,
                                                   plural(report->damaged));
    store_close(s);
    return good;
}

/* --- compacting --------------------------------------------------------------------------------------------------- */

/* Copies the remaining templates, in their order, to `to`. */
static int copy_records(gallery_store *from, gallery_store *to, char why[STORE_WHY]) {
    view v = {from->fd, from->end, NULL, 0, 0, 0};
    size_t entry_number = 0;
    char reason[STORE_WHY];
    int good = 1, fatal = 0;
    for (uint64_t place = FIRST_RECORD; good && place < from->end && entry_number < from->count;) {
        record r;
        if (!record_read(&v, &from->meta, place, &r, &fatal, reason)) {
            place = record_next(&v, &from->meta, place, &r, &fatal, reason);
            continue;
        }
        place += RECORD_HEAD + r.size;
        if (r.type != TEMPLATE) continue;
        const entry *e = &from->at[entry_number];
        const unsigned char *id = r.payload + TEMPLATE_HEAD + store_row_bytes(&from->meta);
        if (bytes_get(r.payload, 2) != e->length[0] || memcmp(id, entry_text(from, e, 0), e->length[0]) != 0) continue;
        entry_number++;
        if (e->removed) continue;
        unsigned char *payload = store_begin_record(to, TEMPLATE, r.size, why);
        good = payload && !(entry_number % 1024 == 0 && store_stopped(&from->host, why));
        if (!good) break;
        memcpy(payload, r.payload, r.size);
        store_end_record(to);
    }
    free(v.bytes);
    if (fatal) good = store_fail(why, "%.*s", STORE_WHY - 1, reason);
    return good;
}

/* The real path of the locked file, so that a symbolic link to it stays a link instead of becoming a second gallery.
   NULL with a reason. */
static char *own_path(const gallery_store *s, char why[STORE_WHY]) {
    struct stat mine, named;
    char *own = realpath(s->path, NULL);
    if (own && fstat(s->fd, &mine) == 0 && stat(own, &named) == 0) {
        if (mine.st_dev == named.st_dev && mine.st_ino == named.st_ino) return own;
        errno = ESTALE;
    }
    store_fail_errno(why, "cannot be replaced");
    free(own);
    return NULL;
}

static int write_anew(gallery_store *s, char why[STORE_WHY]) {
    store_draft d = {0};
    char *path = own_path(s, why);
    int good = path && store_begin(&d, path, &s->meta, &s->host, why) &&
               store_add_decoders(d.store, s->live ? s->meta.jpeg : "", why) && copy_records(s, d.store, why) &&
               finish(&d, pending_rename, why);
    if (good && !sync_folder_of(path)) good = store_fail_errno(why, "cannot write");
    store_drop(&d);
    free(path);
    return good;
}

int store_compact(const char *path, int salvage, const store_host *host, store_damage_fn fn, void *user, size_t *kept,
                  char why[STORE_WHY]) {
    store_report report;
    gallery_store *s = store_new(path, host, why);
    memset(&report, 0, sizeof report);
    if (!s) return 0;
    int good = store_open(s, 1, why) && store_read_head(s, salvage, why) &&
               store_walk(s, salvage ? fn : NULL, user, &report, why) && write_anew(s, why);
    *kept = s->live;
    s->tail = s->end;
    store_close(s);
    return good;
}
