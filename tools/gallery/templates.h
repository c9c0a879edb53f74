/* The templates of a gallery, wherever it is kept: in a gallery file (gallery_store.h), or in a PostgreSQL database
   that many share (database.h). A place is the path of the one or the postgresql://… of the other. */
#ifndef REID_TOOLS_TEMPLATES_H
#define REID_TOOLS_TEMPLATES_H

#include "gallery/change.h"
#include "gallery/gallery_store.h"

typedef struct templates templates; /* a gallery that is being changed */

/* 1 for the address of a database, and for a file that begins as a gallery does. */
int templates_is_place(const char *place);

/* All templates as they are at this moment, to be looked at and closed by the functions of gallery_store.h. rows: with
   the embeddings. NULL after saying what is wrong. */
gallery_store *templates_read(const char *place, int rows);

/* These two return 0 after saying what is wrong. The first finds out, before a model is loaded, that nothing is in the
   way of the second, which makes an empty gallery. */
int templates_may_create(const char *place);
int templates_create(const char *place, const store_meta *meta);

/* To change it. Writers of a file wait for each other; those of a database do so while something is stored. NULL after
   saying what is wrong. Without templates_commit nothing changes. */
templates *templates_change(const char *place);
/* NULL is allowed. */
void templates_close(templates *t);
/* With the decoders that were added, also before they are stored. */
const store_meta *templates_info(const templates *t);

/* DONE: the id is in the gallery, and its identity, which is valid until the next call, is in *identity. REFUSED: it is
   not. FAILED: with the reason in why. */
templates_result templates_find(templates *t, const char *id, const char **identity, char why[STORE_WHY]);

/* store_add, store_add_decoders, store_remove and store_set_threshold; the reason is in why unless it is DONE. Decoders
   are stored with templates that were added, not alone. */
templates_result templates_add(templates *t, const store_item *item, const void *row, char why[STORE_WHY]);
templates_result templates_add_decoders(templates *t, const char *names, char why[STORE_WHY]);
templates_result templates_remove(templates *t, const char *id, char why[STORE_WHY]);
templates_result templates_set_threshold(templates *t, double threshold, char why[STORE_WHY]);
/* Every template of an identity; DONE also if there is none. */
templates_result templates_remove_identity(templates *t, const char *identity, size_t *removed, char why[STORE_WHY]);

/* Everything since the last commit is stored when this is DONE. REFUSED: all_or_nothing, and nothing is. FAILED and
   UNKNOWN: with the reason in why; after the first of them the gallery is as it was before. */
templates_result templates_commit(templates *t, const commit_rules *rules, char why[STORE_WHY]);

/* store_verify. */
int templates_verify(const char *place, store_damage_fn fn, void *user, store_report *report, store_meta *meta,
                     char why[STORE_WHY]);

typedef struct compacted {
    size_t templates;
    uint64_t bytes_before, bytes;
} compacted;

/* store_compact; of a database: frees what removed templates have left. */
int templates_compact(const char *place, int salvage, store_damage_fn fn, void *user, compacted *done,
                      char why[STORE_WHY]);

#endif
