/* A gallery in memory, as a database has told it, to a gallery file: the bytes that compacting a file with the same
   templates makes. */
#ifndef REID_TOOLS_PULL_H
#define REID_TOOLS_PULL_H

#include "gallery/gallery_store.h"

/* The file appears whole under its name, or not at all; one that is there already is left alone. Returns 0 with the
   reason in why. */
int gallery_pull(const gallery_store *from, const char *path, char why[STORE_WHY]);

#endif
