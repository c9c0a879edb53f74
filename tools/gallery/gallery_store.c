#include "gallery/gallery_store.h"

#include "base/files.h"
#include "gallery/store_entries.h"
#include "gallery/store_file.h"
#include "gallery/store_format.h"
#include "gallery/store_head.h"
#include "gallery/store_walk.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

gallery_store *store_in_memory(const store_meta *meta, char why[STORE_WHY]) {
    gallery_store *s = store_new("", NULL, why);
    if (!s) return NULL;
    s->meta = *meta;
    s->in_memory = 1;
    if (meta_is_sound(meta)) return s;
    store_fail(why, "a gallery needs the fingerprint and the size of 1 or 2 models");
    store_close(s);
    return NULL;
}

static gallery_store *load(const char *path, int writer, int rows, const store_host *host, char why[STORE_WHY]) {
    store_report report;
    gallery_store *s = store_new(path, host, why);
    memset(&report, 0, sizeof report);
    if (!s) return NULL;
    s->keep_rows = rows;
    if (store_open(s, writer, why) && store_read_head(s, 0, why) && store_walk(s, NULL, NULL, &report, why) &&
        entries_settle(s, why)) {
        s->tail = s->end;
        s->tail_records = s->records;
        s->next_header = s->end + HEADER_EVERY;
        if (!writer || s->file_size == s->end) return s;
        /* An end mark that covers the bytes to cut off may still be on disk, undone in memory only: sync first. */
        if (store_sync(s->fd, why)) {
            if (file_cut(s->fd, s->end)) return s;
            store_fail_errno(why, "cannot write");
        }
    }
    s->tail = s->end; /* store_close must cut nothing off */
    store_close(s);
    return NULL;
}

gallery_store *store_read(const char *path, int rows, const store_host *host, char why[STORE_WHY]) {
    gallery_store *s = load(path, 0, rows, host, why);
    if (!s) return NULL;
    close(s->fd);
    s->fd = -1;
    return s;
}

gallery_store *store_write(const char *path, const store_host *host, char why[STORE_WHY]) {
    return load(path, 1, 0, host, why);
}

int store_settle(gallery_store *s, char why[STORE_WHY]) { return entries_settle(s, why); }

int store_is_gallery(const char *path) {
    char magic[STORE_MAGIC];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return 0;
    ssize_t n = read(fd, magic, sizeof magic);
    close(fd);
    return n == (ssize_t)sizeof magic && memcmp(magic, STORE_MAGIC_BYTES, sizeof magic) == 0;
}

const store_meta *store_info(const gallery_store *s) { return &s->meta; }
size_t store_count(const gallery_store *s) { return s->count; }
const uint32_t *store_identities(const gallery_store *s) { return s->identities; }
size_t store_identity_count(const gallery_store *s) { return s->identity_count; }

const float *store_floats(const gallery_store *s) {
    return s->meta.halves ? NULL : (const float *)(const void *)s->rows;
}

const uint16_t *store_halves(const gallery_store *s) {
    return s->meta.halves ? (const uint16_t *)(const void *)s->rows : NULL;
}

store_item store_at(const gallery_store *s, size_t index) {
    const entry *e = &s->at[index];
    return (store_item){entry_text(s, e, 0), entry_text(s, e, 1), entry_text(s, e, 2), entry_text(s, e, 3),
                        e->time, e->size, e->hash};
}

size_t store_find(const gallery_store *s, const char *id) { return entries_find_name(s, id); }
