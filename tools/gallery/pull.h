/* Writes a gallery that was read from a database to a gallery file, byte for byte like a compacted file with the same
   templates. */
#ifndef REID_TOOLS_PULL_H
#define REID_TOOLS_PULL_H

#include "gallery/gallery_store.h"

/* The file appears complete under its name, or not at all; an existing file is left unchanged. Returns 0 with the
   reason in why. */
int gallery_pull(const gallery_store *from, const char *path, char why[STORE_WHY]);

#endif
