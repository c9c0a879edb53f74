/* A folder that appears whole: filled beside its final name, then renamed. */
#ifndef REID_TOOLS_FOLDER_H
#define REID_TOOLS_FOLDER_H

#include "base/text.h"

typedef struct folder {
    char *path, *temp; /* where it is to be; where it is meanwhile */
} folder;

/* All return 0 with the reason in why. */

/* Makes an empty folder beside path, which must not be there yet, or be an empty folder. */
int folder_begin(folder *f, const char *path, text *why);
/* A folder in it, in one that is there. */
int folder_add(const folder *f, const char *name, text *why);
/* A file in it. */
int folder_write(const folder *f, const char *name, const text *content, text *why);
/* Under its final name, on disk. */
int folder_finish(folder *f, text *why);
/* Everything is removed, unless it was finished. Zeroed ones are allowed. */
void folder_end(folder *f);

#endif
