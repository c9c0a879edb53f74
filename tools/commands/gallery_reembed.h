/* reid gallery reembed. path is the gallery, o has the operands after it. Returns the exit status. */
#ifndef REID_TOOLS_GALLERY_REEMBED_H
#define REID_TOOLS_GALLERY_REEMBED_H

#include "cli/options.h"

int gallery_reembed(options *o, const char *path);

#endif
