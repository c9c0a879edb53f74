/* A list of the frames that begin another scene: a number in each line. */
#ifndef REID_TOOLS_CUTS_H
#define REID_TOOLS_CUTS_H

#include "base/text.h"

#include <stdint.h>

/* Ascending, in *cuts, which is the caller's to free; first: the number of the first frame. Returns 0 with the reason
   in why. */
int cuts_read(const char *path, int first, uint32_t **cuts, size_t *count, text *why);

#endif
