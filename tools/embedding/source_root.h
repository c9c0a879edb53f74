/* Photos that crops were cut from are named as they were given, often by paths from the folder in which reid track ran.
   The metadata has the path from its own folder to that one, so that the photos are found from any working directory,
   and after everything was moved together. */
#ifndef REID_TOOLS_SOURCE_ROOT_H
#define REID_TOOLS_SOURCE_ROOT_H

#include "base/text.h"

#include <stddef.h>

/* Appends the path from a folder, which need not exist yet, to the working directory, such as "..". Appends nothing if
   it cannot be found. */
void source_root_find(const char *folder, text *out);
/* Changes relative sources (crop_origin.h) to paths that begin at `root`, a path from the folder of the file `from`,
   unless that is the working directory, or no photo exists there. Returns 0 when memory runs out. */
int source_root_apply(const char *root, const char *from, char **sources, size_t count);

#endif
