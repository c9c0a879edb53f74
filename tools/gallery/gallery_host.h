/* The command's callbacks for gallery_store.h: they report waiting on stderr, and stop on Ctrl-C. */
#ifndef REID_TOOLS_GALLERY_HOST_H
#define REID_TOOLS_GALLERY_HOST_H

#include "gallery/gallery_store.h"

extern const store_host GALLERY_HOST;

/* Reports "PATH: why", with a hint about what to do. */
void say_gallery_error(const char *path, const char *why);

#endif
