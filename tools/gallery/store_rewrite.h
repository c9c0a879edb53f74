/* A gallery's file made, checked as a whole, and written anew without what was removed or damaged. */
#ifndef REID_TOOLS_STORE_REWRITE_H
#define REID_TOOLS_STORE_REWRITE_H

#include "gallery/store_types.h"

/* Makes an empty gallery, which has no decoders whatever meta says; a file that is there already is left alone. These
   return 0 with the reason in why. */
int store_create(const char *path, const store_meta *meta, char why[STORE_WHY]);

/* Looks at everything. Returns 1 when all is well. meta may be NULL. */
int store_verify(const char *path, const store_host *host, store_damage_fn fn, void *user, store_report *report,
                 store_meta *meta, char why[STORE_WHY]);

/* Rewrites the file without what was removed, and without decoders if no template is left, with the mode and, where
   that is allowed, the owner of the old one. salvage: leaves out damaged records, too, instead of refusing, and does
   without header and end marks if any copy of the header can be read; fn hears of each. Both tell how many templates
   are in the new file. */
int store_compact(const char *path, int salvage, const store_host *host, store_damage_fn fn, void *user, size_t *kept,
                  char why[STORE_WHY]);

#endif
