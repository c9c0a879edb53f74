/* What the command tells the functions of gallery_store.h: waiting is said on stderr, Ctrl-C is obeyed. */
#ifndef REID_TOOLS_GALLERY_HOST_H
#define REID_TOOLS_GALLERY_HOST_H

#include "gallery/gallery_store.h"

extern const store_host GALLERY_HOST;

/* "PATH: why", with what can be done about it. */
void say_gallery_error(const char *path, const char *why);

#endif
