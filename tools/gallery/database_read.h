/* Reads all templates of a gallery in PostgreSQL, as of one moment. */
#ifndef REID_TOOLS_DATABASE_READ_H
#define REID_TOOLS_DATABASE_READ_H

#include "gallery/database.h"

/* What is read of each template: its texts alone; its embedding, too; or also the halves that are searched, which are
   compared with the embedding. The last two leave out templates that could not be embedded when the models changed. */
typedef enum read_what { READ_TEXTS, READ_ROWS, READ_EVERYTHING } read_what;

/* A template, valid during the call. row: dim values in the gallery's precision, NULL with READ_TEXTS. damage: NULL, or
   a description of its damage. Returns 0, with the reason in why, to end the reading. */
typedef int (*template_fn)(void *user, const store_item *item, const void *row, const char *damage, text *why);

/* Calls fn for all templates in their order, within the caller's transaction. Returns 0 with the reason in why, which
   is empty when interrupted(). */
int database_each(database *d, read_what what, template_fn fn, void *user, text *why);

/* Reads them into memory, like store_read. NULL with the reason in why. */
gallery_store *database_read(const char *url, int rows, char why[STORE_WHY]);

#endif
