/* reid gallery push and pull. path is the gallery, o has the operands after it. Returns the exit status. */
#ifndef REID_TOOLS_GALLERY_MOVE_H
#define REID_TOOLS_GALLERY_MOVE_H

#include "cli/options.h"

int gallery_push_command(options *o, const char *path);
int gallery_pull_command(options *o, const char *url);

#endif
