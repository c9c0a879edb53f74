/* Looking at everything that a gallery in PostgreSQL has, and freeing what removed templates have left. */
#ifndef REID_TOOLS_DATABASE_CARE_H
#define REID_TOOLS_DATABASE_CARE_H

#include "gallery/database.h"

/* store_verify: records are the templates, version is that of the tables; bytes are those of all tables with their
   indexes. */
int database_verify(const char *url, store_damage_fn fn, void *user, store_report *report, store_meta *meta,
                    char why[STORE_WHY]);

/* Deletes identities that have no template and runs VACUUM, while everybody goes on. Bytes before and after, and how
   many templates there are. Returns 0 with the reason in why. */
int database_compact(const char *url, uint64_t bytes[2], size_t *templates, char why[STORE_WHY]);

#endif
