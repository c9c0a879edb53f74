/* Paths written by other programs, whose parts may be separated by backslashes, and what folders are called. */
#ifndef REID_TOOLS_PATHS_H
#define REID_TOOLS_PATHS_H

#include <stddef.h>

/* The last part of a path. */
const char *path_last_part(const char *path);
/* 1 if the shorter path's parts are the last parts of the longer one. The first path may contain backslashes. */
int path_same_ends(const char *a, const char *b);
/* The name of the camera whose photos are in a folder: the folder's path below root, with - for slashes; for root
   itself its own name. root_len: how much of the path is root; 0: there is none. The caller frees it; NULL when memory
   runs out. */
char *path_camera(const char *folder, size_t len, size_t root_len);
/* The end of a photo's path that begins with the folder of its camera, as path_camera names it: what stays the same
   when the photos of all cameras are moved together. The whole path, if camera is NULL or not in it. */
const char *path_from_camera(const char *path, const char *camera);

#endif
