/* reid gallery search. path is the gallery, o has the operands after it. Returns the exit status. */
#ifndef REID_TOOLS_GALLERY_SEARCH_H
#define REID_TOOLS_GALLERY_SEARCH_H

#include "cli/options.h"

int gallery_search(options *o, const char *path);

#endif
