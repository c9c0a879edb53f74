/* Pixels as a PNG file, which loses nothing. They are stored as they are, not packed: crops are small, and it takes no
   longer than a copy. */
#ifndef REID_TOOLS_PNG_H
#define REID_TOOLS_PNG_H

#include "base/text.h"

/* rgb: (height, width, 3). Replaces what is in out; 0 with the reason in why. */
int png_make(text *out, const unsigned char *rgb, int width, int height, text *why);

#endif
