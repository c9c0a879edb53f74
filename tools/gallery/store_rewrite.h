/* Creates a gallery file, verifies it, and rewrites it without removed or damaged records. */
#ifndef REID_TOOLS_STORE_REWRITE_H
#define REID_TOOLS_STORE_REWRITE_H

#include "gallery/store_types.h"

/* Creates an empty gallery, without decoders even if meta has some; an existing file is refused. The functions of this
   header return 0 with the reason in why. */
int store_create(const char *path, const store_meta *meta, char why[STORE_WHY]);

/* Checks the whole file. Returns 1 if it is undamaged. meta may be NULL. */
int store_verify(const char *path, const store_host *host, store_damage_fn fn, void *user, store_report *report,
                 store_meta *meta, char why[STORE_WHY]);

/* Rewrites the file without removed records, and without decoders if no template is left, with the mode and, where that
   is allowed, the owner of the old one. salvage: leaves out damaged records instead of refusing, calls fn for each, and
   needs only one readable copy of the header and no end mark. *kept: templates in the new file. */
int store_compact(const char *path, int salvage, const store_host *host, store_damage_fn fn, void *user, size_t *kept,
                  char why[STORE_WHY]);

#endif
