/* Verifies a gallery in PostgreSQL, and frees the space that removed templates have left. */
#ifndef REID_TOOLS_DATABASE_CARE_H
#define REID_TOOLS_DATABASE_CARE_H

#include "gallery/database.h"

/* Like store_verify. In the report, records counts templates, version is that of the tables, and bytes is the size of
   all tables with their indexes. */
int database_verify(const char *url, store_damage_fn fn, void *user, store_report *report, store_meta *meta,
                    char why[STORE_WHY]);

/* Deletes identities that have no template and runs VACUUM, while others continue to work. bytes: the size before and
   after; *templates: how many there are. Returns 0 with the reason in why. */
int database_compact(const char *url, uint64_t bytes[2], size_t *templates, char why[STORE_WHY]);

#endif
