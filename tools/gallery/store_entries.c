#include "gallery/store_entries.h"

#include "base/random.h"
#include "base/unicode.h"
#include "gallery/store_file.h"
#include "gallery/store_format.h"

#include <stdlib.h>
#include <string.h>

const char *entry_text(const gallery_store *s, const entry *e, int which) {
    const char *text = s->texts + e->text;
    for (int i = 0; i < which; i++) text += e->length[i] + 1;
    return text;
}

/* The place of an id (which: 0) or identity (1), or a free one. forms: the place may have another spelling of it. */
static uint32_t *slot_of(const gallery_store *s, uint32_t *table, int which, int forms, const char *name) {
    uint64_t hash = name_hash(HASH_START, name);
    size_t at = (size_t)(hash ^ hash >> 32) & (s->table - 1);
    uint32_t *other = NULL;
    for (; table[at]; at = (at + 1) & (s->table - 1)) {
        const entry *e = &s->at[table[at] - 1];
        const char *text = entry_text(s, e, which);
        if (which == 0 && e->removed) continue;
        if (strcmp(text, name) == 0) return &table[at];
        if (!other && forms && name_same(text, name)) other = &table[at];
    }
    return other ? other : &table[at];
}

/* Enters every entry into tables of twice the size. */
static int rebuild_tables(gallery_store *s, char why[STORE_WHY]) {
    size_t wanted = s->table ? s->table * 2 : 1024;
    while (wanted < 2 * s->count) wanted *= 2;
    uint32_t *ids = calloc(wanted, sizeof *ids), *names = calloc(wanted, sizeof *names);
    if (!ids || !names) {
        free(ids), free(names);
        return store_fail(why, "out of memory");
    }
    free(s->ids), free(s->names);
    s->ids = ids, s->names = names, s->table = wanted, s->ids_used = 0;
    for (size_t i = 0; i < s->count; i++) {
        uint32_t *name = slot_of(s, s->names, 1, 1, entry_text(s, &s->at[i], 1));
        if (!*name) *name = (uint32_t)i + 1;
        if (s->at[i].removed) continue;
        *slot_of(s, s->ids, 0, 0, entry_text(s, &s->at[i], 0)) = (uint32_t)i + 1;
        s->ids_used++;
    }
    return 1;
}

size_t entries_find(const gallery_store *s, const char *id) {
    uint32_t at = s->table ? *slot_of(s, s->ids, 0, 0, id) : 0;
    return at ? at - 1 : SIZE_MAX;
}

size_t entries_find_name(const gallery_store *s, const char *id) {
    uint32_t at = s->table ? *slot_of(s, s->ids, 0, 1, id) : 0;
    return at ? at - 1 : SIZE_MAX;
}

const char *entries_identity(const gallery_store *s, const char *identity) {
    uint32_t at = s->table ? *slot_of(s, s->names, 1, 1, identity) : 0;
    return at ? entry_text(s, &s->at[at - 1], 1) : NULL;
}

entry *entries_new(gallery_store *s, const char *const text[4], const size_t length[4], char why[STORE_WHY]) {
    size_t total = length[0] + length[1] + length[2] + length[3] + 4;
    if (s->count >= UINT32_MAX - 1) {
        store_fail(why, "is full: it has the most templates that a gallery can have");
        return NULL;
    }
    if (!store_grow((void **)&s->at, &s->cap, s->count + 1, sizeof *s->at, why) ||
        !store_grow((void **)&s->texts, &s->texts_cap, s->texts_len + total, 1, why)) return NULL;
    entry *e = &s->at[s->count];
    memset(e, 0, sizeof *e);
    e->text = s->texts_len;
    for (int i = 0; i < 4; i++) {
        memcpy(s->texts + s->texts_len, text[i], length[i]);
        s->texts[s->texts_len + length[i]] = 0;
        s->texts_len += length[i] + 1;
        e->length[i] = (uint16_t)length[i];
    }
    return e;
}

int entries_enter(gallery_store *s, char why[STORE_WHY]) {
    if (2 * (s->ids_used + 1) > s->table && !rebuild_tables(s, why)) return 0;
    entry *e = &s->at[s->count];
    uint32_t *name = slot_of(s, s->names, 1, 1, entry_text(s, e, 1));
    *slot_of(s, s->ids, 0, 0, entry_text(s, e, 0)) = (uint32_t)++s->count;
    if (!*name) *name = (uint32_t)s->count;
    s->ids_used++;
    s->live++;
    return 1;
}

void entries_remove(gallery_store *s, size_t at) {
    s->at[at].removed = 1;
    s->live--;
}

int entries_settle(gallery_store *s, char why[STORE_WHY]) {
    size_t n = 0, bytes = store_row_bytes(&s->meta), cap = 0;
    for (size_t i = 0; i < s->count; i++) {
        if (s->at[i].removed) continue;
        if (n != i && s->keep_rows) memcpy(s->rows + n * bytes, s->rows + i * bytes, bytes);
        s->at[n++] = s->at[i];
    }
    s->count = n;
    if (!rebuild_tables(s, why) || !store_grow((void **)&s->identities, &cap, n, sizeof *s->identities, why)) return 0;
    for (size_t i = 0; i < n; i++) {
        size_t first = *slot_of(s, s->names, 1, 1, entry_text(s, &s->at[i], 1)) - 1;
        s->at[i].identity = first == i ? (uint32_t)s->identity_count++ : s->at[first].identity;
        s->identities[i] = s->at[i].identity;
    }
    return 1;
}
