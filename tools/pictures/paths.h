/* Paths written by other programs, whose parts may be separated by backslashes. */
#ifndef REID_TOOLS_PATHS_H
#define REID_TOOLS_PATHS_H

/* The last part of a path. */
const char *path_last_part(const char *path);
/* 1 if the shorter path's parts are the last parts of the longer one. The first path may contain backslashes. */
int path_same_ends(const char *a, const char *b);

#endif
