/* Models that ran in other programs: reid knows their names and rows, but cannot run them. */
#ifndef REID_TOOLS_IMPORTED_H
#define REID_TOOLS_IMPORTED_H

#include "reid.h"

/* Describes such a model. Its fingerprint depends on its name and on the length of its rows, and begins with twelve
   digits f, which distinguishes it from the hash of a network. Returns 0 if the name is invalid. */
int imported_model(reid_info *info, const char *name, int dim);

/* 1 for a fingerprint that imported_model made. */
int is_imported(const char *fingerprint);

#endif
