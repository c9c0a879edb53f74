/* Writes pixels as a PNG file, without loss. They are stored uncompressed, because crops are small and this is as fast
   as a copy. */
#ifndef REID_TOOLS_PNG_H
#define REID_TOOLS_PNG_H

#include "base/text.h"

/* rgb: (height, width, 3). Replaces out. Returns 0 with the reason in why. */
int png_make(text *out, const unsigned char *rgb, int width, int height, text *why);

#endif
