/* Paths as other programs write them down: their parts may be separated by backslashes. */
#ifndef REID_TOOLS_PATHS_H
#define REID_TOOLS_PATHS_H

/* Where the last part of a path begins. */
const char *path_last_part(const char *path);
/* Are two paths the same from their ends on, as far as the shorter one goes, in whole parts? Backslashes may stand in the
   first one. */
int path_same_ends(const char *a, const char *b);

#endif
