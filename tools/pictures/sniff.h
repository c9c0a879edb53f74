/* What kind of file is this, and is it whole? Asked before the decoder, which trusts too much. */
#ifndef REID_TOOLS_SNIFF_H
#define REID_TOOLS_SNIFF_H

#include "base/text.h"

/* Returns 1 for a picture that can be decoded (as far as its first bytes, a PNG's checksums and a
   JPEG's segments tell), 0 with a reason otherwise. name: its extension decides about TGA, which has no signature. */
int sniff_picture(const unsigned char *file, size_t len, const char *name, text *why);

#endif
