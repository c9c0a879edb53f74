/* An open gallery: its templates without their embeddings, and the tables of ids and identities. */
#ifndef REID_TOOLS_STORE_ENTRIES_H
#define REID_TOOLS_STORE_ENTRIES_H

#include "gallery/store_types.h"

typedef struct entry {
    size_t text;                /* where the four texts, each ended by a 0, begin in `texts` */
    uint16_t length[4];
    int64_t time;
    uint64_t size, hash;
    uint32_t identity;
    int removed;
} entry;

struct gallery_store {
    char *path;
    int fd, keep_rows, failed, in_memory;
    store_host host;
    store_meta meta;
    int keep_tail;                              /* an end mark on disk may cover bytes after `end` */
    uint64_t sequence, end, records, file_size; /* from the valid end mark; size of the file */
    uint64_t tail, tail_records;                /* with the records that were added since */
    uint64_t next_header;                       /* a copy of the header is due when the tail is here */
    entry *at;
    size_t count, cap, live;
    char *texts;
    size_t texts_len, texts_cap;
    unsigned char *rows;
    size_t rows_cap;                            /* in rows */
    uint32_t *ids, *names;                      /* hash tables: index of an entry + 1, 0 for none */
    size_t table;                               /* places in each, a power of two */
    uint32_t *identities;                       /* [count] */
    size_t identity_count, ids_used;
    unsigned char *pending;                     /* records that are not yet in the file */
    size_t pending_len, pending_cap;
};

/* One of the four texts of an entry: id, identity, camera, source. */
const char *entry_text(const gallery_store *s, const entry *e, int which);
/* The index of an id, or SIZE_MAX. */
size_t entries_find(const gallery_store *s, const char *id);
/* The same for an id that people or other files spell (base/unicode.h): the one with these bytes, else another spelling
   of it. */
size_t entries_find_name(const gallery_store *s, const char *id);
/* The gallery's spelling of an identity, valid until an entry is added; NULL: it has no such identity. */
const char *entries_identity(const gallery_store *s, const char *identity);
/* A new entry with these texts; the caller stores its row. NULL with a reason. */
entry *entries_new(gallery_store *s, const char *const text[4], const size_t length[4], char why[STORE_WHY]);
/* Adds the newest entry to the tables; its id must be new. */
int entries_enter(gallery_store *s, char why[STORE_WHY]);
void entries_remove(gallery_store *s, size_t at);
/* Forgets removed entries and numbers the identities of the others. */
int entries_settle(gallery_store *s, char why[STORE_WHY]);

#endif
