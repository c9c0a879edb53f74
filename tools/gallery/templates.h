/* The templates of a gallery, either in a gallery file (gallery_store.h) or in a shared PostgreSQL database
   (database.h). A place is the path of the file or the postgresql://… address of the database. */
#ifndef REID_TOOLS_TEMPLATES_H
#define REID_TOOLS_TEMPLATES_H

#include "gallery/change.h"
#include "gallery/gallery_store.h"

typedef struct templates templates; /* a gallery that is being changed */

/* 1 for the address of a database, and for a file that begins like a gallery file. */
int templates_is_place(const char *place);

/* All templates as they are at this moment, for the functions of gallery_store.h, which also close it. rows: with the
   embeddings. NULL after reporting an error. */
gallery_store *templates_read(const char *place, int rows);

/* These two return 0 after reporting an error. The first checks, before a model is loaded, that the place is free; the
   second creates an empty gallery. */
int templates_may_create(const char *place);
int templates_create(const char *place, const store_meta *meta);

/* Opens a gallery to change it. Writers of a file wait for each other; those of a database do so only while a change is
   being stored. NULL after reporting an error. Without templates_commit nothing changes. */
templates *templates_change(const char *place);
/* NULL is allowed. */
void templates_close(templates *t);
/* Includes decoders that were added but are not stored yet. */
const store_meta *templates_info(const templates *t);

/* DONE: the id is in the gallery, and its identity, which is valid until the next call, is in *identity. REFUSED: it is
   not. FAILED: with the reason in why. */
templates_result templates_find(templates *t, const char *id, const char **identity, char why[STORE_WHY]);

/* Like store_add, store_add_decoders, store_remove and store_set_threshold; the reason is in why unless the result is
   DONE. Decoders are stored together with added templates, not alone. */
templates_result templates_add(templates *t, const store_item *item, const void *row, char why[STORE_WHY]);
templates_result templates_add_decoders(templates *t, const char *names, char why[STORE_WHY]);
templates_result templates_remove(templates *t, const char *id, char why[STORE_WHY]);
templates_result templates_set_threshold(templates *t, double threshold, char why[STORE_WHY]);
/* Removes every template of an identity; DONE also if there is none. */
templates_result templates_remove_identity(templates *t, const char *identity, size_t *removed, char why[STORE_WHY]);

/* DONE: every change since the last commit is stored. REFUSED: nothing is stored, because of all_or_nothing. FAILED and
   UNKNOWN: the reason is in why; after FAILED the gallery is as it was before. */
templates_result templates_commit(templates *t, const commit_rules *rules, char why[STORE_WHY]);

/* Like store_verify. */
int templates_verify(const char *place, store_damage_fn fn, void *user, store_report *report, store_meta *meta,
                     char why[STORE_WHY]);

typedef struct compacted {
    size_t templates;
    uint64_t bytes_before, bytes;
} compacted;

/* Like store_compact; in a database, frees the space that removed templates have left. */
int templates_compact(const char *place, int salvage, store_damage_fn fn, void *user, compacted *done,
                      char why[STORE_WHY]);

#endif
