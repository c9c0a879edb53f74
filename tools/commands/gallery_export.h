/* reid gallery export. path is the gallery, o has the operands after it. Returns the exit status. */
#ifndef REID_TOOLS_GALLERY_EXPORT_H
#define REID_TOOLS_GALLERY_EXPORT_H

#include "cli/options.h"

int gallery_export(options *o, const char *path);

#endif
