/* reid gallery add. path is the gallery, o has the operands after it. Returns the exit status. */
#ifndef REID_TOOLS_GALLERY_ADD_H
#define REID_TOOLS_GALLERY_ADD_H

#include "cli/options.h"

int gallery_add(options *o, const char *path);

#endif
