/* A gallery in PostgreSQL, as schema/1.sql defines it: the connection, the models of its templates, and the beginning
   and end of every change. Statements are sent with pq.h; the schema of pgvector is in the search path. */
#ifndef REID_TOOLS_DATABASE_H
#define REID_TOOLS_DATABASE_H

#include "gallery/gallery_store.h"
#include "gallery/pq.h"

typedef struct database database;

/* NULL with the reason in why: there is no connection, the server or pgvector is too old, there is no gallery, or its
   tables have another version. */
database *database_try(const char *url, text *why);
/* Opens it like database_try, but reports errors. NULL on failure, without a message if interrupted(). */
database *database_open(const char *url);
/* NULL is allowed. */
void database_close(database *d);

/* 1 if a gallery can be created there, 0 if there already is one, -1 with the reason in why. */
int database_is_free(const char *url, text *why);
/* Creates the schema if it is missing, and a gallery in it. Returns 0 with the reason in why. */
int database_create(const char *url, const store_meta *meta, text *why);

/* The gallery's models and settings as of database_open or the last database_refresh. Call database_refresh in the
   transaction that relies on them; it returns 0 with the reason in why. */
const store_meta *database_info(const database *d);
int database_embedder(const database *d); /* embedder_id */
int database_refresh(database *d, text *why);
/* Within a change: adds the decoders (names as in store_meta) of the JPEG files that embeddings by these models may
   come from. Returns 0 with the reason in why. */
int database_keep_decoders(pq *c, const store_model *model, int models, const char *names, text *why);
/* The table of a model's embeddings, in schema reid: "embedding_" and 32 hexadecimal digits. */
const char *database_table(const database *d, int model);
/* The same pointer until the database is closed, also after database_again. */
pq *database_connection(database *d);

/* Begins a change: a transaction during which the gallery's embedder cannot change. Returns 0 with the reason in
   why. */
int database_begin(database *d, text *why);
/* Commits the change. 1: it is stored; if the connection was lost, a new one has confirmed it. 0: it is not stored,
   with the reason in why; *unknown (which may be NULL) is 1 if this could not be found out, because the connection
   could not be restored. */
int database_commit(database *d, int *unknown, text *why);
/* Discards the change. Also allowed when the connection is lost. */
void database_rollback(database *d);

/* Connects again after the connection was lost, trying for as long as a server may take to restart. Returns 0 with the
   reason in why, also when the gallery has been switched to other models, for which the work so far would be wrong. */
int database_again(database *d, text *why);
/* Connects again whatever models the gallery has now; otherwise like database_again. */
int database_reconnect(database *d, text *why);
/* How often the connection or the last commit was lost. After each loss, commits that did not wait for the disk may be
   missing. */
int database_losses(const database *d);

#endif
