#include "gallery/store_rewrite.h"

#include "base/files.h"
#include "base/interrupted.h"
#include "gallery/store_append.h"
#include "gallery/store_file.h"
#include "gallery/store_handle.h"
#include "gallery/store_head.h"
#include "gallery/store_record.h"
#include "gallery/store_walk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int store_create(const char *path, const store_meta *meta, char why[STORE_WHY]) {
    char *name;
    if (!meta_is_sound(meta)) return store_fail(why, "a gallery needs the fingerprint and the size of 1 or 2 models");
    int fd = store_open_temporary(path, (long)getpid(), 0666, &name, why);
    int good = fd >= 0 && store_write_head(fd, meta, why) && store_name_new(name, path, why);
    if (fd >= 0) {
        unlink(name);
        close(fd);
    }
    free(name);
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
                                                   report->damaged == 1 ? "" : "s");
    store_close(s);
    return good;
}

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
    return good && store_commit(to, why);
}

/* Gives the new file the owner and mode of the old one, before it has any contents; until then only its owner can read
   it. Where changing the owner is not allowed, the file keeps its owner; if the group differs, it gets no more rights
   than others have. */
static int keep_rights(int old, int fd, char why[STORE_WHY]) {
    struct stat st, mine;
    if (fstat(old, &st) != 0 || fstat(fd, &mine) != 0) return store_fail_errno(why, "cannot read");
    mode_t mode = st.st_mode & 0777;
    int result = 0;
    if (st.st_uid != mine.st_uid || st.st_gid != mine.st_gid) UNINTERRUPTED(result, fchown(fd, st.st_uid, st.st_gid));
    if (result != 0) UNINTERRUPTED(result, fchown(fd, (uid_t)-1, st.st_gid));
    if (result != 0) mode = (mode & ~(mode_t)070) | (mode & 07) << 3;
    UNINTERRUPTED(result, fchmod(fd, mode));
    return result == 0 || store_fail_errno(why, "cannot write");
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
    char *name = NULL, *path = own_path(s, why);
    gallery_store *to = path ? store_new(path, &s->host, why) : NULL;
    free(path);
    if (!to) return 0;
    to->meta = s->meta;
    to->meta.jpeg[0] = 0; /* until the decoders are written */
    to->sequence = 1, to->end = to->tail = FIRST_RECORD;
    to->next_header = to->end + HEADER_EVERY;
    to->fd = store_open_temporary(to->path, 0, 0600, &name, why);
    int opened = to->fd >= 0;
    int good = opened && keep_rights(s->fd, to->fd, why) && store_write_head(to->fd, &s->meta, why) &&
               store_add_decoders(to, s->live ? s->meta.jpeg : "", why) && copy_records(s, to, why);
    if (good) {
        int result;
        UNINTERRUPTED(result, rename(name, to->path));
        good = result == 0 || store_fail_errno(why, "cannot rename the finished file");
    }
    if (good) good = store_sync_folder(to->path, why);
    else if (opened) unlink(name);
    free(name);
    store_close(to);
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
