#include "gallery/store_append.h"

#include "base/invariant.h"
#include "base/unicode.h"
#include "gallery/store_decoders.h"
#include "gallery/store_file.h"
#include "gallery/store_head.h"
#include "gallery/store_record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FLUSH_FROM = 1 << 20 }; /* bytes of pending records that are then written */

static int flush(gallery_store *s, char why[STORE_WHY]) {
    int good = !s->pending_len || store_write_at(s->fd, s->pending, s->pending_len, s->tail, why);
    s->tail += s->pending_len; /* even after a failure: some of it may be in the file */
    s->pending_len = 0;
    if (!good) s->failed = 1;
    return good;
}

/* Adds room for a record to the pending ones. NULL with a reason. */
static unsigned char *begin_plain_record(gallery_store *s, uint32_t type, size_t size, char why[STORE_WHY]) {
    if (s->failed) {
        store_fail(why, "an earlier write failed");
        return NULL;
    }
    if (s->pending_len >= FLUSH_FROM && !flush(s, why)) return NULL;
    if (!store_grow((void **)&s->pending, &s->pending_cap, s->pending_len + RECORD_HEAD + size, 1, why)) return NULL;
    unsigned char *bytes = s->pending + s->pending_len;
    memset(bytes, 0, RECORD_HEAD + size);
    bytes_put(bytes, type, 4);
    bytes_put(bytes + 4, size, 4);
    return bytes + RECORD_HEAD;
}

void store_end_record(gallery_store *s) {
    unsigned char *bytes = s->pending + s->pending_len;
    size_t size = RECORD_HEAD + (size_t)bytes_get(bytes + 4, 4);
    REID_ASSERT(s->pending_len + size <= s->pending_cap && size % 8 == 0);
    bytes_put(bytes + 8, bytes_checksum(s->tail + s->pending_len, bytes, size, 8), 8);
    s->pending_len += size;
    s->tail_records++;
}

unsigned char *store_begin_record(gallery_store *s, uint32_t type, size_t size, char why[STORE_WHY]) {
    if (s->tail + s->pending_len >= s->next_header) {
        unsigned char *payload = begin_plain_record(s, HEADER, HEADER_BYTES, why);
        if (!payload) return NULL;
        header_write(&s->meta, payload);
        store_end_record(s);
        s->next_header = s->tail + s->pending_len + HEADER_EVERY;
    }
    return begin_plain_record(s, type, size, why);
}

/* In a gallery in memory, the entry and the row hold what a record holds in a file. */
static int add_in_memory(gallery_store *s, entry *e, const store_item *item, const void *row, char why[STORE_WHY]) {
    size_t bytes = store_row_bytes(&s->meta);
    e->time = item->time, e->size = item->source_size, e->hash = item->source_hash;
    if (row) {
        if (!store_grow((void **)&s->rows, &s->rows_cap, s->count + 1, bytes, why)) return 0;
        memcpy(s->rows + s->count * bytes, row, bytes);
    }
    return entries_enter(s, why);
}

static int add(gallery_store *s, const store_item *item, const void *row, char why[STORE_WHY]) {
    const char *text[4] = {item->id, item->identity, item->camera, item->source};
    size_t length[4], bytes = store_row_bytes(&s->meta), total = TEMPLATE_HEAD + bytes;
    for (int i = 0; i < 4; i++) {
        total += length[i] = strlen(text[i]);
        if (length[i] > STORE_MAX_TEXT || (i < 2 && !length[i]))
            return store_fail(why, "id and identity must have 1 to %d bytes, camera and source at most as many",
                              STORE_MAX_TEXT);
    }
    if (entries_find_name(s, item->id) != SIZE_MAX) return store_fail(why, "is already in the gallery");
    if (row && !record_values_are_finite(&s->meta, row)) return store_fail(why, "its embedding is not finite");
    if (s->in_memory) {
        entry *kept = entries_new(s, text, length, why);
        return kept && add_in_memory(s, kept, item, row, why);
    }
    unsigned char *payload = store_begin_record(s, TEMPLATE, bytes_rounded(total), why);
    entry *e = payload ? entries_new(s, text, length, why) : NULL;
    if (!e || !entries_enter(s, why)) return 0;
    for (int i = 0; i < 4; i++) bytes_put(payload + 2 * i, length[i], 2);
    bytes_put(payload + 8, (uint64_t)item->time, 8);
    bytes_put(payload + 16, item->source_size, 8);
    bytes_put(payload + 24, item->source_hash, 8);
    memcpy(payload + TEMPLATE_HEAD, row, bytes);
    unsigned char *to = payload + TEMPLATE_HEAD + bytes;
    for (int i = 0; i < 4; to += length[i++]) memcpy(to, text[i], length[i]);
    REID_ASSERT(to == payload + total);
    store_end_record(s);
    return 1;
}

