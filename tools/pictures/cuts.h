/* Reads a list of the frames at which a new scene begins: one number per line. */
#ifndef REID_TOOLS_CUTS_H
#define REID_TOOLS_CUTS_H

#include "base/text.h"

#include <stdint.h>

/* Sets *cuts, ascending; the caller frees it. first: the number of the first frame. Returns 0 with the reason in
   why. */
int cuts_read(const char *path, int first, uint32_t **cuts, size_t *count, text *why);

#endif
