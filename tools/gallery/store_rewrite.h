/* Creates a gallery file, verifies it, and rewrites it without removed or damaged records. All functions with a why
   return 0 with the reason in it. */
#ifndef REID_TOOLS_STORE_REWRITE_H
#define REID_TOOLS_STORE_REWRITE_H

#include "base/files.h"
#include "gallery/store_types.h"

/* A new gallery file, written under a temporary name and removed if it does not get its own. */
typedef struct store_draft {
    pending file;
    gallery_store *store; /* for store_add, store_add_decoders and store_set_threshold */
} store_draft;

/* Begins a gallery without templates and without decoders, even if meta has some. On failure nothing is left to
   drop. */
int store_begin(store_draft *d, const char *path, const store_meta *meta, const store_host *host, char why[STORE_WHY]);
/* Commits everything that was added and gives the file its name; an existing file is refused. */
int store_name(store_draft *d, char why[STORE_WHY]);
/* Closes the file and frees everything. A zeroed draft is allowed. */
void store_drop(store_draft *d);

/* Creates an empty gallery, without decoders even if meta has some; an existing file is refused. */
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