int store_add(gallery_store *s, const store_item *item, const void *row, char why[STORE_WHY]) {
    store_item spelled = *item;
    const char *known = name_has_forms(item->identity) ? entries_identity(s, item->identity) : NULL;
    char *copy = known ? strdup(known) : NULL; /* without memory, the identity keeps its own spelling */
    if (copy) spelled.identity = copy;
    int good = add(s, &spelled, row, why);
    free(copy);
    return good;
}

int store_remove(gallery_store *s, const char *id, char why[STORE_WHY]) {
    size_t at = entries_find_name(s, id);
    if (at == SIZE_MAX) return store_fail(why, "is not in the gallery");
    size_t length = s->at[at].length[0];
    unsigned char *payload = store_begin_record(s, REMOVAL, bytes_rounded(length + 1), why);
    if (!payload) return 0;
    memcpy(payload, entry_text(s, &s->at[at], 0), length);
    store_end_record(s);
    entries_remove(s, at);
    return 1;
}

int store_set_threshold(gallery_store *s, double threshold, char why[STORE_WHY]) {
    unsigned char *payload;
    if (isinf(threshold)) return store_fail(why, "a threshold cannot be infinite");
    payload = store_begin_record(s, THRESHOLD, 8, why);
    if (!payload) return 0;
    memcpy(payload, &threshold, 8);
    store_end_record(s);
    s->meta.threshold = threshold;
    return 1;
}

/* Adds a name that the gallery does not have yet. */
static int add_decoder(gallery_store *s, const char *name, size_t length, char why[STORE_WHY]) {
    char joined[STORE_JPEG];
    memcpy(joined, s->meta.jpeg, sizeof joined);
    decoder_join(joined, name, length);
    if (strcmp(joined, s->meta.jpeg) == 0) return 1;
    if (!s->in_memory) {
        unsigned char *payload = store_begin_record(s, DECODER, bytes_rounded(length + 1), why);
        if (!payload) return 0;
        memcpy(payload, name, length);
        store_end_record(s);
    }
    memcpy(s->meta.jpeg, joined, sizeof joined);
    return 1;
}

int store_add_decoders(gallery_store *s, const char *names, char why[STORE_WHY]) {
    char joined[STORE_JPEG];
    memcpy(joined, s->meta.jpeg, sizeof joined);
    if (!store_join_decoders(joined, names))
        return store_fail(why, "names of decoders of JPEG files have 1 to %d characters, and a gallery has up to %d",
                          STORE_DECODER - 1, STORE_DECODERS);
    for (const char *at = names; *at;) {
        size_t n = strcspn(at, ",");
        if (!add_decoder(s, at, n, why)) return 0;
        at = decoder_next(at, n);
    }
    return 1;
}

/* Replaces a new end mark that may not have reached the disk by the previous one. If that fails, too, the records stay
   in the file, because readers may find either mark. */
static void undo_mark(gallery_store *s) {
    char reason[STORE_WHY];
    s->keep_tail = !store_write_mark(s->fd, s->sequence - 1, s->end, s->records, reason);
}

int store_commit(gallery_store *s, char why[STORE_WHY]) {
    if (s->failed) return store_fail(why, "an earlier write failed");
    if (!flush(s, why)) return 0;
    if (s->tail == s->end) return 1;
    s->failed = !store_sync(s->fd, why);
    if (s->failed) return 0;
    s->failed = !store_write_mark(s->fd, s->sequence + 1, s->tail, s->tail_records, why);
    if (s->failed) undo_mark(s);
    if (s->failed) return 0;
    REID_ASSERT(s->tail > s->end && s->tail_records > s->records && !s->pending_len);
    s->sequence++;
    s->end = s->tail;
    s->records = s->tail_records;
    return 1;
}
