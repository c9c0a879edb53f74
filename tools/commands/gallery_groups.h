/* reid gallery add --groups: individuals that reid cluster has found and people have named become known ones. */
#ifndef REID_TOOLS_GALLERY_GROUPS_H
#define REID_TOOLS_GALLERY_GROUPS_H

#include "cli/options.h"

/* The exit status. All of it is added, or nothing. */
int gallery_add_groups(const options *o, const char *path);

#endif
