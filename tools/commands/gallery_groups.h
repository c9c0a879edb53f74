/* reid gallery add --groups: adds groups of reid cluster that people have named to the gallery. */
#ifndef REID_TOOLS_GALLERY_GROUPS_H
#define REID_TOOLS_GALLERY_GROUPS_H

#include "cli/options.h"

/* Adds all of it or nothing. Returns the exit status. */
int gallery_add_groups(const options *o, const char *path);

#endif
