/* Gallery files as the command opens them: messages on stderr, waiting told, Ctrl-C obeyed. */
#ifndef REID_TOOLS_GALLERY_HOST_H
#define REID_TOOLS_GALLERY_HOST_H

#include "gallery/gallery_store.h"

extern const store_host GALLERY_HOST;

/* store_read and store_write. NULL after saying what is wrong. */
gallery_store *gallery_store_open(const char *path, int rows);
gallery_store *gallery_store_change(const char *path);

/* "PATH: why", with what can be done about it. */
void say_gallery_error(const char *path, const char *why);

#endif
