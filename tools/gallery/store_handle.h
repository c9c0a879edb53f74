/* The beginning and the end of a gallery in memory. */
#ifndef REID_TOOLS_STORE_HANDLE_H
#define REID_TOOLS_STORE_HANDLE_H

#include "gallery/store_types.h"

/* For the functions of gallery_store.h that open one: a gallery without a file yet. NULL with a reason. */
gallery_store *store_new(const char *path, const store_host *host, char why[STORE_WHY]);
/* Cuts off what was not committed, closes the file and frees everything. NULL is allowed. */
void store_close(gallery_store *s);

#endif
