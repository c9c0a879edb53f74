/* Creates and closes the handle of an open gallery. */
#ifndef REID_TOOLS_STORE_HANDLE_H
#define REID_TOOLS_STORE_HANDLE_H

#include "gallery/store_types.h"

/* A handle without a file yet, for the functions of gallery_store.h that open one. NULL with a reason. */
gallery_store *store_new(const char *path, const store_host *host, char why[STORE_WHY]);
/* Cuts off records that were not committed, closes the file and frees everything. NULL is allowed. */
void store_close(gallery_store *s);

#endif
