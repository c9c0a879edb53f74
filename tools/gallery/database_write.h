/* Changes to a gallery in PostgreSQL. They are collected in memory; a commit is one short transaction, which is
   repeated after a conflict with another writer or a lost connection. A change that is reported as stored is stored
   exactly once. */
#ifndef REID_TOOLS_DATABASE_WRITE_H
#define REID_TOOLS_DATABASE_WRITE_H

#include "gallery/change.h"
#include "gallery/gallery_store.h"

typedef struct database_writer database_writer;

/* These implement the functions of templates.h whose names begin with templates_. */
database_writer *database_change(const char *url, char why[STORE_WHY]); /* NULL with the reason in why */
void database_writer_close(database_writer *w);
const store_meta *database_writer_info(const database_writer *w);
templates_result database_find(database_writer *w, const char *id, const char **identity, char why[STORE_WHY]);
templates_result database_add(database_writer *w, const store_item *item, const void *row, char why[STORE_WHY]);
templates_result database_add_decoders(database_writer *w, const char *names, char why[STORE_WHY]);
templates_result database_remove(database_writer *w, const char *id, char why[STORE_WHY]);
templates_result database_remove_identity(database_writer *w, const char *identity, size_t *removed,
                                          char why[STORE_WHY]);
templates_result database_set_threshold(database_writer *w, double threshold, char why[STORE_WHY]);
templates_result database_store(database_writer *w, const commit_rules *rules, char why[STORE_WHY]);

#endif
