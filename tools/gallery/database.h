/* A gallery in PostgreSQL, as schema/1.sql has it: the connection, by which models its templates are, and what every
   change begins and ends with. Statements are sent with pq.h; pgvector's names are in the search path. */
#ifndef REID_TOOLS_DATABASE_H
#define REID_TOOLS_DATABASE_H

#include "gallery/gallery_store.h"
#include "gallery/pq.h"

typedef struct database database;

/* NULL with the reason in why: there is no connection, the server or pgvector is too old, there is no gallery, or one
   whose tables are of another version. */
database *database_try(const char *url, text *why);
/* The same; NULL after saying why, or without a word when interrupted(). */
database *database_open(const char *url);
/* NULL is allowed. */
void database_close(database *d);

/* Whether one can be made there: 1, 0 because there is one, -1 with the reason in why. */
int database_is_free(const char *url, text *why);
/* Makes the schema where there is none, and a gallery in it. Returns 0 with the reason in why. */
int database_create(const char *url, const store_meta *meta, text *why);

/* What the gallery said when it was opened, or when it was asked again with database_refresh, which belongs into the
   transaction that relies on it and returns 0 with the reason in why. */
const store_meta *database_info(const database *d);
int database_embedder(const database *d); /* embedder_id */
int database_refresh(database *d, text *why);
/* Within a change: embeddings by these models may come from JPEG files that were decoded by these, as store_meta names
   them. Returns 0 with the reason in why. */
int database_keep_decoders(pq *c, const store_model *model, int models, const char *names, text *why);
/* The table of a model's embeddings, in schema reid: "embedding_" and 32 hexadecimal digits. */
const char *database_table(const database *d, int model);
/* The same one until it is closed, also after database_again. */
pq *database_connection(database *d);

/* Begins a change: a transaction in which the gallery's embedder stays what it is. Returns 0 with the reason in why. */
int database_begin(database *d, text *why);
/* Ends it. 1: it is stored, even if the connection was lost meanwhile, for then that has been found out on a new one.
   0: it is not stored, with the reason in why; *unknown (which may be NULL) is 1 if nobody can tell, because the
   connection did not come back. */
int database_commit(database *d, int *unknown, text *why);
/* Nothing of it is stored. The connection may be lost. */
void database_rollback(database *d);

/* Connects again after the connection was lost, for as long as a server may take to start again. Returns 0 with the
   reason in why, also when the gallery has other models now, with which what was begun would be wrong. */
int database_again(database *d, text *why);
/* The same for what has nothing to do with models. */
int database_reconnect(database *d, text *why);
/* How often the connection, or what was stored last, was lost: what was committed without waiting for the disk may be
   gone since then. */
int database_losses(const database *d);

#endif
